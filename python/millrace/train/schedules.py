"""schedules — learning rates as functions of the step; moving averages of variables."""
import math

from .. import dtypes, variables
from ..constant import constant
from ..control_flow import cond, case, group
from ..convert import convert_to_tensor
from ..graph import GraphKeys, Tensor, add_to_collection, control_dependencies, get_default_graph, init_scope, name_scope
from ..math_ops import cast, floor, minimum, maximum, pow
from ..ops_apply import apply


def _ratio(learning_rate, global_step, decay_steps):
    rate = convert_to_tensor(learning_rate, name="learning_rate")
    if global_step is None:
        raise ValueError("global_step is required.")
    return rate, cast(global_step, rate.dtype.base_dtype), cast(decay_steps, rate.dtype.base_dtype)


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * decay_rate ^ (global_step / decay_steps)."""
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]) as scope:
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        p = step / steps
        return apply("Mul", scope, {"x": rate, "y": pow(cast(decay_rate, rate.dtype), floor(p) if staircase else p)})


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    with name_scope(name, "NaturalExpDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        p = step / steps
        exponent = apply("Exp", None, {"x": -cast(decay_rate, rate.dtype) * (floor(p) if staircase else p)})
        return apply("Mul", scope, {"x": rate, "y": exponent})


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        p = step / steps
        return apply("RealDiv", scope, {"x": rate, "y": 1 + cast(decay_rate, rate.dtype) * (floor(p) if staircase else p)})


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False,
                     name=None):
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step, decay_steps]) as scope:
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        end, power = cast(end_learning_rate, rate.dtype), cast(power, rate.dtype)
        if cycle:
            from ..array_ops import where
            cycles = where(apply("Equal", None, {"x": step, "y": constant(0, step.dtype)}), constant(1, step.dtype),
                           apply("Ceil", None, {"x": step / steps}))
            steps = steps * cycles
        else:
            step = minimum(step, steps)
        return apply("AddV2", scope, {"x": (rate - end) * pow(1 - step / steps, power), "y": end})


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        part = minimum(step, steps) / steps
        cosine = 0.5 * (1.0 + apply("Cos", None, {"x": constant(math.pi, rate.dtype) * part}))
        return rate * ((1 - alpha) * cosine + alpha)


def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]):
        rate, step, steps = _ratio(learning_rate, global_step, first_decay_steps)
        part = step / steps
        if t_mul == 1.0:
            restart = floor(part)
            part = part - restart
        else:
            log = lambda v: apply("Log", None, {"x": convert_to_tensor(v, rate.dtype)})
            restart = floor(log(1.0 - part * (1.0 - t_mul)) / log(t_mul))
            total = (1.0 - pow(convert_to_tensor(t_mul, rate.dtype), restart)) / (1.0 - t_mul)
            part = (part - total) / pow(convert_to_tensor(t_mul, rate.dtype), restart)
        m = pow(convert_to_tensor(m_mul, rate.dtype), restart)
        cosine = 0.5 * m * (1.0 + apply("Cos", None, {"x": constant(math.pi, rate.dtype) * part}))
        return rate * ((1 - alpha) * cosine + alpha)


def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]):
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        step = minimum(step, steps)
        linear = (steps - step) / steps
        cosine = 0.5 * (1.0 + apply("Cos", None, {"x": math.pi * 2.0 * num_periods * (step / steps)}))
        return rate * ((alpha + linear) * cosine + beta)


def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55,
                              num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]):
        from ..math_ops import sqrt
        from ..random_ops import random_normal
        rate, step, steps = _ratio(learning_rate, global_step, decay_steps)
        step = minimum(step, steps)
        variance = initial_variance / pow(1.0 + step, convert_to_tensor(variance_decay, rate.dtype))
        linear = (steps - step) / steps + random_normal([], stddev=sqrt(variance))
        cosine = 0.5 * (1.0 + apply("Cos", None, {"x": math.pi * 2.0 * num_periods * (step / steps)}))
        return rate * ((alpha + linear) * cosine + beta)


def piecewise_constant(x, boundaries, values, name=None):
    """values[i] for x in (boundaries[i - 1], boundaries[i]]."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x, boundaries, values]):
        x = convert_to_tensor(x)
        boundaries = [cast(convert_to_tensor(b), x.dtype.base_dtype) for b in boundaries]
        values = [convert_to_tensor(v) for v in values]
        if any(v.dtype.base_dtype != values[0].dtype.base_dtype for v in values):
            raise ValueError("Values must have elements all with the same dtype")
        from ..array_ops import where
        result = values[-1]
        for b, v in reversed(list(zip(boundaries, values[:-1]))):
            result = where(x <= b, v, result)
        return result


