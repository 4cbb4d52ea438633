# cases_math — elementwise operations, comparisons, casts, reductions, products of matrices.
from cases import *

POSITIVE = dict(low=0.1, high=4.0)
UNIT = dict(low=-0.95, high=0.95)
UNARY = {  # name: (dtypes, domain, has a gradient)
    "Abs": (FLOATS + [i32, i64, i8, i16], {}, 1), "Neg": (FLOATS + [i32, i64, i8, i16] + COMPLEX, {}, 1), "Sign": (FLOATS + [i32, i64] + COMPLEX, {}, 1),
    "Square": (FLOATS + [i32, i64] + COMPLEX, {}, 1), "Sqrt": (FLOATS + COMPLEX, POSITIVE, 1),
    "Rsqrt": (FLOATS + COMPLEX, POSITIVE, 1), "Reciprocal": (FLOATS + COMPLEX, POSITIVE, 1),
    "Inv": (FLOATS + COMPLEX, POSITIVE, 1), "Exp": (FLOATS + COMPLEX, {}, 1), "Expm1": (FLOATS + COMPLEX, {}, 1),
    "Log": (FLOATS + COMPLEX, POSITIVE, 1), "Log1p": (FLOATS + COMPLEX, POSITIVE, 1), "Sin": (FLOATS + COMPLEX, {}, 1),
    "Cos": (FLOATS + COMPLEX, {}, 1), "Tan": (FLOATS + COMPLEX, dict(low=-1.4, high=1.4), 1),
    "Asin": (FLOATS, UNIT, 1), "Acos": (FLOATS, UNIT, 1), "Atan": (FLOATS, {}, 1), "Sinh": (FLOATS + COMPLEX, {}, 1),
    "Cosh": (FLOATS + COMPLEX, {}, 1), "Tanh": (FLOATS + COMPLEX, {}, 1), "Asinh": (FLOATS + COMPLEX, {}, 1),
    "Acosh": (FLOATS + COMPLEX, dict(low=1.1, high=4), 1), "Atanh": (FLOATS + COMPLEX, UNIT, 1),
    "Sigmoid": (FLOATS + COMPLEX, {}, 1), "Erf": (FLOATS, {}, 1), "Erfc": (FLOATS, {}, 1), "Erfinv": ([f32, f64], UNIT, 1),
    "Ndtri": ([f32, f64], dict(low=0.05, high=0.95), 1), "Lgamma": (FLOATS, POSITIVE, 1),
    "Digamma": (FLOATS, POSITIVE, 1), "Floor": (FLOATS, {}, 1), "Ceil": (FLOATS, {}, 1), "Rint": (FLOATS, {}, 1),
    "Round": (FLOATS, {}, 1), "IsNan": (FLOATS, {}, 0), "IsInf": (FLOATS, {}, 0),
    "IsFinite": (FLOATS, {}, 0), "LogicalNot": ([boolean], {}, 0), "Invert": (INTS, {}, 0), "Conj": (COMPLEX, {}, 1),
    "Real": (COMPLEX, {}, 0), "Imag": (COMPLEX, {}, 0), "Angle": (COMPLEX, {}, 0), "ComplexAbs": (COMPLEX, {}, 0),
    "BesselI0e": (FLOATS, {}, 1), "BesselI1e": (FLOATS, {}, 1), "PopulationCount": (INTS, {}, 0),
}
LOOSE = {"Erfinv", "Ndtri", "Lgamma", "Digamma", "Tan", "Acosh", "BesselI0e", "BesselI1e", "Erfc", "Igamma", "Igammac",
         "Zeta", "Polygamma", "Betainc", "Pow", "Atanh", "Asinh", "Acos", "Expm1"}
GRADIENT_OF = {"SigmoidGrad": FLOATS, "TanhGrad": FLOATS, "SqrtGrad": FLOATS, "RsqrtGrad": FLOATS,
               "InvGrad": FLOATS, "ReciprocalGrad": FLOATS}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-30, 1e30, 88.0, -104.0]


def loose(op, dtype):
    return {f32: 1e-4, f64: 1e-9}.get(dtype) if op in LOOSE else None


def complex_attrs(op, dtype):
    if op in ("Real", "Imag", "Angle", "ComplexAbs"):
        return {"Tout": {c64: "float", c128: "double"}[dtype]}
    return {}


