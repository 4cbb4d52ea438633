# Decompositions and functions of matrices, and systems of bands. Vectors have a sign or a phase of their own: what is
# compared of them are products that have none.
import numpy as np
from cases import *


def matrices(dtype, m, n, batch=(), key=0):
    """Singular values well apart."""
    x = values(dtype, batch + (m, n), -1, 1, key)
    return (x + np.eye(m, n) * np.arange(1, max(m, n) + 1)[:m, None]).astype(dtype)


def hermitian(dtype, n, batch=(), key=0):
    x = matrices(dtype, n, n, batch, key)
    return (x + np.conj(np.swapaxes(x, -1, -2))).astype(dtype)


TOLERANCES = {f32: 2e-4, f64: 1e-9, c64: 2e-4, c128: 1e-9}
SIZES = [(1, 1, ()), (3, 3, ()), (5, 3, ()), (3, 5, ()), (4, 4, (2, 3)), (0, 3, ()), (3, 0, (2,)), (60, 40, ()), (40, 60, ())]
for dtype, tol in TOLERANCES.items():
    real = dtype in (f32, f64)
    for m, n, batch in SIZES:
        x = matrices(dtype, m, n, batch)
        for full in (False, True):
            grad = real and 0 < m < 10 and n > 0 and not (full and m > n)
            case("Qr", x, attrs={"full_matrices": full}, tol=tol, grad=grad, ys=(0, 1), label="%s %dx%d %s full=%s" % (dtype, m, n, batch, full))
        case("Svd", x, attrs={"compute_uv": False}, tol=tol, outs=1, grad=real and 0 < m < 10 and n > 0)
        if m == n:
            case("SelfAdjointEigV2", hermitian(dtype, n, batch), attrs={"compute_v": False}, tol=tol, outs=1, grad=real and 0 < n < 10)
            case("Lu", x, tol=tol)
            case("Lu", np.flip(x, -2), attrs={"output_idx_type": i64}, tol=tol)
            root = hermitian(dtype, n, batch)
            positive = (np.matmul(root, np.conj(np.swapaxes(root, -1, -2))) + np.eye(n)).astype(dtype)
            case("MatrixSquareRoot", positive, tol=tol * 5, grad=real and 1 < n < 5)
            if not real:
                case("MatrixLogarithm", positive, tol=tol * 5)
        for k in (1, 4):
            rhs = values(dtype, batch + (m, k))
            for l2 in (0.0, 0.5):
                if m and n:
                    case("MatrixSolveLs", x, rhs, np.array(l2, f64), attrs={"fast": True}, const=(2,), tol=tol * 20, grad=real and m < 10)
            if m and n:
                case("MatrixSolveLs", x, rhs, np.array(0.0, f64), attrs={"fast": False}, const=(2,), tol=tol * 20)
    if real:
        case("Eig", np.array([[2, 1], [0, 3]], dtype), attrs={"compute_v": False, "Tout": c64 if dtype == f32 else c128}, tol=tol, outs=1)
    for n, k, batch in [(4, 2, ()), (5, 1, (2,)), (1, 3, ()), (40, 7, (2, 2))]:
        for bands in (1, 2, 3):
            for lower in (False, True):
                for adjoint in (False, True):
                    band = values(dtype, batch + (bands, n), 1, 2) * np.linspace(1, 2, n)
                    case("BandedTriangularSolve", band.astype(dtype), values(dtype, batch + (n, k)), attrs={"lower": lower, "adjoint": adjoint},
                         tol=tol * 20, grad=real and 1 < n < 6 and bands <= n)
        diagonals = values(dtype, batch + (3, n), -1, 1)
        diagonals[..., 1, :] += 3
        for pivoting in (False, True):
            case("TridiagonalSolve", diagonals, values(dtype, batch + (n, k)), attrs={"partial_pivoting": pivoting}, tol=tol, grad=real and 1 < n < 6)
        case("TridiagonalSolve", values(dtype, batch + (3, n), -1, 1), values(dtype, batch + (n, k)), tol=tol * 100)
        parts = [values(dtype, batch + (1, n), key=i) for i in range(3)]
        case("TridiagonalMatMul", *parts, values(dtype, batch + (n, k)), tol=tol, grad=real and 1 < n < 6)
    case("BandedTriangularSolve", values(dtype, (4, 1, 2, 3), 1, 2), values(dtype, (5, 3, 2)), tol=tol, grad=real)
    case("Lu", np.ones((2, 2), dtype), error=True)
    case("MatrixSolveLs", np.zeros((2, 2), dtype), np.ones((2, 1), dtype), np.array(0.0, f64), const=(2,), error=True)
