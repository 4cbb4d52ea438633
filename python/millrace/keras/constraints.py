"""constraints — what weights are brought back to after each step of an optimizer."""
from .. import math_ops
from ..convert import convert_to_tensor


class Constraint:
    def __call__(self, w):
        return w

    def get_config(self):
        return dict(self.__dict__)


class NonNeg(Constraint):
    def __call__(self, w):
        w = convert_to_tensor(w)
        return w * math_ops.cast(w >= 0.0, w.dtype)


def _norms(w, axis):
    return math_ops.sqrt(math_ops.reduce_sum(math_ops.square(w), axis, True))


class MaxNorm(Constraint):
    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        return w * (math_ops.clip_by_value(norms, 0.0, float(self.max_value)) / (1e-7 + norms))


class UnitNorm(Constraint):
    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        return w / (1e-7 + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        wanted = self.rate * math_ops.clip_by_value(norms, float(self.min_value), float(self.max_value)) + \
            (1 - self.rate) * norms
        return w * (wanted / (1e-7 + norms))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_BY_NAME = {"max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm,
            "MaxNorm": MaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm, "MinMaxNorm": MinMaxNorm}


def get(identifier):
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"]](**identifier.get("config", {}))
    if identifier in _BY_NAME:
        return _BY_NAME[identifier]()
    raise ValueError("Could not interpret constraint identifier: %s" % (identifier,))


def serialize(constraint):
    return None if constraint is None else {"class_name": type(constraint).__name__, "config": constraint.get_config()}
