"""linalg — matrices: made, decomposed, solved."""
import numpy as np

from . import dtypes
from .array_ops import matrix_diag, matrix_diag_part, matrix_set_diag, ones, shape, zeros
from .constant import constant
from .convert import convert_to_tensor
from .graph import Tensor, name_scope
from .math_ops import reduce_sum, trace
from .ops_apply import apply


def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """The identity matrix, or a batch of them."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        num_columns = num_rows if num_columns is None else num_columns
        batch = [] if batch_shape is None else batch_shape
        from .array_ops import concat
        from .math_ops import minimum
        if all(isinstance(d, (int, np.integer)) for d in [num_rows, num_columns] + list(batch if not isinstance(
                batch, Tensor) else [None])):
            diagonal = ones(list(batch) + [min(num_rows, num_columns)], dtype)
            full = list(batch) + [num_rows, num_columns]
        else:
            rows, columns = convert_to_tensor(num_rows), convert_to_tensor(num_columns)
            batch = convert_to_tensor(batch, dtypes.int32)
            diagonal = ones(concat([batch, [minimum(rows, columns)]], 0), dtype)
            full = concat([batch, [rows, columns]], 0)
        if num_columns is num_rows:
            return matrix_diag(diagonal)
        return matrix_set_diag(zeros(full, dtype), diagonal)


def diag(diagonal, name=None):
    return apply("Diag", name, {"diagonal": diagonal})


def diag_part(input, name=None):
    return apply("DiagPart", name, {"input": input})


tensor_diag, tensor_diag_part = diag, diag_part


def matrix_inverse(input, adjoint=False, name=None):
    return apply("MatrixInverse", name, {"input": input, "adjoint": adjoint})


def matrix_determinant(input, name=None):
    return apply("MatrixDeterminant", name, {"input": input})


def matrix_solve(matrix, rhs, adjoint=False, name=None):
    return apply("MatrixSolve", name, {"matrix": matrix, "rhs": rhs, "adjoint": adjoint})


def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    return apply("MatrixTriangularSolve", name, {"matrix": matrix, "rhs": rhs, "lower": lower, "adjoint": adjoint})


def cholesky(input, name=None):
    return apply("Cholesky", name, {"input": input})


def cholesky_solve(chol, rhs, name=None):
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        return matrix_triangular_solve(chol, matrix_triangular_solve(chol, rhs), adjoint=True)


def matrix_band_part(input, num_lower, num_upper, name=None):
    return apply("MatrixBandPart", name, {"input": input, "num_lower": num_lower, "num_upper": num_upper})


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    s, u, v = apply("Svd", name, {"input": tensor, "compute_uv": compute_uv, "full_matrices": full_matrices})
    return (s, u, v) if compute_uv else s


def qr(input, full_matrices=False, name=None):
    return apply("Qr", name, {"input": input, "full_matrices": full_matrices})


def self_adjoint_eig(tensor, name=None):
    return tuple(apply("SelfAdjointEigV2", name, {"input": tensor, "compute_v": True}))


def self_adjoint_eigvals(tensor, name=None):
    return apply("SelfAdjointEigV2", name, {"input": tensor, "compute_v": False})[0]


def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    return apply("MatrixSolveLs", name, {"matrix": matrix, "rhs": rhs, "fast": fast,
                                         "l2_regularizer": constant(l2_regularizer, dtypes.float64)})


def logdet(matrix, name=None):
    with name_scope(name, "logdet", [matrix]):
        return 2.0 * reduce_sum(apply("Log", None, {"x": matrix_diag_part(cholesky(matrix))}), axis=[-1])


def adjoint(matrix, name=None):
    from .array_ops import matrix_transpose
    return matrix_transpose(matrix, name or "adjoint", conjugate=True)


def slogdet(input, name=None):
    return apply("LogMatrixDeterminant", name, {"input": input})


inv, det, solve, triangular_solve = matrix_inverse, matrix_determinant, matrix_solve, matrix_triangular_solve
band_part, eigh, eigvalsh, lstsq = matrix_band_part, self_adjoint_eig, self_adjoint_eigvals, matrix_solve_ls
diag_part_of_matrix = matrix_diag_part
