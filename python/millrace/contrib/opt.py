"""opt — contrib.opt: optimizers beyond those of tf.train."""
from .. import variables
import millrace.logging as logging
from ..control_flow import group
from ..convert import convert_to_tensor
from ..gradients import gradients
from ..graph import Tensor, control_dependencies
from ..indexed import IndexedSlices
from ..train.optimizer import AdamOptimizer, MomentumOptimizer, Optimizer
from ..train.schedules import ExponentialMovingAverage


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves the means of rows alone that have no gradient."""

    def _apply_sparse(self, grad, var):
        return self._lazy(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._lazy(grad, indices, handle)

    def _lazy(self, grad, indices, var):
        from ..array_ops import gather
        from ..math_ops import cast, sqrt, square
        kind = var.dtype.base_dtype
        given = {key: cast(t, kind) for key, t in self._tensors.items()}
        lr, beta1, beta2, epsilon = given["lr"], given["beta1"], given["beta2"], given["epsilon"]
        powers = self._get_beta_accumulators()
        rate = lr * sqrt(1 - cast(powers[1], kind)) / (1 - cast(powers[0], kind))
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * gather(m.value(), indices) + (1 - beta1) * grad
        v_rows = beta2 * gather(v.value(), indices) + (1 - beta2) * square(grad)
        ops = [variables.scatter_update(m, indices, m_rows), variables.scatter_update(v, indices, v_rows),
               variables.scatter_sub(var, indices, rate * m_rows / (sqrt(v_rows) + epsilon))]
        return group(*[o.op if isinstance(o, Tensor) else o for o in ops])


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum."""

    def _extra(self, values, sparse):
        values = super()._extra(values, sparse)
        values["use_nesterov"] = True
        return values


class MovingAverageOptimizer(Optimizer):
    """Another optimizer, and moving averages of the variables that it changes."""

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        super().__init__(False, "MovingAverage")
        self._optimizer, self._sequential_update = opt, sequential_update
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped_variable_name_map = None

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        train_op = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        changed = [v for g, v in pairs if g is not None]
        with control_dependencies([train_op] if self._sequential_update else []):
            averages = self._ema.apply(changed)
        self._swapped_variable_name_map = {v.op.name: self._ema.average(v).op.name for v in changed}
        return group(train_op, averages, name="train_with_avg")

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """A saver that writes averages under the variables' names."""
        from ..train.saver import Saver
        if self._swapped_variable_name_map is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        found = {v.op.name: v for v in var_list or variables.global_variables()}
        swapped = dict(found)
        for one, average in self._swapped_variable_name_map.items():
            if one in found and average in found:
                swapped[one], swapped[average] = found[average], found[one]
        return Saver(swapped, name=name, **kwargs)


class DecoupledWeightDecayExtension:
    """A mixin that takes a part of each variable off before its update."""

    def __init__(self, weight_decay, **kwargs):
        self._decay_var_list, self._weight_decay = None, weight_decay
        super().__init__(**kwargs)

    def minimize(self, loss, global_step=None, var_list=None, *args, decay_var_list=None, **kwargs):
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(loss, global_step, var_list, *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        if decay_var_list is not None:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _update(self, grad, var):
        if self._decay_var_list is not None and var not in self._decay_var_list:
            return super()._update(grad, var)
        from ..math_ops import cast
        decay = cast(convert_to_tensor(self._call_if_callable(self._weight_decay)), var.dtype.base_dtype)
        if isinstance(grad, IndexedSlices):
            from ..array_ops import gather
            less = variables.scatter_sub(var, grad.indices, decay * gather(var.value(), grad.indices))
        else:
            less = var.assign_sub(decay * var.value())
        with control_dependencies([less.op if isinstance(less, Tensor) else less]):
            return super()._update(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer):
    """A class of that optimizer whose first argument is the weight decay."""
    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay, *args, **kwargs):
            self._decay_var_list, self._weight_decay = None, weight_decay
            base_optimizer.__init__(self, *args, **kwargs)
    return OptimizerWithDecoupledWeightDecay


AdamWOptimizer = extend_with_decoupled_weight_decay(AdamOptimizer)
MomentumWOptimizer = extend_with_decoupled_weight_decay(MomentumOptimizer)


class AdaMaxOptimizer(AdamOptimizer):
    """Adam by the infinity norm."""
    op, sparse_op = "ApplyAdaMax", None

    def _values(self, var, sparse):
        values = super()._values(var, sparse)
        values.pop("beta2_power", None)
        return values


