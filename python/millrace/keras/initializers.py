"""initializers — first values of weights: objects called with a shape and a dtype."""
import math

import numpy as np

from .. import array_ops, dtypes, linalg, random_ops
from ..convert import convert_to_tensor


class Initializer:
    """Called with (shape, dtype) it gives a tensor."""

    def __call__(self, shape, dtype=None):
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")

    def get_config(self):
        return {k.strip("_"): v for k, v in self.__dict__.items()}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _float(dtype):
    return dtypes.as_dtype(dtype or "float32")


def _ints(shape):
    return [int(d) for d in shape]


class Zeros(Initializer):
    def __call__(self, shape, dtype=None):
        return array_ops.zeros(_ints(shape), _float(dtype))


class Ones(Initializer):
    def __call__(self, shape, dtype=None):
        return array_ops.ones(_ints(shape), _float(dtype))


class Constant(Initializer):
    def __init__(self, value=0.0):
        self.value = value

    def __call__(self, shape, dtype=None):
        dtype = _float(dtype)
        return convert_to_tensor(np.broadcast_to(np.asarray(self.value, dtype.as_numpy_dtype), _ints(shape)).copy(), dtype)


class RandomNormal(Initializer):
    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape, dtype=None):
        return random_ops.random_normal(_ints(shape), self.mean, self.stddev, _float(dtype), self.seed)


class TruncatedNormal(RandomNormal):
    def __call__(self, shape, dtype=None):
        return random_ops.truncated_normal(_ints(shape), self.mean, self.stddev, _float(dtype), self.seed)


class RandomUniform(Initializer):
    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape, dtype=None):
        return random_ops.random_uniform(_ints(shape), self.minval, self.maxval, _float(dtype), self.seed)


class VarianceScaling(Initializer):
    """Of a variance that keeps that of what flows through: scale / fan."""

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None):
        if scale <= 0.0:
            raise ValueError("Argument `scale` must be positive float. Received: scale=%s" % scale)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape, dtype=None):
        shape = _ints(shape)
        fan_in, fan_out = fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random_ops.random_uniform(shape, -limit, limit, _float(dtype), self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(scale), _float(dtype), self.seed)
        # 0.8796: the deviation of a normal cut at two deviations
        return random_ops.truncated_normal(shape, 0.0, math.sqrt(scale) / 0.87962566103423978, _float(dtype), self.seed)


def fans(shape):
    """(fan in, fan out) of a weight: its last two dimensions, times the rest."""
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    return shape[-2] * field, shape[-1] * field


def _scaled(name, scale, mode, distribution):
    def __init__(self, seed=None):
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    def get_config(self):
        return {"seed": self.seed}
    return type(name, (VarianceScaling,), {"__init__": __init__, "get_config": get_config, "__module__": __name__})


GlorotUniform, GlorotNormal = _scaled("GlorotUniform", 1.0, "fan_avg", "uniform"), \
    _scaled("GlorotNormal", 1.0, "fan_avg", "truncated_normal")
HeUniform, HeNormal = _scaled("HeUniform", 2.0, "fan_in", "uniform"), _scaled("HeNormal", 2.0, "fan_in", "truncated_normal")
LecunUniform, LecunNormal = _scaled("LecunUniform", 1.0, "fan_in", "uniform"), \
    _scaled("LecunNormal", 1.0, "fan_in", "truncated_normal")


class Orthogonal(Initializer):
    def __init__(self, gain=1.0, seed=None):
        self.gain, self.seed = gain, seed

    def __call__(self, shape, dtype=None):
        shape = _ints(shape)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional. Received: shape=%s" % (shape,))
        rows = int(np.prod(shape[:-1]))
        tall = [max(shape[-1], rows), min(shape[-1], rows)]
        drawn = random_ops.random_normal(tall, dtype=_float(dtype), seed=self.seed)
        q, r = np.linalg.qr(np.asarray(drawn.numpy()))      # first values only: the library has no Qr kernel
        q = q * np.where(np.diag(r) >= 0, 1, -1).astype(q.dtype)
        q = convert_to_tensor(np.ascontiguousarray(q.T if rows < shape[-1] else q))
        return self.gain * array_ops.reshape(q, shape)


class Identity(Initializer):
    def __init__(self, gain=1.0):
        self.gain = gain

    def __call__(self, shape, dtype=None):
        return self.gain * linalg.eye(*_ints(shape), dtype=_float(dtype))


_CLASSES = (Zeros, Ones, Constant, RandomNormal, TruncatedNormal, RandomUniform, VarianceScaling, GlorotUniform, GlorotNormal,
            HeUniform, HeNormal, LecunUniform, LecunNormal, Orthogonal, Identity)
_BY_NAME = {c.__name__: c for c in _CLASSES}
_snake = lambda name: "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))
_BY_NAME.update({_snake(c.__name__): c for c in _CLASSES})
_BY_NAME.update(normal=RandomNormal, uniform=RandomUniform, one=Ones, zero=Zeros)
globals().update({_snake(c.__name__): c for c in _CLASSES})


def get(identifier):
    """An initializer from its name, its configuration, a class, a function, or itself."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"]](**identifier.get("config", {}))
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError("Could not interpret initializer identifier: %s" % identifier)
        return _BY_NAME[identifier]()
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError("Could not interpret initializer identifier: %s" % (identifier,))


def serialize(initializer):
    if initializer is None:
        return None
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


deserialize = get
