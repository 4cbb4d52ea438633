# compare — how far two answers are apart: exactly equal for whole numbers, booleans and strings, by dtype for the rest.
import numpy as np

TOLERANCE = {"float32": 1e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 2e-5, "complex128": 1e-11}


def difference(found, expected):
    """(error, what is wrong): the largest error relative to the expected value (or a hundredth of the largest one)."""
    if found.dtype != expected.dtype:
        return np.inf, "dtype %s instead of %s" % (found.dtype, expected.dtype)
    if found.shape != expected.shape:
        return np.inf, "shape %s instead of %s" % (list(found.shape), list(expected.shape))
    if str(expected.dtype) not in TOLERANCE:
        wrong = int(np.sum(found != expected)) if expected.size else 0
        return (np.inf, "%d of %d differ: %s instead of %s" % (wrong, expected.size, first(found, expected, found != expected),
                                                               first(expected, found, found != expected))) if wrong else (0.0, "")
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    a, b = found.astype(wide).reshape(-1), expected.astype(wide).reshape(-1)
    if not b.size:
        return 0.0, ""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.all(same | finite):
        bad = ~(same | finite)
        at = int(np.argmax(bad))
        return np.inf, "%s instead of %s at %d" % (a[at], b[at], at)
    size = np.abs(b[np.isfinite(b)])
    floor = max(float(size.max()) * 1e-2 if size.size else 0.0, 1e-30)
    with np.errstate(all="ignore"):
        error = np.where(same, 0.0, np.abs(a - b) / np.maximum(np.abs(b), floor))
    at = int(np.argmax(error))
    return float(error[at]), "%s instead of %s at %d" % (a[at], b[at], at) if error[at] else ""


def first(a, b, wrong):
    return np.asarray(a).reshape(-1)[np.asarray(wrong).reshape(-1)][0]


def tolerance(dtype, given):
    return given if given is not None else TOLERANCE.get(str(dtype), 0.0)
