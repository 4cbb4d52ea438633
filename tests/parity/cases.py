# cases — how the case tables are written: one case is one operation with inputs and attributes, or a script of steps.
import zlib

import numpy as np

try:
    import ml_dtypes
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    bfloat16 = None

f32, f64, f16 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
i8, i16, i32, i64 = (np.dtype(k) for k in (np.int8, np.int16, np.int32, np.int64))
u8, u16, u32, u64 = (np.dtype(k) for k in (np.uint8, np.uint16, np.uint32, np.uint64))
c64, c128, boolean, string = np.dtype(np.complex64), np.dtype(np.complex128), np.dtype(np.bool_), np.dtype(object)
FLOATS = [f32, f64, f16, bfloat16]
INTS = [i32, i64, i8, i16, u8, u16, u32, u64]
COMPLEX = [c64, c128]
NUMBERS = FLOATS + INTS + COMPLEX
ALL = NUMBERS + [boolean, string]

# Inputs that say how, not what: Consts in the fixed graphs.
HOST = set("""shape axis axes reduction_indices perm begin end strides size multiples paddings dim split_dim concat_dim
    dims input_sizes filter_sizes filter output_shape start limit delta stop num size_splits dimension depth s0 s1
    tensor_shape orig_input_shape input_shape num_segments element_shape num_elements k output_size seed""".split())

SHAPES = [(), (3,), (2, 3), (0,), (1,), (2, 0, 3), (1, 1), (2, 3, 4), (1000,), (2, 1, 3, 1, 2)]
FEW = [(), (2, 3), (0,), (5,)]
PAIRS = [((), ()), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), ()), ((2, 0, 3), (1, 1, 3)),
         ((1,), (1,)), ((4, 5), (4, 5)), ((2, 3, 4), (3, 1)), ((257,), (257,)), ((2, 1, 3, 1, 2), (1, 4, 1, 2, 1)),
         ((1, 1), (3,)), ((64, 33), (64, 1)), ((3,), (2, 2, 3))]
FEW_PAIRS = [((), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((7,), (7,))]

TABLE = []  # every Case and Script, in order of declaration


class Case:
    """op: its name; outs: how many of its outputs are compared, all unless given; inputs: arrays, or lists of arrays where the operation takes a list; const: the inputs (numbers) that
    are Consts in the fixed graph, the HOST ones unless given; grad: compare gradients too, of the outputs `ys`; tol: the
    largest accepted error, by dtype unless given; error: TensorFlow is expected to refuse."""

    def __init__(self, op, inputs, attrs, const, grad, ys, tol, error, label, outs):
        self.op, self.inputs, self.attrs, self.const, self.grad, self.ys = op, inputs, attrs, const, grad, ys
        self.tol, self.error, self.label, self.outs = tol, error, label, outs


class Script:
    """A graph of its own and steps that are run in turn in one session: build(tf) returns [(fetches, feeds, targets)],
    or [(fetches, feeds, targets, {"loose": True})] where only shape and dtype can be compared."""

    def __init__(self, op, build, label, tol, gradient):
        self.op, self.build, self.label, self.tol, self.gradient = op, build, label, tol, gradient


def describe(inputs, attrs):
    def one(x):
        if isinstance(x, list):
            return "[" + " ".join(one(y) for y in x) + "]"
        name = "string" if x.dtype == object else x.dtype.name
        small = x.ndim <= 1 and x.size <= 6 and x.dtype in (i32, i64)
        return name + (str(x.tolist()).replace(" ", "") if small else str(list(x.shape)).replace(" ", ""))

    words = [one(x) for x in inputs]
    words += ["%s=%s" % (k, str(v).replace(" ", "")[:40]) for k, v in sorted(attrs.items())]
    return " ".join(words)


def case(op, *inputs, attrs=None, const=None, grad=False, ys=(0,), tol=None, error=False, label="", outs=None):
    inputs = [([np.asarray(y) for y in x] if isinstance(x, list) else np.asarray(x)) for x in inputs]
    attrs = attrs or {}
    TABLE.append(Case(op, inputs, attrs, const, grad, ys, tol, error, label or describe(inputs, attrs), outs))


def script(op, label="", tol=None, gradient=False):
    def declare(build):
        TABLE.append(Script(op, build, label or build.__name__, tol, gradient))
        return build

    return declare


def rng(*key):
    return np.random.RandomState(zlib.crc32(repr(key).encode()) & 0x7fffffff)


def values(dtype, shape, low=-3.0, high=3.0, key=0):
    """Repeatable values of a dtype: uniform between low and high, whole numbers for integers, small words for strings."""
    random = rng(str(dtype), tuple(shape), low, high, key)
    dtype = np.dtype(dtype)
    if dtype == object:
        words = [b"", b"a", b"bc", b"hello world", b"x" * 40, bytes([0, 255, 10])]
        out = np.empty(shape, object)
        flat = [words[i] for i in random.randint(0, len(words), size=int(np.prod(shape)))]
        out.reshape(-1)[:] = flat
        return out
    if dtype == boolean:
        return random.rand(*shape) < 0.5 if shape else np.array(random.rand() < 0.5)
    if dtype in COMPLEX:
        return np.asarray(random.uniform(low, high, shape) + 1j * random.uniform(low, high, shape)).astype(dtype)
    if dtype.kind in "iu":
        low = max(low, 0) if dtype.kind == "u" else low
        return np.asarray(random.randint(int(np.floor(low)), int(np.ceil(high)) + 1, shape)).astype(dtype)
    return np.asarray(random.uniform(low, high, shape)).astype(dtype)


def distinct(dtype, shape, key=0):
    """Values that are all different and well apart: for maxima, sorting and their gradients."""
    n = int(np.prod(shape))
    order = rng("distinct", shape, key).permutation(n)
    return ((order - n // 2) * (0.25 if np.dtype(dtype).kind not in "iu" else 1)).reshape(shape).astype(dtype)


def ints(*items, dtype=i32):
    return np.array(items, dtype)


def present(dtypes):
    return [d for d in dtypes if d is not None]