for op, (dtypes, domain, has_gradient) in UNARY.items():
    for dtype in present(dtypes):
        main = dtype in (f32, i32, boolean)
        for shape in SHAPES if main else FEW:
            case(op, values(dtype, shape, **domain), attrs=complex_attrs(op, dtype), tol=loose(op, dtype),
                 grad=has_gradient and (dtype == f32 or dtype in (f64, c64) and shape == (2, 3)))
    if f32 in dtypes:
        for dtype in (f32, f64) if op not in ("Erf", "Erfc") else (f32,):    # of a double's infinity TensorFlow's is NaN
            case(op, np.array(SPECIAL, dtype), label="%s special values" % dtype, tol=loose(op, dtype))
    for dtype in [d for d in present(dtypes) if d in INTS and op in ("Abs", "Neg", "Sign", "Square", "Invert", "PopulationCount")]:
        info = np.iinfo(dtype)
        case(op, np.array([info.min, info.max, 0, 1], dtype), label="%s limits" % dtype)
for op, dtypes in GRADIENT_OF.items():
    for dtype in present(dtypes):
        for shape in FEW:
            case(op, values(dtype, shape, **POSITIVE), values(dtype, shape, key=1))

ORDERED = FLOATS + INTS
BINARY = {  # name: (dtypes, domain of the second input, has a gradient)
    "Add": (FLOATS + [i32, i64, i8, i16, u8] + COMPLEX + [string], {}, 1), "AddV2": (NUMBERS, {}, 1), "Sub": (NUMBERS, {}, 1),
    "Mul": (NUMBERS, {}, 1), "Div": (NUMBERS, dict(low=1, high=4), 1), "RealDiv": (FLOATS + COMPLEX, POSITIVE, 1),
    "TruncateDiv": (INTS, dict(low=1, high=4), 0), "FloorDiv": (FLOATS + INTS, dict(low=1, high=4), 0),
    "DivNoNan": (FLOATS + COMPLEX, {}, 1), "Mod": ([i32, i64, f32, f64], dict(low=1, high=4), 0),
    "FloorMod": (FLOATS + INTS, dict(low=1, high=4), 1), "TruncateMod": ([i32, i64, f32, f64], dict(low=1, high=4), 1),
    "Maximum": (ORDERED, {}, 1), "Minimum": (ORDERED, {}, 1), "SquaredDifference": (FLOATS + [i32, i64] + COMPLEX, {}, 1),
    "Atan2": (FLOATS, POSITIVE, 1), "Xlogy": (FLOATS + COMPLEX, POSITIVE, 1), "Xdivy": (FLOATS + COMPLEX, POSITIVE, 1),
    "Xlog1py": (FLOATS + COMPLEX, POSITIVE, 1), "MulNoNan": (FLOATS + COMPLEX, {}, 1), "NextAfter": ([f32, f64], {}, 0),
    "BitwiseAnd": (INTS, {}, 0), "BitwiseOr": (INTS, {}, 0), "BitwiseXor": (INTS, {}, 0),
    "LeftShift": (INTS, dict(low=0, high=5), 0), "RightShift": (INTS, dict(low=0, high=5), 0),
    "LogicalAnd": ([boolean], {}, 0), "LogicalOr": ([boolean], {}, 0), "Complex": ([f32, f64], {}, 0),
    "Equal": (ALL, {}, 0), "NotEqual": (ALL, {}, 0), "Less": (ORDERED, {}, 0), "LessEqual": (ORDERED, {}, 0),
    "Greater": (ORDERED, {}, 0), "GreaterEqual": (ORDERED, {}, 0),
}
for op, (dtypes, domain, has_gradient) in BINARY.items():
    for dtype in present(dtypes):
        attrs = {"Tout": {f32: "complex64", f64: "complex128"}[dtype]} if op == "Complex" else {}
        for a, b in PAIRS if dtype in (f32, i32, boolean) else FEW_PAIRS:
            case(op, values(dtype, a), values(dtype, b, key=1, **domain), attrs=attrs, tol=loose(op, dtype),
                 grad=has_gradient and (dtype == f32 or dtype in (f64, c64) and a == (2, 3)))
    dtype = f32 if f32 in dtypes else dtypes[0]
    if op not in ("Equal", "NotEqual"):
        attrs = {"Tout": "complex64"} if op == "Complex" else {}
        case(op, values(dtype, (2,)), values(dtype, (3,)), attrs=attrs, error=True)
    if f32 in dtypes and op != "Complex":
        x, y = np.meshgrid(np.array(SPECIAL[:9], f32), np.array(SPECIAL[:9], f32))
        case(op, x, y, label="special values")
