"""regularizers — penalties on weights: l1, l2, their sum; applied to variables and activations."""
import numbers

import millrace.nn as nn
from .graph import GraphKeys, add_to_collection, get_collection, name_scope
from .math_ops import add_n, reduce_sum
from .convert import convert_to_tensor


def _none(_):
    return None


def _check(scale, name="scale"):
    if isinstance(scale, numbers.Integral):
        raise ValueError("%s cannot be an integer: %s" % (name, scale))
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError("Setting a %s less than 0 on a regularizer: %g" % (name, scale))
    return isinstance(scale, numbers.Real) and scale == 0.0


def l1_regularizer(scale, scope=None):
    """scale * sum(|w|)."""
    if _check(scale):
        return _none

    def l1(weights, name=None):
        with name_scope(scope, "l1_regularizer", [weights]) as name:
            weights = convert_to_tensor(weights)
            return convert_to_tensor(scale, weights.dtype.base_dtype, name="scale") * reduce_sum(abs(weights))
    return l1


def l2_regularizer(scale, scope=None):
    """scale * sum(w^2) / 2."""
    if _check(scale):
        return _none

    def l2(weights):
        with name_scope(scope, "l2_regularizer", [weights]):
            weights = convert_to_tensor(weights)
            return convert_to_tensor(scale, weights.dtype.base_dtype, name="scale") * nn.l2_loss(weights)
    return l2


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list, scope=None):
    regularizer_list = [r for r in regularizer_list if r is not None]
    if not regularizer_list:
        return None

    def sum_reg(weights):
        with name_scope(scope, "sum_regularizer", [weights]):
            found = [r(weights) for r in regularizer_list]
            found = [f for f in found if f is not None]
            return add_n(found) if found else None
    return sum_reg


def apply_regularization(regularizer, weights_list=None):
    """The sum of the penalties of variables; into the collection of losses."""
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(w) for w in weights_list]
        from .constant import constant
        penalties = [p if p is not None else constant(0.0) for p in penalties]
        for p in penalties:
            if p.shape.ndims != 0:
                raise ValueError("regularizer must return a scalar Tensor instead of a Tensor with rank %s." % p.shape.ndims)
        total = add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
