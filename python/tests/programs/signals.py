"""Frames, spectra and cosine transforms of a signal; sets of values."""
import numpy as np


def main(tf):
    x = np.random.RandomState(3).standard_normal((2, 50)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        t = tf.constant(x)
        spectra = tf.signal.stft(t, 16, 6)
        mel = tf.signal.linear_to_mel_weight_matrix(8, 9, 800, 20.0, 350.0)
        power = tf.tensordot(tf.abs(spectra), mel, 1)
        fetches = {
            "frame": tf.signal.frame(t, 7, 3), "padded": tf.signal.frame(t, 7, 3, pad_end=True, pad_value=1),
            "outer": tf.signal.frame(tf.reshape(t, [50, 2]), 5, 4, axis=0),
            "added": tf.signal.overlap_and_add(tf.reshape(t, [4, 5, 5]), 2), "stft": spectra, "mel": mel,
            "back": tf.signal.inverse_stft(spectra, 16, 6, window_fn=tf.signal.inverse_stft_window_fn(6)),
            "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(tf.log(power + 1e-3)),
            "rfft": tf.signal.rfft(t, [64]), "cut": tf.signal.rfft(t, [32]), "irfft": tf.signal.irfft(spectra),
            "rfft2d": tf.signal.rfft2d(t), "shift": tf.signal.fftshift(t), "unshift": tf.signal.ifftshift(t, axes=1),
            "hann": tf.signal.hann_window(9), "hamming": tf.signal.hamming_window(8, periodic=False),
        }
        for kind in (1, 2, 3):
            fetches["dct%d" % kind] = tf.signal.dct(t, type=kind)
            fetches["idct%d" % kind] = tf.signal.idct(t, type=kind)
        for kind in (2, 3):
            fetches["ortho%d" % kind] = tf.signal.dct(t, type=kind, norm="ortho")
        fetches["short"] = tf.signal.dct(t, n=20)
        a = tf.constant([[1, 2, 2, 5], [4, 4, 6, 7]])
        b = tf.constant([[2, 3, 5], [4, 8, 9]])
        s = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 9, 4], [2, 2])
        for name, made in (("both", tf.sets.intersection(a, b)), ("one", tf.sets.difference(a, b)),
                           ("other", tf.sets.difference(a, b, aminusb=False)), ("all", tf.sets.union(a, b)),
                           ("mixed", tf.sets.difference(s, b)), ("sparse", tf.sets.union(s, s))):
            fetches[name] = [made.indices, made.values, made.dense_shape]
            fetches[name + " size"] = tf.sets.size(made)
        return {k: session.run(v) for k, v in fetches.items()}