case("TridiagonalSolve", np.zeros((3, 3), f64), np.ones((3, 1), f64), attrs={"perturb_singular": True})
case("TridiagonalSolve", np.ones((3, 3), f64), np.ones((3, 1), f64), attrs={"partial_pivoting": False, "perturb_singular": True}, error=True)


def products(op, dtype, m, n, batch, build):
    """What the decomposition multiplies to, and that vectors are orthonormal."""
    @script(op, label="%s %dx%d %s" % (dtype, m, n, batch), tol=TOLERANCES[dtype] * 5)
    def run(tf):
        x = tf.placeholder(dtype, batch + (m, n))
        value = hermitian(dtype, n, batch) if op == "SelfAdjointEigV2" else matrices(dtype, m, n, batch)
        return [(build(tf, x), {x: value}, [])]


for dtype in TOLERANCES:
    for m, n, batch in [(3, 3, ()), (5, 3, ()), (3, 5, (2,)), (30, 30, ())]:
        for full in (False, True):
            products("Svd", dtype, m, n, batch, lambda tf, x, full=full: (lambda s, u, v: [
                s, tf.matmul(u[..., :min(x.shape[-2:])] * tf.cast(s, x.dtype)[..., None, :], v[..., :min(x.shape[-2:])], adjoint_b=True),
                tf.matmul(u, u, adjoint_a=True), tf.matmul(v, v, adjoint_a=True)])(*tf.raw_ops.Svd(input=x, full_matrices=full)))
        if m == n:
            products("SelfAdjointEigV2", dtype, n, n, batch, lambda tf, x: (lambda e, v: [
                e, tf.matmul(v * e[..., None, :], v, adjoint_b=True), tf.matmul(v, v, adjoint_a=True)])(*tf.raw_ops.SelfAdjointEigV2(input=x)))
            if n < 10:
                products("Eig", dtype, n, n, batch, lambda tf, x: (lambda e, v: [
                    tf.matmul(v * e[..., None, :], tf.linalg.inv(v)), tf.reduce_sum(tf.abs(v) ** 2, -2), tf.reduce_sum(e, -1)])(
                        *tf.raw_ops.Eig(input=x, Tout=tf.complex64 if x.dtype in (tf.float32, tf.complex64) else tf.complex128)))


for dtype in (f32, f64):
    for m, n, full in [(3, 3, False), (4, 3, False), (3, 4, False), (3, 3, True), (4, 3, True), (3, 4, True)]:
        @script("Svd", label="gradient %s %dx%d full=%s" % (dtype, m, n, full), tol=TOLERANCES[dtype] * 20)
        def run(tf, dtype=dtype, m=m, n=n, full=full):
            x = tf.placeholder(dtype, (m, n))
            s, u, v = tf.raw_ops.Svd(input=x, full_matrices=full)
            least = min(m, n)
            loss = tf.reduce_sum(tf.sin(tf.matmul(u[:, :least] * tf.sqrt(s), v[:, :least], adjoint_b=True)))
            return [(tf.gradients(loss, [x]), {x: matrices(dtype, m, n)}, [])]

    @script("SelfAdjointEigV2", label="gradient %s" % dtype, tol=TOLERANCES[dtype] * 20)
    def run(tf, dtype=dtype):
        x = tf.placeholder(dtype, (4, 4))
        e, v = tf.raw_ops.SelfAdjointEigV2(input=x)
        return [(tf.gradients(tf.reduce_sum(tf.sin(tf.matmul(v * tf.exp(e / 8), v, adjoint_b=True))), [x]), {x: hermitian(dtype, 4)}, [])]
