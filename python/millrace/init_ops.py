"""init_ops — initializers: objects that give the first value of a variable of a shape and type."""
import math

import numpy as np

from . import dtypes
from .array_ops import reshape, zeros, ones
from .constant import constant
from .graph import get_seed
from .ops_apply import apply
from . import random_ops


class Initializer:
    """Called as `init(shape, dtype=None, partition_info=None)`; gives a tensor."""

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        config.pop("dtype", None) if "dtype" not in cls.__init__.__code__.co_varnames else None
        return cls(**config)


def _floating(dtype):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_complex:
        raise TypeError("Cannot create initializer for non-floating point type.")
    return dtype


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return zeros(shape, self.dtype if dtype is None else dtype)

    def get_config(self):
        return {"dtype": self.dtype.name}


class Ones(Zeros):
    """Ones."""

    def __call__(self, shape, dtype=None, partition_info=None):
        return ones(shape, self.dtype if dtype is None else dtype)


class Constant(Initializer):
    """The same value everywhere, or a list of values that fills the shape."""

    def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError("Invalid type for initial value: %s (expected Python scalar, list or tuple of values, or "
                            "numpy.ndarray)." % type(value))
        self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        dtype = dtypes.as_dtype(self.dtype if dtype is None else dtype)
        value = self.value
        if isinstance(value, np.ndarray) and dtype._number != 7:
            value = value.astype(dtype.as_numpy_dtype)
        elif dtype.is_integer and isinstance(value, float):
            value = int(value)
        elif dtype.is_floating and not np.isscalar(value):
            value = np.asarray(value, dtype.as_numpy_dtype)
        return constant(value, dtype=dtype, shape=shape,
                        verify_shape=self._verify_shape if verify_shape is None else verify_shape)

    def get_config(self):
        return {"value": self.value, "dtype": self.dtype.name}


class _Random(Initializer):
    def __init__(self, first, second, seed=None, dtype=dtypes.float32):
        self._first, self._second, self.seed, self.dtype = first, second, seed, _floating(dtype)


class RandomUniform(Initializer):
    """Uniform in [minval, maxval)."""

    def __init__(self, minval=0, maxval=None, seed=None, dtype=dtypes.float32):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random_ops.random_uniform(shape, self.minval, self.maxval, self.dtype if dtype is None else dtype,
                                         seed=self.seed)

    def get_config(self):
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """Normally distributed."""
    _make = staticmethod(random_ops.random_normal)

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._make(shape, self.mean, self.stddev, self.dtype if dtype is None else dtype, seed=self.seed)

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normally distributed, at most two deviations from the mean."""
    _make = staticmethod(random_ops.truncated_normal)


def _fans(shape):
    shape = [int(d) for d in shape]
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    return float(shape[-2] * field), float(shape[-1] * field)


class VarianceScaling(Initializer):
    """Of variance scale / n, n being the inputs, the outputs or their mean."""

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=dtypes.float32):
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument: %s" % mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument: %s" % distribution)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self.dtype if dtype is None else dtype
        full = partition_info.full_shape if partition_info is not None else shape
        fan_in, fan_out = _fans(full)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, n)
        if self.distribution in ("normal", "truncated_normal"):
            return random_ops.truncated_normal(shape, 0.0, math.sqrt(scale) / .87962566103423978, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(scale), dtype, seed=self.seed)
        limit = math.sqrt(3.0 * scale)
        return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)

    def get_config(self):
        return {"scale": self.scale, "mode": self.mode, "distribution": self.distribution, "seed": self.seed,
                "dtype": self.dtype.name}


class UniformUnitScaling(VarianceScaling):
    """Uniform, keeping the scale of what comes in."""

    def __init__(self, factor=1.0, seed=None, dtype=dtypes.float32):
        self.factor, self.seed, self.dtype = factor, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        size = 1.0
        for d in shape[:-1]:
            size *= float(d)
        limit = math.sqrt(3 / (size or 1.0)) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, self.dtype if dtype is None else dtype, seed=self.seed)

    def get_config(self):
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class GlorotUniform(VarianceScaling):
    """Uniform, by inputs and outputs together."""

    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal, by inputs and outputs together."""

    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


def _scaled(name, scale, mode, distribution):
    def __call__(seed=None, dtype=dtypes.float32):
        return VarianceScaling(scale, mode, distribution, seed, dtype)
    __call__.__name__ = name
    return __call__


he_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal")
he_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform")


class Orthogonal(Initializer):
    """An orthogonal matrix, drawn when the graph is made."""

    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = dtypes.as_dtype(self.dtype if dtype is None else dtype)
        shape = [int(d) for d in shape]
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = int(np.prod(shape[:-1])), shape[-1]
        first, second = get_seed(self.seed)
        random = np.random.RandomState((first * 31 + second) % 2 ** 32 if first or second else None)
        q, r = np.linalg.qr(random.normal(size=(max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))
        q = q if rows >= columns else q.T
        return constant((self.gain * q).reshape(shape).astype(dtype.as_numpy_dtype))

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix."""

    def __init__(self, gain=1.0, dtype=dtypes.float32):
        self.gain, self.dtype = gain, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        dtype = dtypes.as_dtype(self.dtype if dtype is None else dtype)
        return constant((self.gain * np.eye(*[int(d) for d in shape])).astype(dtype.as_numpy_dtype))

    def get_config(self):
        return {"gain": self.gain, "dtype": self.dtype.name}


zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_uniform_initializer, random_normal_initializer = RandomUniform, RandomNormal
truncated_normal_initializer, uniform_unit_scaling_initializer = TruncatedNormal, UniformUnitScaling
variance_scaling_initializer, orthogonal_initializer = VarianceScaling, Orthogonal
identity_initializer = Identity
glorot_uniform_initializer, glorot_normal_initializer = GlorotUniform, GlorotNormal