piecewise_constant_decay = piecewise_constant


# ---------------------------------------- moving averages

def _zero_debias(variable, value, decay):
    from .. import variable_scope
    from ..init_ops import Zeros
    with variable_scope.variable_scope(variable.op.name, values=[variable, value, decay]):
        resource = getattr(variable, "_is_resource", False)
        biased = variable_scope.get_variable("biased", initializer=Zeros(), shape=variable.get_shape(),
                                             dtype=variable.dtype.base_dtype, trainable=False, use_resource=resource)
        local_step = variable_scope.get_variable("local_step", shape=[], dtype=variable.dtype.base_dtype,
                                                 initializer=Zeros(), trainable=False, use_resource=resource)
        moved = variables.assign_sub(biased, (biased - value) * decay)
        counted = variables.assign_add(local_step, constant(1.0, local_step.dtype.base_dtype))
        with control_dependencies([moved.op, counted.op]):
            b, n = biased.read_value(), local_step.read_value()
            return variable - b / (1 - pow(1 - convert_to_tensor(decay, variable.dtype.base_dtype), n))


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """variable -= (1 - decay) * (variable - value)."""
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        dtype = variable.dtype.base_dtype
        with get_default_graph().colocate_with(variable.op):
            rate = convert_to_tensor(1.0, dtype) - convert_to_tensor(decay, dtype) if isinstance(decay, Tensor) else \
                convert_to_tensor(1.0 - decay, dtype, name="decay")
            value = cast(value, dtype)
            delta = _zero_debias(variable, value, rate) if zero_debias else (variable.value() - value) * rate
            return variables.assign_sub(variable, delta, name=scope)


class ExponentialMovingAverage:
    """Running means of variables: `apply(vars)`, `average(var)`, `variables_to_restore()`."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages = {}

    name = property(lambda self: self._name)

    def apply(self, var_list=None):
        """The operation that updates the means; makes their variables."""
        if var_list is None:
            var_list = variables.trainable_variables()
        var_list = list(var_list)
        for var in var_list:
            if var.dtype.base_dtype not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
                raise TypeError("The variables must be half, float, or double: %s" % var.name)
            if id(var) not in self._averages:
                self._averages[id(var)] = var, self._make(var)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                n = cast(self._num_updates, dtypes.float32)
                decay = minimum(decay, (1.0 + n) / (10.0 + n))
            updates = []
            for var in var_list:
                average = self._averages[id(var)][1]
                debias = self._zero_debias and not isinstance(var, variables.Variable)
                updates.append(assign_moving_average(average, var, decay, zero_debias=debias))
            return group(*[u.op for u in updates], name=scope)

    def _make(self, var):
        from .optimizer import _make_slot, create_zeros_slot
        with init_scope():
            if isinstance(var, variables.Variable):
                average = _make_slot(var, var.initial_value, None, None, self._name, True)
                add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
            else:
                average = create_zeros_slot(var, self._name, colocate_with_primary=True)
        return average

    def average(self, var):
        found = self._averages.get(id(var))
        return found[1] if found else None

    def average_name(self, var):
        found = self._averages.get(id(var))
        if found:
            return found[1].op.name
        return get_default_graph().unique_name(var.op.name + "/" + self._name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables=None):
        """{saved name: variable}: those with a mean by the mean's name, all others by their own."""
        if moving_avg_variables is None:
            moving_avg_variables = variables.trainable_variables() + variables.moving_average_variables()
        moving = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(v): v for v in moving}
        taken = {v.op.name for v in moving}
        for v in variables.global_variables():
            if v.op.name not in taken and v.op.name not in names:
                names[v.op.name] = v
        return names