for op in ("Div", "TruncateDiv", "FloorDiv", "Mod", "FloorMod", "TruncateMod"):
    for dtype in (i32, i64):
        case(op, np.array([7, -7, 7, -7, 0], dtype), np.array([2, 2, -2, -2, 3], dtype), label="%s signs" % dtype)
        case(op, np.array([1, 2], dtype), np.array([1, 0], dtype), error=True, label="%s by zero" % dtype)
for op in ("Equal", "NotEqual"):
    for strict in (True, False):
        case(op, values(f32, (2,)), values(f32, (3,)), attrs={"incompatible_shape_error": strict}, error=strict)
for dtype in present(FLOATS) + [i32, i64] + COMPLEX:
    for a, b in FEW_PAIRS:
        whole = dtype in (i32, i64)
        case("Pow", values(dtype, a, **(dict(low=0, high=3) if whole else POSITIVE)),
             values(dtype, b, key=1, **(dict(low=0, high=4) if whole else {})), grad=dtype in (f32, f64), tol=loose("Pow", dtype))
case("Pow", np.array(2, i32), np.array(-1, i32), error=True)
case("Pow", np.array([-2, -2, 0, 0, 3], f32), np.array([2, 3, 0, 2, 0.5], f32), label="signs", tol=1e-5)
for op in ("Igamma", "Igammac", "Zeta", "Polygamma"):
    for dtype in (f32, f64):
        for a, b in FEW_PAIRS:
            x = values(dtype, a, low=1, high=4) if op != "Polygamma" else np.asarray(values(i32, a, low=1, high=3)).astype(dtype)
            case(op, x + (1 if op == "Zeta" else 0) * np.ones_like(x), values(dtype, b, key=1, **POSITIVE), tol=1e-3 if dtype == f32 else 1e-8)
for dtype in (f32, f64):
    case("Betainc", values(dtype, (4,), **POSITIVE), values(dtype, (4,), key=1, **POSITIVE),
         values(dtype, (4,), low=0.05, high=0.95), tol=1e-4)
    case("ApproximateEqual", np.array([1, 2, 3], dtype), np.array([1 + 1e-6, 2.1, np.nan], dtype), attrs={"tolerance": 1e-5})
for dtype in present([f32, f64, i32, i64]):
    case("ClipByValue", values(dtype, (2, 3)), np.array(-1, dtype), np.array(1, dtype), grad=dtype == f32)

CASTS = present(FLOATS + [i32, i64, i8, i16, u8, u16, u32, u64, c64, c128, boolean])
TF_NAME = {d: {"float32": "float", "float64": "double", "float16": "half"}.get(d.name, d.name) for d in CASTS}
for source in CASTS:
    for target in CASTS:
        for shape in [(5,)] + ([(), (0,), (2, 3), (100,)] if (source, target) in ((f32, i32), (i32, f32), (f32, f64)) else []):
            case("Cast", values(source, shape, low=0 if target.kind == "u" else -3, high=20), attrs={"DstT": TF_NAME[target]},
                 grad=source == f32 and target in (f32, f64))
case("Cast", np.array([1.5, -1.5, 2.5, 0.49999997, -0.0], f32), attrs={"DstT": "int32"}, label="float to int32 rounds to zero")
case("Cast", np.array([65504, 65519.9, 65520, 1e-8, 6e-8, 1e30, -np.inf, np.nan], f32), attrs={"DstT": "half"}, label="float to half edges")
if bfloat16 is not None:
    case("Cast", np.array([1.00390625, 1.01171875, 3.4e38, np.inf, np.nan, 1e-40], f32), attrs={"DstT": "bfloat16"}, label="float to bfloat16 ties to even")
case("Cast", np.array([300, -1, 256, 2**31 - 1], i32), attrs={"DstT": "uint8"}, label="int32 to uint8 wraps")
case("Cast", np.array([1 << 40, -1, 1 << 31], i64), attrs={"DstT": "int32"}, label="int64 to int32 wraps")

for dtype in present(NUMBERS):
    for n in (1, 2, 3, 9):
        case("AddN", [values(dtype, (2, 3), key=i) for i in range(n)], grad=dtype == f32)
