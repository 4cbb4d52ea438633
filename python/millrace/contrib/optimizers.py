"""optimizers — contrib.layers.optimize_loss: a loss's training step with decay, clipping, noise and summaries."""
from .. import dtypes, init_ops, variable_scope as vs
import millrace.summary as summary
from ..control_flow import with_dependencies
from ..convert import convert_to_tensor
from ..graph import GraphKeys, Tensor, get_collection
from ..indexed import IndexedSlices
from ..math_ops import clip_by_global_norm, global_norm
from ..train import optimizer as opt
from ..train.steps import assert_global_step, get_global_step
from ..variables import trainable_variables

OPTIMIZER_CLS_NAMES = {
    "Adagrad": opt.AdagradOptimizer, "Adam": opt.AdamOptimizer, "Ftrl": opt.FtrlOptimizer,
    "Momentum": lambda learning_rate: opt.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": opt.RMSPropOptimizer, "SGD": opt.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


def optimize_loss(loss, global_step, learning_rate, optimizer, gradient_noise_scale=None, gradient_multipliers=None,
                  clip_gradients=None, learning_rate_decay_fn=None, update_ops=None, variables=None, name=None,
                  summaries=None, colocate_gradients_with_ops=False, increment_global_step=True):
    """The loss, as a tensor that takes a training step when it is computed."""
    loss = convert_to_tensor(loss)
    loss.shape.with_rank(0)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with vs.variable_scope(name, "OptimizeLoss", [loss]):
        updates = list(set(get_collection(GraphKeys.UPDATE_OPS)) if update_ops is None else update_ops)
        if updates:
            loss = with_dependencies([u.op if isinstance(u, Tensor) else u for u in updates], loss)
        rate = _rate(learning_rate, learning_rate_decay_fn, global_step, summaries or ())
        chosen = _optimizer(optimizer, rate)
        variables = trainable_variables() if variables is None else variables
        pairs = chosen.compute_gradients(loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_noise_scale is not None:
            pairs = _with_noise(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        wanted = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else summaries
        if "global_gradient_norm" in wanted:
            summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs if g is not None]))
        if isinstance(clip_gradients, float):
            grads, owners = zip(*pairs)
            pairs = list(zip(clip_by_global_norm(list(grads), clip_gradients)[0], owners))
        elif callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            raise ValueError("Unknown type %s for clip_gradients" % type(clip_gradients))
        if "loss" in wanted:
            summary.scalar("loss", loss)
        step = chosen.apply_gradients(pairs, global_step=global_step if increment_global_step else None, name="train")
        return with_dependencies([step], loss)


def _rate(learning_rate, decay, global_step, summaries):
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor) and learning_rate.shape.ndims == 0:
        rate = learning_rate
    elif isinstance(learning_rate, float):
        if learning_rate < 0.0:
            raise ValueError("Invalid learning_rate %s." % learning_rate)
        rate = vs.get_variable("learning_rate", [], trainable=False, dtype=dtypes.float32,
                               initializer=init_ops.constant_initializer(learning_rate))
    else:
        raise ValueError("Learning rate should be 0d Tensor or float. Got %s of type %s" % (
            learning_rate, type(learning_rate)))
    if decay is not None:
        if global_step is None:
            raise ValueError("global_step is required for learning_rate_decay_fn.")
        rate = decay(rate, global_step)
    if "learning_rate" in summaries:
        summary.scalar("learning_rate", rate)
    return rate


def _optimizer(optimizer, rate):
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError("Optimizer name should be one of [%s], you provided %s." % (
                ", ".join(OPTIMIZER_CLS_NAMES), optimizer))
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, type) and issubclass(optimizer, opt.Optimizer):
        if rate is None:
            raise ValueError("Learning rate is None, but should be specified if optimizer is class (%s)." % optimizer)
        return optimizer(learning_rate=rate)
    if isinstance(optimizer, opt.Optimizer):
        return optimizer
    if callable(optimizer):
        return optimizer(rate) if rate is not None else optimizer()
    raise ValueError("Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer "
                     "or function with one argument. Got %s." % (optimizer,))


def _dense(grad):
    return grad.values if isinstance(grad, IndexedSlices) else grad


def _with_noise(pairs, scale):
    from ..random_ops import truncated_normal
    from ..array_ops import shape
    out = []
    for grad, var in pairs:
        out.append((None if grad is None else convert_to_tensor(grad) + truncated_normal(shape(_dense(convert_to_tensor(
            grad)))) * scale, var))
    return out


def _multiplied(pairs, multipliers):
    if not isinstance(multipliers, dict):
        raise ValueError("gradient_multipliers must be a dict")
    out = []
    for grad, var in pairs:
        factor = multipliers.get(var, multipliers.get(var.name))
        if grad is not None and factor is not None:
            if isinstance(grad, IndexedSlices):
                grad = IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
            else:
                grad = grad * factor
        out.append((grad, var))
    return out


def adaptive_clipping_fn(std_factor=2.0, decay=0.95, static_max_norm=None, global_step=None, report_summary=False,
                         epsilon=1e-8, name=None):
    raise NotImplementedError("tf.contrib.layers.adaptive_clipping_fn is not part of Millrace")

