# values — the arrays that are fed: the same in every process, since each follows from its name and step.
import zlib

import numpy as np

BATCHES = 4    # the steps go round so many batches


def zipf(random, n, shape):
    """Numbers below n, where k is drawn in proportion to 1 / (k + 1): how often words are said."""
    ranks = np.exp(random.random(shape) * np.log(n + 1.0)).astype(np.int64) - 1
    return np.minimum(ranks, n - 1)


def array(name, recipe, shape, dtype, step=0):
    random = np.random.default_rng([zlib.crc32(name.encode()), step % BATCHES])
    kind, scale = recipe
    if kind == "always":
        return np.full(shape, scale, dtype)
    if kind == "normal":
        return random.standard_normal(shape, np.float32).astype(dtype, copy=False) * np.dtype(dtype).type(scale)
    if kind == "uniform":
        return (random.random(shape, np.float32) * scale).astype(dtype, copy=False)
    if kind == "below":
        return random.integers(0, scale, shape).astype(dtype)
    return zipf(random, scale, shape).astype(dtype)    # "words"


def feeds(recipes, step=0):
    return {name: array(name, *recipe, step=step) for name, recipe in recipes.items()}
