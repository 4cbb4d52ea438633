"""data — arrays brought into the shape that networks take."""
import numpy as np

from . import layer


def to_categorical(x, num_classes=None):
    """Numbers of classes as rows of zeros with a one."""
    x = np.asarray(x, np.int64)
    shape = x.shape[:-1] if x.ndim > 1 and x.shape[-1] == 1 else x.shape
    flat = x.ravel()
    n = int(num_classes or (flat.max() + 1 if flat.size else 0))
    out = np.zeros((flat.size, n))
    out[np.arange(flat.size), flat] = 1
    return out.reshape(shape + (n,))


def normalize(x, axis=-1, order=2):
    x = np.asarray(x)
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Lists of different lengths as one array, cut and filled at the side named."""
    sequences = [np.asarray(s) for s in sequences]
    width = max([len(s) for s in sequences] or [0]) if maxlen is None else maxlen
    rest = next((s.shape[1:] for s in sequences if len(s)), ())
    out = np.full((len(sequences), width) + rest, value, dtype=object if isinstance(value, str) else dtype)
    for row, s in zip(out, sequences):
        kept = s[-width:] if truncating == "pre" else s[:width]
        if not len(kept) or not width:
            continue
        if padding == "post":
            row[:len(kept)] = kept
        else:
            row[-len(kept):] = kept
    return out


class Sequence:
    """Batches by number: a subclass has __len__ and __getitem__."""

    def __init__(self, **ignored):
        pass

    def on_epoch_end(self):
        """Called after each epoch."""


def clear_session(free_memory=True):
    """Names of layers begin anew."""
    layer.reset_names()


def floatx():
    return "float32"


def epsilon():
    return 1e-7