class LARSOptimizer(MomentumOptimizer):
    """Momentum with a rate for each variable: the norm of its weights over that of its gradient."""

    def __init__(self, learning_rate, momentum=0.9, weight_decay=0.0001, eeta=0.001, epsilon=0.0, name="LARSOptimizer",
                 skip_list=None, use_nesterov=False):
        super().__init__(learning_rate, momentum, use_locking=False, name=name, use_nesterov=use_nesterov)
        self._weight_decay, self._eeta, self._lars_epsilon, self._skip_list = weight_decay, eeta, epsilon, skip_list

    def compute_lr(self, grad, var):
        return grad, None

    def _update(self, grad, var):
        if self._skip_list is None or not any(s in var.name for s in self._skip_list):
            from ..array_ops import where
            from ..constant import constant
            from ..math_ops import norm
            w, g = norm(var.value(), ord=2), norm(convert_to_tensor(grad), ord=2)
            one = constant(1.0, w.dtype)
            trust = where(w > 0, where(g > 0, self._eeta * w / (g + self._weight_decay * w + self._lars_epsilon), one), one)
            grad = (convert_to_tensor(grad) + self._weight_decay * var.value()) * trust
        return super()._update(grad, var)


class ExternalOptimizerInterface:
    """A minimizer from outside over the variables of a session."""

    def __init__(self, loss, var_list=None, equalities=None, inequalities=None, var_to_bounds=None, **optimizer_kwargs):
        self._loss, self._equalities, self._inequalities = loss, equalities or [], inequalities or []
        self._vars = variables.trainable_variables() if var_list is None else list(var_list)
        self._bounds = var_to_bounds
        self.optimizer_kwargs = optimizer_kwargs
        self._gradients = [_filled(g, v) for g, v in zip(gradients(loss, self._vars), self._vars)]

    def _split(self, vector):
        parts, at = [], 0
        for v in self._vars:
            shape = v.get_shape().as_list()
            n = 1
            for d in shape:
                n *= d
            parts.append(vector[at:at + n].reshape(shape).astype(v.dtype.as_numpy_dtype))
            at += n
        return parts

    def minimize(self, session=None, feed_dict=None, fetches=None, step_callback=None, loss_callback=None, **run_kwargs):
        """Changes the variables so that the loss is least."""
        import numpy as np
        from ..session import get_default_session
        session, feed_dict, fetches = session or get_default_session(), feed_dict or {}, fetches or []
        values = [v.value() if hasattr(v, "value") else v for v in self._vars]

        def value_and_gradient(x):
            feeds = dict(feed_dict, **dict(zip(values, self._split(x))))
            found = session.run([self._loss, self._gradients, list(fetches)], feeds)
            if loss_callback is not None:
                loss_callback(*found[2])
            return np.float64(found[0]), np.concatenate([np.ravel(g) for g in found[1]]).astype(np.float64)
        first = np.concatenate([np.ravel(v) for v in session.run(self._vars)]).astype(np.float64)
        last = self._minimize(value_and_gradient, first, step_callback)
        for var, part in zip(self._vars, self._split(last)):
            var.load(part, session)


def _filled(grad, var):
    from ..array_ops import zeros_like
    return zeros_like(var.value()) if grad is None else convert_to_tensor(grad)


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """scipy.optimize.minimize; SciPy is asked for when it runs."""
    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, value_and_gradient, first, step_callback):
        import numpy as np
        import scipy.optimize
        if self._equalities or self._inequalities:
            raise NotImplementedError("ScipyOptimizerInterface with constraints is not part of Millrace")
        given = dict(self.optimizer_kwargs)
        method = given.pop("method", self._DEFAULT_METHOD)
        bounds = None
        if self._bounds:
            bounds = []
            for v in self._vars:
                low, high = self._bounds.get(v, (-np.inf, np.inf))
                low = np.broadcast_to(low, v.get_shape().as_list()).ravel()
                high = np.broadcast_to(high, v.get_shape().as_list()).ravel()
                bounds += list(zip(low, high))
        result = scipy.optimize.minimize(value_and_gradient, first, jac=True, method=method, bounds=bounds,
                                         callback=step_callback, **given)
        logging.info("Optimization terminated with: %s", result.message)
        return result.x
