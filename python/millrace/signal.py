"""signal — tf.signal: frames, windows, transforms over them, and mel features."""
import functools
import math

import numpy as np

from . import dtypes
from .array_ops import concat, expand_dims, gather, ones, pad, reshape, shape as shape_of, tile, transpose
from .constant import constant, constant_value
from .convert import convert_to_tensor
from .graph import name_scope
from .math_ops import cast, ceil, log, maximum, pow as power, range as range_, reduce_sum, square, tensordot
from .ops_apply import apply

__all__ = ["fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d", "rfft", "irfft", "rfft2d", "irfft2d", "rfft3d", "irfft3d",
           "hann_window", "hamming_window", "frame", "overlap_and_add", "stft", "inverse_stft", "inverse_stft_window_fn",
           "dct", "idct", "fftshift", "ifftshift", "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]


# ---------------------------------------- Fourier transforms

def _complex(op):
    def transform(input, name=None):
        return apply(op, name, {"input": input})
    transform.__name__ = op.lower()
    return transform


fft, ifft, fft2d, ifft2d, fft3d, ifft3d = [_complex(o) for o in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")]


def _sizes(x, rank, length, inverse):
    """The lengths of the inner axes: those asked for, or the input's own."""
    if length is not None:
        return convert_to_tensor(length, dtypes.int32)
    dims = shape_of(x)[-rank:]
    if not inverse:
        return dims
    # A half spectrum of n values is of 2 (n - 1) samples.
    return concat([dims[:-1], maximum(0, 2 * (dims[-1:] - 1))], 0)


def _fitted(x, rank, wanted, inverse):
    """x cut and padded with zeros at the end to the lengths that the transform reads."""
    wanted = list(wanted)
    if inverse:
        wanted[-1] = wanted[-1] // 2 + 1 if wanted[-1] else 0
    index = (Ellipsis,) + tuple(slice(0, n) for n in wanted)
    x = x[index]
    now = shape_of(x)
    outer = x.shape.ndims - rank
    more = [[0, 0]] * outer + [[0, maximum(0, n - now[outer + i])] for i, n in enumerate(wanted)]
    return pad(x, convert_to_tensor(more, dtypes.int32) if all(isinstance(m[1], int) for m in more) else more)


def _real(op, rank, inverse):
    def transform(input_tensor, fft_length=None, name=None):
        with name_scope(name or op.lower()):
            x = convert_to_tensor(input_tensor, dtypes.complex64 if inverse else None)
            if not inverse and x.dtype not in (dtypes.float32, dtypes.float64):
                x = cast(x, dtypes.float32)
            sizes = _sizes(x, rank, fft_length, inverse)
            known = constant_value(sizes)
            if fft_length is not None and known is not None:
                x = _fitted(x, rank, [int(n) for n in known], inverse)
            double = x.dtype in (dtypes.complex128, dtypes.float64)
            kind = {"Treal": dtypes.float64 if double else dtypes.float32} if inverse else {
                "Tcomplex": dtypes.complex128 if double else dtypes.complex64}
            return apply(op, None, {"input": x, "fft_length": sizes, **kind})
    transform.__name__ = op.lower()
    transform.__doc__ = "%s over the innermost %d axes of real values." % ("The inverse transform" if inverse else
                                                                         "The transform", rank)
    return transform


rfft, rfft2d, rfft3d = _real("RFFT", 1, False), _real("RFFT2D", 2, False), _real("RFFT3D", 3, False)
irfft, irfft2d, irfft3d = _real("IRFFT", 1, True), _real("IRFFT2D", 2, True), _real("IRFFT3D", 3, True)


def _shifted(x, axes, name, back):
    with name_scope(name):
        x = convert_to_tensor(x)
        axes = list(range(x.shape.ndims)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        dims = shape_of(x)
        by = [-(dims[a] // 2) if back else dims[a] // 2 for a in axes]
        return apply("Roll", None, {"input": x, "shift": convert_to_tensor(by), "axis": axes})


def fftshift(x, axes=None, name=None):
    """The zero frequency in the middle."""
    return _shifted(x, axes, name or "fftshift", False)


def ifftshift(x, axes=None, name=None):
    return _shifted(x, axes, name or "ifftshift", True)


# ---------------------------------------- windows and frames

def _window(name, a, b):
    def window(window_length, periodic=True, dtype=dtypes.float32, name=None):
        with name_scope(name or "window"):
            dtype = dtypes.as_dtype(dtype)
            if not dtype.is_floating:
                raise ValueError("dtype must be a floating point type. Found %s" % dtype)
            length = convert_to_tensor(window_length, dtypes.int32)
            known = constant_value(length)
            if known == 1:
                return ones([1], dtype)
            even = 1 - length % 2
            n = cast(length + (cast(convert_to_tensor(bool(periodic)), dtypes.int32)) * even - 1, dtype)
            angle = 2 * math.pi * cast(range_(length), dtype) / n
            return cast(a - b * apply("Cos", None, {"x": angle}), dtype)
    window.__name__ = name
    window.__doc__ = "The %s window." % name.partition("_")[0].capitalize()
    return window


hann_window, hamming_window = _window("hann_window", 0.5, 0.5), _window("hamming_window", 0.54, 0.46)


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Pieces of `frame_length` values, one each `frame_step`: `axis` becomes two, frames and their values."""
    with name_scope(name or "frame"):
        signal = convert_to_tensor(signal)
        rank = signal.shape.ndims
        axis = axis % rank
        length, step = convert_to_tensor(frame_length), convert_to_tensor(frame_step)
        n = shape_of(signal)[axis]
        if pad_end:
            frames = maximum(0, (n + step - 1) // step)
            more = maximum(0, length + step * (frames - 1) - n)
            signal = pad(signal, [[0, 0]] * axis + [[0, more]] + [[0, 0]] * (rank - axis - 1), constant_values=pad_value)
        else:
            frames = maximum(0, 1 + (n - length) // step)
        places = expand_dims(range_(frames) * step, 1) + expand_dims(range_(length), 0)
        found = gather(signal, places, axis=axis)
        sizes = [constant_value(frames), constant_value(length)]
        known = signal.shape.as_list()
        if sizes[0] is None and known[axis] is not None and None not in (constant_value(length), constant_value(step)):
            k, l, s = known[axis], int(constant_value(length)), int(constant_value(step))
            sizes[0] = max(0, -(-k // s)) if pad_end else max(0, 1 + (k - l) // s)
        found.set_shape(known[:axis] + [None if s is None else int(s) for s in sizes] + known[axis + 1:])
        return found


def overlap_and_add(signal, frame_step, name=None):
    """The sum of frames [..., frames, length], each `frame_step` after the one before."""
    with name_scope(name or "overlap_and_add"):
        signal = convert_to_tensor(signal)
        if signal.shape.ndims is not None and signal.shape.ndims < 2:
            raise ValueError("Shape must be at least rank 2 but is rank %d for overlap_and_add" % signal.shape.ndims)
        step = convert_to_tensor(frame_step)
        if not step.dtype.is_integer:
            raise ValueError("frame_step must be an integer. Got %s" % step.dtype)
        if step.shape.ndims not in (None, 0):
            raise ValueError("frame_step must be a scalar. Got %s" % (step.shape,))
        dims = shape_of(signal)
        frames, length = dims[-2], dims[-1]
        total = length + step * (frames - 1)
        places = reshape(expand_dims(range_(frames) * step, 1) + expand_dims(range_(length), 0), [-1])
        rows = transpose(reshape(signal, [-1, frames * length]))
        added = transpose(apply("UnsortedSegmentSum", None, {"data": rows, "segment_ids": places, "num_segments": total}))
        found = reshape(added, concat([dims[:-2], expand_dims(total, 0)], 0))
        known, by = signal.shape.as_list(), constant_value(step)
        if by is not None and None not in known[-2:]:
            found.set_shape(known[:-2] + [known[-1] + int(by) * (known[-2] - 1)])
        return found


def _enclosing_power(value):
    known = constant_value(value)
    if known is not None:
        return constant(int(2 ** math.ceil(math.log(int(known)) / math.log(2.0))), dtypes.int32)
    return cast(power(2.0, ceil(log(cast(value, dtypes.float32)) / math.log(2.0))), value.dtype)


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """The transforms of a signal's windows, [..., frames, fft_length / 2 + 1]."""
    with name_scope(name or "stft"):
        signals = convert_to_tensor(signals)
        frame_length = convert_to_tensor(frame_length)
        fft_length = _enclosing_power(frame_length) if fft_length is None else convert_to_tensor(fft_length)
        framed = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(frame_length, dtype=framed.dtype)
        return rfft(framed, [fft_length] if constant_value(fft_length) is None else [int(constant_value(fft_length))])


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window with which inverse_stft gives back what stft was given."""
    def window(frame_length, dtype):
        with name_scope(name or "inverse_stft_window_fn"):
            step, length = convert_to_tensor(frame_step), convert_to_tensor(frame_length)
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = pad(square(forward), [[0, overlaps * step - length]])
            by_place = reduce_sum(reshape(squares, [overlaps, step]), 0, keepdims=True)
            norm = reshape(tile(by_place, [overlaps, 1]), [overlaps * step])
            return forward / norm[:length]
    return window


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """The signal of the transforms of its windows."""
    with name_scope(name or "inverse_stft"):
        stfts = convert_to_tensor(stfts)
        length = convert_to_tensor(frame_length)
        fft_length = _enclosing_power(length) if fft_length is None else convert_to_tensor(fft_length)
        known = constant_value(fft_length)
        frames = irfft(stfts, [fft_length] if known is None else [int(known)])
        short = frames[..., :length]
        if constant_value(length) is not None and known is not None and int(constant_value(length)) > int(known):
            short = pad(short, [[0, 0]] * (short.shape.ndims - 1) + [[0, int(constant_value(length)) - int(known)]])
        if constant_value(length) is not None:
            short.set_shape(frames.shape.as_list()[:-1] + [int(constant_value(length))])
        if window_fn is not None:
            short = short * window_fn(length, dtype=short.dtype)
        return overlap_and_add(short, frame_step)


# ---------------------------------------- cosine transforms and mel features

def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The discrete cosine transform of the last axis, of types 1, 2 and 3."""
    if axis != -1:
        raise NotImplementedError("axis must be -1. Got: %s" % axis)
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError("Unknown normalization. Expected None or 'ortho', got: %s" % norm)
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    with name_scope(name or "dct"):
        x = convert_to_tensor(input)
        if x.dtype not in (dtypes.float32, dtypes.float64):
            x = cast(x, dtypes.float32)
        if n is not None:
            now = x.shape[-1].value
            x = x[..., :n] if n < now else pad(x, [[0, 0]] * (x.shape.ndims - 1) + [[0, n - now]])
        size = x.shape[-1].value
        if size is None:
            raise ValueError("the last axis must be known")
        return tensordot(x, constant(_cosines(type, size, norm), x.dtype), [[x.shape.ndims - 1], [0]])


@functools.lru_cache(maxsize=16)
def _cosines(type, size, norm):
    """The matrix [input, output] of the transform."""
    j, k = np.arange(size)[:, None], np.arange(size)[None, :]
    if type == 1:
        if size < 2:
            raise ValueError("Type-I DCT requires a dimension greater than one.")
        m = 2 * np.cos(np.pi * j * k / (size - 1))
        m[0], m[-1] = 1, (-1.0) ** k[0]
        return m
    if type == 2:
        m = 2 * np.cos(np.pi * (2 * j + 1) * k / (2 * size))
        if norm == "ortho":
            m *= np.where(k == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size)))
        return m
    m = 2 * np.cos(np.pi * j * (2 * k + 1) / (2 * size))
    if norm == "ortho":
        return m * np.where(j == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size)))
    m[0] = 1
    return m


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse: types 2 and 3 are each other's."""
    return dct(input, type={1: 1, 2: 3, 3: 2}.get(type, type), n=n, axis=axis, norm=norm, name=name or "idct")


def _mel(frequencies):
    return 1127.0 * np.log1p(np.asarray(frequencies, np.float64) / 700.0)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0,
                                upper_edge_hertz=3800.0, dtype=dtypes.float32, name=None):
    """The triangles [spectrogram bins, mel bins] by which frequencies become mel bins."""
    if num_mel_bins <= 0:
        raise ValueError("num_mel_bins must be positive. Got: %s" % num_mel_bins)
    if lower_edge_hertz < 0.0:
        raise ValueError("lower_edge_hertz must be non-negative. Got: %s" % lower_edge_hertz)
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError("lower_edge_hertz %.1f >= upper_edge_hertz %.1f" % (lower_edge_hertz, upper_edge_hertz))
    rate = constant_value(sample_rate) if not isinstance(sample_rate, (int, float)) else sample_rate
    if upper_edge_hertz > rate / 2:
        raise ValueError("upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got %s for "
                         "sample_rate: %s" % (upper_edge_hertz, rate))
    with name_scope(name or "linear_to_mel_weight_matrix"):
        bins = _mel(np.linspace(0.0, rate / 2.0, num_spectrogram_bins)[1:])[:, None]
        edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
        low, middle, high = edges[:-2][None], edges[1:-1][None], edges[2:][None]
        weights = np.maximum(0.0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
        return constant(np.pad(weights, [[1, 0], [0, 0]]), dtypes.as_dtype(dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """The cepstral coefficients of log mel spectra, [..., bins]."""
    with name_scope(name or "mfccs_from_log_mel_spectrograms"):
        spectra = convert_to_tensor(log_mel_spectrograms)
        bins = spectra.shape[-1].value
        if bins == 0:
            raise ValueError("num_mel_bins must be positive. Got: %s" % bins)
        return dct(spectra, type=2) * (1.0 / math.sqrt(2.0 * bins))
