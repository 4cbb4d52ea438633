"""regularizers — penalties on weights, added to the loss."""
from .. import math_ops
from ..convert import convert_to_tensor


class Regularizer:
    """Called with a tensor it gives a scalar that is added to the loss."""

    def __call__(self, x):
        return 0.0

    def get_config(self):
        return dict(self.__dict__)


class L1L2(Regularizer):
    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = float(l1 or 0.0), float(l2 or 0.0)

    def __call__(self, x):
        x = convert_to_tensor(x)
        total = 0.0
        if self.l1:
            total = total + self.l1 * math_ops.reduce_sum(math_ops.abs(x))
        if self.l2:
            total = total + self.l2 * math_ops.reduce_sum(math_ops.square(x))
        return total


class L1(Regularizer):
    def __init__(self, l1=0.01):
        self.l1 = float(l1)

    def __call__(self, x):
        return self.l1 * math_ops.reduce_sum(math_ops.abs(convert_to_tensor(x)))


class L2(Regularizer):
    def __init__(self, l2=0.01):
        self.l2 = float(l2)

    def __call__(self, x):
        return self.l2 * math_ops.reduce_sum(math_ops.square(convert_to_tensor(x)))


l1, l2, l1_l2 = L1, L2, L1L2
_BY_NAME = {"l1": L1, "l2": L2, "l1_l2": L1L2, "L1": L1, "L2": L2, "L1L2": L1L2}


def get(identifier):
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"]](**identifier.get("config", {}))
    if identifier in _BY_NAME:
        return _BY_NAME[identifier]()
    raise ValueError("Could not interpret regularizer identifier: %s" % (identifier,))


def serialize(regularizer):
    return None if regularizer is None else {"class_name": type(regularizer).__name__, "config": regularizer.get_config()}