for shape in [(), (0,), (100,)]:
    case("AddN", [values(f32, shape, key=i) for i in range(4)], grad=True)
case("AddN", [values(f32, (2,)), values(f32, (3,))], error=True)
case("AccumulateNV2", [values(f32, (2, 3), key=i) for i in range(3)], attrs={"shape": [2, 3]})

for dtype in present(ALL):
    for c, a, b in [((2, 3), (2, 3), (2, 3)), ((), (2, 3), (2, 3)), ((2,), (2, 3), (2, 3)), ((0,), (0,), (0,)), ((), (), ())]:
        case("Select", values(boolean, c), values(dtype, a), values(dtype, b, key=1), grad=dtype == f32)
    for c, a, b in [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), (1, 3)), ((), (3,), ()), ((2, 1), (), (3,)), ((0,), (1,), ())]:
        case("SelectV2", values(boolean, c), values(dtype, a), values(dtype, b, key=1), grad=dtype == f32)
case("Select", values(boolean, (3,)), values(f32, (2, 3)), values(f32, (2, 3)), error=True)

REDUCE_AXES = [((2, 3, 4), [0]), ((2, 3, 4), [1]), ((2, 3, 4), [-1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [0, 1, 2]),
               ((2, 3, 4), []), ((5,), [0]), ((), []), ((0, 3), [0]), ((0, 3), [1]), ((2, 0), [1]), ((1, 1), [0]),
               ((300, 7), [0]), ((7, 300), [1]), ((3, 5, 2, 4), [1, 3]), ((10000,), [0])]
REDUCE = {"Sum": NUMBERS, "Mean": NUMBERS, "Prod": NUMBERS, "Max": ORDERED, "Min": ORDERED, "All": [boolean], "Any": [boolean],
          "EuclideanNorm": FLOATS + [i32, i64] + COMPLEX}
for op, dtypes in REDUCE.items():
    for dtype in present(dtypes):
        main = dtype in (f32, i32, boolean)
        for shape, axes in REDUCE_AXES if main else REDUCE_AXES[:5] + REDUCE_AXES[6:9]:
            for keep in (False, True) if main else (False,):
                if op == "Prod" and int(np.prod(shape)) > 1000:
                    continue
                x = distinct(dtype, shape) if op in ("Max", "Min") and dtype in (f32, f64) else values(
                    dtype, shape, **(dict(low=0.7, high=1.4) if op == "Prod" and dtype.kind not in "iu" else {}))
                half = dtype in (f16, bfloat16)
                big = int(np.prod(shape)) > 1000
                case(op, x, np.array(axes, i32 if main else i64), attrs={"keep_dims": keep},
                     grad=op not in ("All", "Any", "EuclideanNorm") and dtype == f32 or dtype == f64 and axes == [1] and op in ("Sum", "Mean"),
                     tol=3e-2 if half else 1e-4 if big and dtype == f32 else None)
    dtype = dtypes[0]
    case(op, values(dtype, (2, 3)), ints(2), error=True)
    case(op, values(dtype, (2, 3)), ints(-3), error=True)
    case(op, values(dtype, (2, 3)), ints(0, 0), error=True)
    case(op, values(dtype, (2, 3)), np.array(1, i32), label="scalar axis")
for op in ("Max", "Min", "Sum", "Mean"):
    case(op, np.array([[1, np.nan, 3], [np.inf, -np.inf, 2], [-np.inf, -np.inf, -np.inf]], f32), ints(1), label="nan and inf")
for op in ("Max", "Min"):
    case(op, np.array([[1, 1, 0], [2, 2, 2]], f32), ints(1), grad=True, label="ties share the gradient")
case("Prod", np.array([[1, 0, 3], [2, 2, 2]], f32), ints(1), grad=True, label="a zero among the factors")

for op in ("ArgMax", "ArgMin"):
    for dtype in present(ORDERED + [boolean]):
        for shape, axis in [((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((5,), 0), ((1,), 0), ((0, 3), 1), ((64, 10), 1)]:
            for out in ("int32", "int64") if dtype == f32 else ("int64",):
                case(op, values(dtype, shape), np.array(axis, i32), attrs={"output_type": out})
    case(op, values(f32, (2, 3)), np.array(2, i32), error=True)
    case(op, values(f32, (0, 3)), np.array(0, i32), error=True)
    case(op, np.array([1, 5, 5, 2], f32), np.array(0, i32), label="first of equals")
    case(op, np.array([1, np.nan, 5, np.nan], f32), np.array(0, i32), label="nan")

for op in ("Cumsum", "Cumprod"):
    for dtype in present(NUMBERS):
        for shape, axis in [((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((5,), 0), ((0, 3), 1)]:
            for exclusive in (False, True) if dtype in (f32, i32) else (False,):
                for reverse in (False, True) if dtype in (f32, i32) else (False,):
                    low = dict(low=0.7, high=1.4) if op == "Cumprod" and dtype.kind not in "iu" else {}
                    case(op, values(dtype, shape, **low), np.array(axis, i32), attrs={"exclusive": exclusive, "reverse": reverse},
                         const=(), grad=dtype == f32, tol=2e-2 if dtype in (f16, bfloat16) else None)
    case(op, values(f32, (2, 3)), np.array(2, i32), error=True)

for dtype in present(FLOATS + [i32, i64] + COMPLEX):
    half = dtype in (f16, bfloat16)
    for (m, k, n) in [(2, 3, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3), (1, 5, 1), (4, 1, 4)] + ([(33, 65, 17), (64, 128, 64), (1, 300, 7), (7, 300, 1)] if dtype == f32 else []):
        for ta in (False, True):
            for tb in (False, True):
                a = values(dtype, (k, m) if ta else (m, k), low=-1 if not dtype.kind in "iu" else -3, high=1 if not dtype.kind in "iu" else 3)
                b = values(dtype, (n, k) if tb else (k, n), key=1, low=-1 if not dtype.kind in "iu" else -3, high=1 if not dtype.kind in "iu" else 3)
                case("MatMul", a, b, attrs={"transpose_a": ta, "transpose_b": tb}, const=(), grad=dtype in (f32, f64) and m < 10,
                     tol=3e-2 if half else 1e-4 if dtype in (f32, c64) else None)
case("MatMul", values(f32, (2, 3)), values(f32, (2, 3)), error=True)
case("MatMul", values(f32, (2, 3, 1)), values(f32, (3, 2)), error=True)
for op in ("BatchMatMul", "BatchMatMulV2"):
    for dtype in present(FLOATS + [i32, i64] + COMPLEX):
        half = dtype in (f16, bfloat16)
        shapes = [((2, 3, 4), (2, 4, 5)), ((3, 4), (4, 5)), ((2, 2, 3, 4), (2, 2, 4, 1)), ((0, 3, 4), (0, 4, 5))]
        if op == "BatchMatMulV2":
            shapes += [((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 5))]
        for a, b in shapes if dtype in (f32, i32) else shapes[:2]:
            for adj in ((False, False), (True, False), (False, True), (True, True)):
                x, y = values(dtype, a), values(dtype, b, key=1)
                x = np.ascontiguousarray(np.swapaxes(x, -1, -2)) if adj[0] else x
                y = np.ascontiguousarray(np.swapaxes(y, -1, -2)) if adj[1] else y
                case(op, x, y, attrs={"adj_x": adj[0], "adj_y": adj[1]}, const=(), grad=dtype == f32,
                     tol=3e-2 if half else 1e-4 if dtype in (f32, c64) else None)
case("BatchMatMulV2", values(f32, (2, 3, 4)), values(f32, (3, 4, 5)), error=True)
case("BatchMatMul", values(f32, (2, 3, 4)), values(f32, (2, 3, 5)), error=True)
case("Cross", values(f32, (4, 3)), values(f32, (4, 3), key=1), grad=True)
for dtype in present([f32, f64, i32, i64]):
    for op in ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"):
        if op == "SegmentMean" and dtype.kind == "i":
            continue
        case(op, values(dtype, (5, 2)), ints(0, 0, 1, 3, 3), const=(), grad=op in ("SegmentSum", "SegmentMean") and dtype == f32)
for op in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"):
    for dtype in present([f32, f64, i32, i64]):
        case(op, distinct(dtype, (5, 2)), ints(0, 3, -1, 1, 0), np.array(4, i32), const=(2,), grad=dtype == f32)
    case(op, distinct(f32, (2, 2)), ints(0, 1, 1, 0).reshape(2, 2), np.array(3, i32), const=(2,))
    case(op, values(f32, (0, 2)), np.zeros((0,), i32), np.array(3, i32), const=(2,))
case("UnsortedSegmentSum", values(f32, (2,)), ints(0, 9), np.array(3, i32), error=True)
case("Bincount", ints(1, 2, 1, 0), np.array(4, i32), np.zeros((0,), f32))
case("SparseSegmentSum", values(f32, (5, 2)), ints(0, 3, 1), ints(0, 0, 1), const=())


# ---- linear algebra

def matrices(dtype, n, batch=(), key=0):
    """Well-conditioned ones: the diagonal outweighs the rest."""
    x = values(dtype, batch + (n, n), -1, 1, key)
    return (x + np.eye(n, dtype=x.dtype) * (1 + n / 4)).astype(dtype)


def definite(dtype, n, batch=(), key=0):
    x = matrices(dtype, n, batch, key)
    return (np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) + np.eye(n)).astype(dtype)


LINALG = {f32: 2e-4, f64: 1e-10, c64: 2e-4, c128: 1e-10}
for dtype, tol in LINALG.items():
    small = dtype in (f64, c128)
    for n, batch in [(1, ()), (3, ()), (4, (2, 3)), (0, ()), (0, (2,)), (60, ()), (3, (0,)), (131, ())]:
        grad = dtype in (f32, f64) and n in (3, 4)
        x = matrices(dtype, n, batch)
        for adjoint in (False, True):
            case("MatrixInverse", x, attrs={"adjoint": adjoint}, grad=grad, tol=tol)
            for k in (1, 5, 0):
                case("MatrixSolve", x, values(dtype, batch + (n, k)), attrs={"adjoint": adjoint}, grad=grad and k == 5, tol=tol)
                for lower in (False, True):
                    case("MatrixTriangularSolve", x, values(dtype, batch + (n, k)), attrs={"adjoint": adjoint, "lower": lower}, grad=grad and k == 5, tol=tol)
        if n < 60:
            case("MatrixDeterminant", x, grad=grad, tol=tol)
            case("LogMatrixDeterminant", x, grad=grad, ys=(1,), tol=tol)
        case("Cholesky", definite(dtype, n, batch), grad=grad, tol=tol)
        if dtype in (f32, f64):
            lower = np.tril(matrices(dtype, n, batch))
            case("CholeskyGrad", lower, np.tril(values(dtype, batch + (n, n), key=2)), tol=tol)
    case("MatrixTriangularSolve", matrices(dtype, 3, (2, 1)), values(dtype, (4, 3, 2)), grad=dtype in (f32, f64), tol=tol)
    case("MatrixTriangularSolve", matrices(dtype, 3), values(dtype, (4, 3, 2)), grad=dtype in (f32, f64), tol=tol)
    case("MatrixTriangularSolve", matrices(dtype, 3, (5, 4)), values(dtype, (3, 2)), grad=dtype in (f32, f64), tol=tol)
    case("MatrixInverse", np.ones((2, 2), dtype), error=True)
    case("MatrixSolve", np.ones((2, 2), dtype), np.ones((2, 1), dtype), error=True)
    if dtype in (f32, f64):
        case("MatrixTriangularSolve", np.array([[1, 0], [1, 0]], dtype), np.ones((2, 1), dtype))
    case("MatrixDeterminant", np.ones((3, 3), dtype), tol=tol)
    case("LogMatrixDeterminant", np.zeros((2, 2), dtype), tol=tol)
case("MatrixInverse", matrices(f16, 3), tol=2e-2)


# ---- sparse matrices, rows and their gradients

def entries(rows, columns, n, key=0):
    random = rng("entries", rows, columns, n, key)
    return np.stack([random.randint(0, rows, n), random.randint(0, columns, n)], 1).astype(i64).reshape(n, 2)


for dtype in present([f32, f64, f16, bfloat16, i32, c64, c128]):
    for adjoint_a in (False, True):
        for adjoint_b in (False, True):
            rows, inner, columns, n = 5, 4, 3, 9
            at = entries(rows, inner, n)
            at = at[np.lexsort((at[:, 1], at[:, 0]))]
            shape = ints(rows, inner, dtype=i64)
            b = values(dtype, ((rows if adjoint_a else inner), columns), key=1)
            case("SparseTensorDenseMatMul", at, values(dtype, (n,)), shape, b.T.copy() if adjoint_b else b,
                 attrs={"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}, const=(2,), grad=dtype in (f32, f64), tol=2e-2 if dtype in (f16, bfloat16) else None)
case("SparseTensorDenseMatMul", np.zeros((0, 2), i64), np.zeros(0, f32), ints(3, 4, dtype=i64), values(f32, (4, 2)), const=(2,))
case("SparseTensorDenseMatMul", np.array([[0, 4]], i64), np.ones(1, f32), ints(3, 4, dtype=i64), values(f32, (4, 2)), const=(2,), error=True)
for a, b in [(f32, f32)] + ([(bfloat16, f32), (f32, bfloat16), (bfloat16, bfloat16)] if bfloat16 is not None else []):
    for ta in (False, True):
        for tb in (False, True):
            x, y = values(a, (3, 5)), values(b, (5, 4))
            case("SparseMatMul", x.T.copy() if ta else x, y.T.copy() if tb else y, attrs={"transpose_a": ta, "transpose_b": tb, "a_is_sparse": ta}, tol=1e-2)

for fold in ("Sum", "Mean", "SqrtN"):
    for dtype in (f32, f64):
        for index in (i32, i64):
            case("SparseSegment%sGrad" % fold, values(dtype, (3, 2)), ints(4, 0, 4, 2, dtype=index), ints(0, 0, 1, 2), np.array(6, i32), const=(3,))
    case("SparseSegment%sGrad" % fold, values(f32, (3, 2)), ints(6), ints(0), np.array(6, i32), const=(3,), error=True)
    case("SparseSegment%sGrad" % fold, values(f32, (3, 2)), ints(5), ints(3), np.array(6, i32), const=(3,), error=True)

for shape, new in [((2, 3), (3, 2)), ((2, 3), (-1,)), ((6,), (2, -1, 1)), ((4, 0), (0, 2)), ((2, 3, 4), (4, -1))]:
    n = 0 if 0 in shape else 5
    places = np.sort(rng("places", shape).permutation(int(np.prod(shape)))[:n])
    at = np.stack(np.unravel_index(places, shape), 1).astype(i64) if n else np.zeros((0, len(shape)), i64)
    case("SparseReshape", at, np.array(shape, i64), np.array(new, i64), const=(1, 2))
for new in [(4, -1), (-1, -1), (7,), (-2, -3)]:
    case("SparseReshape", np.zeros((1, 2), i64), ints(2, 3, dtype=i64), np.array(new, i64), const=(1, 2), error=True)

for dtype in present([f32, f64, i32, i64, boolean, string]):
    for at, shape in [([[0, 1], [2, 0], [2, 3]], (4, 4)), ([[2, 3], [0, 1], [2, 0]], (3, 4)), ([[0, 0], [1, 2]], (2, 3)), ([], (2, 3)), ([], (0, 3))]:
        at = np.array(at, i64).reshape(-1, 2)
        case("SparseFillEmptyRows", at, values(dtype, (len(at),)), np.array(shape, i64), values(dtype, (), key=5), const=(2,), grad=dtype in (f32, f64) and len(at) > 0, ys=(1,))
for at, shape in [([[0, 0]], (0, 3)), ([[4, 0]], (4, 3)), ([[-1, 0]], (4, 3))]:
    case("SparseFillEmptyRows", np.array(at, i64), np.ones(1, f32), np.array(shape, i64), np.array(1, f32), const=(2,), error=True)
for dtype in (f32, f64, i32, i64):
    case("SparseFillEmptyRowsGrad", ints(0, 3, 1, dtype=i64), values(dtype, (5,)))
case("SparseFillEmptyRowsGrad", ints(5, dtype=i64), values(f32, (5,)), error=True)

for k in (0, 1, 3, 9):
    case("NearestNeighbors", values(f32, (4, 3)), values(f32, (6, 3), key=1), np.array(k, i64), const=(2,))
for dtype in present(FLOATS + [i32]):
    for fold in ("Sum", "Mean", "SqrtN") if dtype != i32 else ("Sum",):
        for n in (3, 5):
            case("SparseSegment%sWithNumSegments" % fold, values(dtype, (5, 2)), ints(0, 3, 1, 1), ints(0, 0, 2, 2), np.array(n, i32), const=(3,),
                 grad=dtype in (f32, f64), tol=2e-2 if dtype not in (f32, f64) else None)
case("SparseSegmentSumWithNumSegments", values(f32, (5, 2)), ints(0, 3), ints(0, 3), np.array(3, i32), const=(3,), error=True)
