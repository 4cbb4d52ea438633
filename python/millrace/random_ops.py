"""random_ops — random tensors. Seeds follow TensorFlow's rule: see graph.get_seed."""
import numpy as np

from . import dtypes, tensor_shape
from .array_ops import _tensor_shape_argument, shape as shape_of
from .convert import convert_to_tensor
from .graph import get_seed, name_scope
from .ops_apply import apply


def _shape(shape):
    return _tensor_shape_argument(shape, "shape")


def _scaled(op, default, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default, [shape, mean, stddev]) as scope:
        shape = _shape(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        first, second = get_seed(seed)
        drawn = apply(op, None, {"shape": shape, "dtype": dtype, "seed": first, "seed2": second})
        product = drawn * stddev
        return apply("AddV2", scope, {"x": product, "y": mean})


def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    return _scaled("RandomStandardNormal", "random_normal", shape, mean, stddev, dtypes.as_dtype(dtype), seed, name)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    return _scaled("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtypes.as_dtype(dtype), seed, name)


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Uniform in [minval, maxval); integers need maxval."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
        raise ValueError("Invalid dtype %r" % dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype %r" % dtype)
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = _shape(shape)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        first, second = get_seed(seed)
        if dtype.is_integer:
            return apply("RandomUniformInt", scope, {"shape": shape, "minval": minval, "maxval": maxval, "seed": first,
                                                     "seed2": second})
        drawn = apply("RandomUniform", None, {"shape": shape, "dtype": dtype, "seed": first, "seed2": second})
        return apply("AddV2", scope, {"x": drawn * (maxval - minval), "y": minval})


def random_shuffle(value, seed=None, name=None):
    first, second = get_seed(seed)
    return apply("RandomShuffle", name, {"value": value, "seed": first, "seed2": second})


def random_crop(value, size, seed=None, name=None):
    with name_scope(name, "random_crop", [value, size]) as scope:
        from .array_ops import slice as slice_
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        limit = shape_of(value) - size + 1
        offset = random_uniform(shape_of(shape_of(value)), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return slice_(value, offset, size, name=scope)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    first, second = get_seed(seed)
    return apply("Multinomial", name or "multinomial", {
        "logits": logits, "num_samples": num_samples, "seed": first, "seed2": second,
        "output_dtype": output_dtype or dtypes.int64})


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        from .array_ops import concat
        from .math_ops import maximum
        shape = convert_to_tensor(_tensor_shape_argument(shape), dtypes.int32)
        alpha = convert_to_tensor(alpha, dtype)
        beta = convert_to_tensor(1 if beta is None else beta, alpha.dtype)
        alpha = alpha + apply("ZerosLike", None, {"x": beta})
        first, second = get_seed(seed)
        drawn = apply("RandomGamma", None, {"shape": shape, "alpha": alpha, "seed": first, "seed2": second})
        return maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, drawn / beta)


def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    first, second = get_seed(seed)
    shape = convert_to_tensor(_tensor_shape_argument(shape), dtypes.int32)
    return apply("RandomPoissonV2", name, {"shape": shape, "rate": convert_to_tensor(lam), "dtype": dtype,
                                           "seed": first, "seed2": second})


def parameterized_truncated_normal(shape, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, dtype=dtypes.float32,
                                   seed=None, name=None):
    first, second = get_seed(seed)
    as_type = lambda v: convert_to_tensor(v, dtype)
    return apply("ParameterizedTruncatedNormal", name, {
        "shape": _shape(shape), "means": as_type(means), "stdevs": as_type(stddevs), "minvals": as_type(minvals),
        "maxvals": as_type(maxvals), "seed": first, "seed2": second})


def _stateless(op, default):
    def function(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        with name_scope(name, default):
            return apply(op, None, {"shape": _shape(shape), "seed": seed, "dtype": dtype}) * stddev + mean
    return function


stateless_random_normal = _stateless("StatelessRandomNormal", "stateless_random_normal")
stateless_truncated_normal = _stateless("StatelessTruncatedNormal", "stateless_truncated_normal")


def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    with name_scope(name, "stateless_random_uniform"):
        dtype = dtypes.as_dtype(dtype)
        maxval = 1 if maxval is None else maxval
        minval, maxval = convert_to_tensor(minval, dtype), convert_to_tensor(maxval, dtype)
        if dtype.is_integer:
            return apply("StatelessRandomUniformInt", None, {"shape": _shape(shape), "seed": seed, "minval": minval,
                                                             "maxval": maxval})
        return apply("StatelessRandomUniform", None, {"shape": _shape(shape), "seed": seed, "dtype": dtype}) * \
            (maxval - minval) + minval


def stateless_multinomial(logits, num_samples, seed, output_dtype=dtypes.int64, name=None):
    return apply("StatelessMultinomial", name, {"logits": logits, "num_samples": num_samples, "seed": seed,
                                                "output_dtype": output_dtype})


stateless_categorical = stateless_multinomial
