"""inputs — input functions from arrays and frames."""
import collections

import numpy as np

from ..dtypes import as_dtype
from ..py_func import py_func


def _batches(rows, batch_size, num_epochs, shuffle):
    """The numbers of the rows of one batch after another; the last may be smaller."""
    left, epoch = np.zeros([0], np.int64), 0
    while num_epochs is None or epoch < num_epochs:
        order = np.random.permutation(rows) if shuffle else np.arange(rows)
        left, epoch = np.concatenate([left, order]), epoch + 1
        while len(left) >= batch_size:
            yield left[:batch_size]
            left = left[batch_size:]
    if len(left):
        yield left


def _input_fn(columns, labels, batch_size, num_epochs, shuffle, as_dict):
    rows, keys = len(next(iter(columns.values()))), list(columns)
    arrays = [columns[k] for k in keys] + list(labels.values())

    def input_fn():
        running = []

        def fetch():
            if not running:
                running.append(_batches(rows, batch_size, num_epochs, shuffle))
            index = next(running[0])
            return [a[index] for a in arrays]
        found = py_func(fetch, [], [as_dtype(a.dtype) for a in arrays])
        for tensor, array in zip(found, arrays):
            tensor.set_shape([None] + list(array.shape[1:]))
        features = dict(zip(keys, found)) if as_dict else found[0]
        rest = found[len(keys):]
        if not labels:
            return features
        return features, rest[0] if list(labels) == [""] else dict(zip(labels, rest))
    return input_fn


def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1):
    """A function that gives batches of the rows of arrays."""
    if not isinstance(shuffle, bool):
        raise ValueError("shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
                         "training); got %s" % shuffle)
    as_dict = isinstance(x, dict)
    columns = collections.OrderedDict((k, np.asarray(v)) for k, v in sorted(x.items())) if as_dict else {"x": np.asarray(x)}
    if not columns:
        raise ValueError("x cannot be an empty dict")
    labels = {} if y is None else {k: np.asarray(v) for k, v in y.items()} if isinstance(y, dict) else {"": np.asarray(y)}
    lengths = {len(v) for v in list(columns.values()) + list(labels.values())}
    if len(lengths) != 1:
        raise ValueError("Length of tensors in x and y is mismatched. All elements in x and y must have the same length.")
    return _input_fn(columns, labels, batch_size, num_epochs, shuffle, as_dict)


def pandas_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1,
                    target_column="target"):
    """The same of a pandas frame: a column is a feature."""
    columns = {name: np.asarray(x[name]) for name in x.columns}
    labels = None if y is None else np.asarray(y) if not hasattr(y, "columns") else {n: np.asarray(y[n]) for n in y.columns}
    return numpy_input_fn(columns, labels, batch_size, num_epochs, shuffle)
