"""mnist — examples.tutorials.mnist: the digits from files in a folder; nothing is fetched from elsewhere."""
import collections
import gzip
import os

import numpy as np

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])
Dataset = collections.namedtuple("Dataset", ["data", "target"])
IMAGE_SIZE, NUM_CLASSES = 28, 10
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE
_FILES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]


def _open(folder, name):
    for path, opener in ((os.path.join(folder, name + ".gz"), gzip.open), (os.path.join(folder, name), open)):
        if os.path.exists(path):
            return opener(path, "rb")
    raise IOError("%s and %s.gz are not in %s: Millrace fetches no data sets" % (name, name, folder))


def _read(f):
    """The array of an IDX file of bytes."""
    head = f.read(4)
    if head[:3] != b"\0\0\x08":
        raise ValueError("Invalid magic number in an MNIST file")
    dims = np.frombuffer(f.read(4 * head[3]), ">u4").astype(np.int64)
    data = np.frombuffer(f.read(), np.uint8)
    if data.size != int(np.prod(dims)):
        raise ValueError("an MNIST file of %d bytes, not %d" % (data.size, int(np.prod(dims))))
    return data.reshape(dims)


def extract_images(f):
    return _read(f)[..., np.newaxis]


def dense_to_one_hot(labels_dense, num_classes):
    return np.eye(num_classes)[np.asarray(labels_dense).ravel()]


def extract_labels(f, one_hot=False, num_classes=10):
    labels = _read(f)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images and labels, batch after batch: `next_batch(n)`."""

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=None, reshape=True, seed=None):
        from ..dtypes import as_dtype, float32
        dtype = as_dtype(dtype or float32).base_dtype
        if fake_data:
            images, labels = np.ones([10000, IMAGE_PIXELS], np.float32), np.zeros([10000, 10] if one_hot else [10000])
        elif reshape:
            images = images.reshape(images.shape[0], -1)
        if dtype == float32 and not fake_data:
            images = images.astype(np.float32) * np.float32(1.0 / 255.0)
        self._images, self._labels, self._random = images, labels, np.random.RandomState(seed)
        self._epochs_completed = self._at = 0

    images, labels = property(lambda self: self._images), property(lambda self: self._labels)
    num_examples = property(lambda self: self._images.shape[0])
    epochs_completed = property(lambda self: self._epochs_completed)

    def _shuffle(self):
        order = self._random.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        if self._epochs_completed == 0 and self._at == 0 and shuffle:
            self._shuffle()
        start, end = self._at, self._at + batch_size
        if end <= self.num_examples:
            self._at = end
            return self._images[start:end], self._labels[start:end]
        rest = self._images[start:], self._labels[start:]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = batch_size - len(rest[0])
        return np.concatenate([rest[0], self._images[:self._at]]), np.concatenate([rest[1], self._labels[:self._at]])


def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=None, reshape=True, validation_size=5000, seed=None,
                   source_url=None):
    """The three sets of a folder that has MNIST's four files."""
    if fake_data:
        return Datasets(*[DataSet([], [], True, one_hot, dtype, reshape, seed) for _ in range(3)])
    arrays = []
    for i, name in enumerate(_FILES):
        with _open(train_dir, name) as f:
            arrays.append(extract_labels(f, one_hot) if i % 2 else extract_images(f))
    train_images, train_labels, test_images, test_labels = arrays
    if not 0 <= validation_size <= len(train_images):
        raise ValueError("Validation size should be between 0 and %d. Received: %d." % (
            len(train_images), validation_size))
    make = lambda x, y: DataSet(x, y, False, one_hot, dtype, reshape, seed)
    n = validation_size
    return Datasets(make(train_images[n:], train_labels[n:]), make(train_images[:n], train_labels[:n]),
                    make(test_images, test_labels))


def load_mnist(train_dir="MNIST-data"):
    return read_data_sets(train_dir)


def maybe_download(filename, work_directory, source_url=None):
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        raise IOError("%s is not there: Millrace fetches no data sets" % path)
    return path
