"""nn — contrib.nn: losses with their arguments the old way round, and alpha dropout."""
from .. import dtypes
from ..array_ops import shape
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..math_ops import cast, floor
from ..nn import (sampled_softmax_loss, sigmoid_cross_entropy_with_logits,  # noqa: F401
                  softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits)
from ..random_ops import random_uniform


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout that leaves mean and variance of self-normalizing networks as they are."""
    with name_scope(name or "alpha_dropout"):
        x = convert_to_tensor(x)
        if isinstance(keep_prob, (int, float)):
            if not 0 < keep_prob <= 1.:
                raise ValueError("keep_prob must be a scalar tensor or a float in the range (0, 1], got %g" % keep_prob)
            if keep_prob == 1:
                return x
        keep_prob = convert_to_tensor(keep_prob, x.dtype)
        noise_shape = noise_shape if noise_shape is not None else shape(x)
        kept = cast(floor(keep_prob + random_uniform(noise_shape, seed=seed, dtype=x.dtype)), dtypes.bool)
        kept = cast(kept, x.dtype)
        alpha = -1.7580993408473766     # what selu tends to
        a = (keep_prob + (1 - keep_prob) * keep_prob * alpha ** 2) ** -0.5
        return a * (x * kept + alpha * (1 - kept)) - a * alpha * (1 - keep_prob)
