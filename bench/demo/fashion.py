# The demo's data — Fashion-MNIST read from the four IDX files of the dataset (any directory that holds them).
import gzip
import os

import numpy as np

PLACES = ("/usr/share/datasets/fashion-mnist", "/usr/share/dataset-fashion-mnist")


def directory():
    for place in (os.environ.get("FASHION_MNIST", ""),) + PLACES:
        if place and os.path.exists(os.path.join(place, "train-images-idx3-ubyte.gz")):
            return place
    raise SystemExit("Fashion-MNIST not found: install dataset-fashion-mnist or set FASHION_MNIST to its folder")


def _read(name, header):
    with gzip.open(os.path.join(directory(), name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def load(part):
    """part is "train" or "t10k"; images as float32 [n 28 28 1] in 0..1, labels as int32 [n]."""
    images = _read(part + "-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    labels = _read(part + "-labels-idx1-ubyte.gz", 8)
    return images.astype(np.float32) / np.float32(255), labels.astype(np.int32)
