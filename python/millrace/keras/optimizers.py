"""optimizers — rules that change variables by gradients, each as the library's own op where it has one."""
import math

import numpy as np

from .. import array_ops, math_ops
from ..convert import convert_to_tensor
from ..graph import init_scope
from ..indexed import IndexedSlices
from ..ops_apply import apply
from ..variables import Variable
from .layer import snake, unique_name


class LearningRateSchedule:
    """Called with the number of steps so far it gives the rate."""

    def get_config(self):
        return {k: v for k, v in self.__dict__.items()}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class ExponentialDecay(LearningRateSchedule):
    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name="ExponentialDecay"):
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def __call__(self, step):
        p = math_ops.cast(step, "float32") / float(self.decay_steps)
        return self.initial_learning_rate * math_ops.pow(convert_to_tensor(float(self.decay_rate)),
                                                         math_ops.floor(p) if self.staircase else p)


class InverseTimeDecay(ExponentialDecay):
    def __call__(self, step):
        p = math_ops.cast(step, "float32") / float(self.decay_steps)
        return self.initial_learning_rate / (1.0 + self.decay_rate * (math_ops.floor(p) if self.staircase else p))


class PolynomialDecay(LearningRateSchedule):
    def __init__(self, initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False,
                 name="PolynomialDecay"):
        self.initial_learning_rate, self.decay_steps, self.end_learning_rate = initial_learning_rate, decay_steps, \
            end_learning_rate
        self.power, self.cycle, self.name = power, cycle, name

    def __call__(self, step):
        step, steps = math_ops.cast(step, "float32"), convert_to_tensor(float(self.decay_steps))
        if self.cycle:
            steps = steps * math_ops.maximum(1.0, math_ops.ceil(step / steps))
        else:
            step = math_ops.minimum(step, steps)
        return (self.initial_learning_rate - self.end_learning_rate) * math_ops.pow(
            1.0 - step / steps, float(self.power)) + self.end_learning_rate


class CosineDecay(LearningRateSchedule):
    def __init__(self, initial_learning_rate, decay_steps, alpha=0.0, name="CosineDecay", warmup_target=None, warmup_steps=0):
        self.initial_learning_rate, self.decay_steps, self.alpha, self.name = initial_learning_rate, decay_steps, alpha, name
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def __call__(self, step):
        step = math_ops.cast(step, "float32")
        top = self.initial_learning_rate if self.warmup_target is None else self.warmup_target
        after = math_ops.minimum(math_ops.maximum(step - float(self.warmup_steps), 0.0), float(self.decay_steps))
        wave = 0.5 * (1.0 + apply("Cos", None, {"x": math.pi * after / float(self.decay_steps)}))
        rate = top * ((1.0 - self.alpha) * wave + self.alpha)
        if self.warmup_target is None or not self.warmup_steps:
            return rate
        rising = self.initial_learning_rate + (top - self.initial_learning_rate) * step / float(self.warmup_steps)
        return array_ops.where_v2(step < float(self.warmup_steps), rising, rate)


class PiecewiseConstantDecay(LearningRateSchedule):
    def __init__(self, boundaries, values, name="PiecewiseConstant"):
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values.")
        self.boundaries, self.values, self.name = list(boundaries), list(values), name

    def __call__(self, step):
        step = math_ops.cast(step, "float32")
        rate = convert_to_tensor(float(self.values[-1]))
        for boundary, value in list(zip(self.boundaries, self.values))[::-1]:
            rate = array_ops.where_v2(step <= float(boundary), float(value), rate)
        return rate


class Optimizer:
    """Changes variables by gradients: apply_gradients([(gradient, variable), ...])."""
    _slots = ()

    def __init__(self, learning_rate=0.001, weight_decay=None, clipnorm=None, clipvalue=None, global_clipnorm=None, name=None,
                 **ignored):
        if sum(c is not None for c in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError("Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set.")
        unknown = set(ignored) - {"use_ema", "ema_momentum", "ema_overwrite_frequency", "loss_scale_factor", "jit_compile",
                                  "gradient_accumulation_steps", "decay"}
        if unknown:
            raise ValueError("Argument(s) not recognized: %s" % ", ".join(sorted(unknown)))
        if any(ignored.get(k) for k in ("use_ema", "gradient_accumulation_steps")):
            raise NotImplementedError("use_ema and gradient_accumulation_steps are not part of these optimizers")
        self.name = name or unique_name(snake(type(self).__name__))
        self.weight_decay, self.clipnorm, self.clipvalue = weight_decay, clipnorm, clipvalue
        self.global_clipnorm = global_clipnorm
        self.built, self._by_variable = False, {}
        self._schedule = learning_rate if isinstance(learning_rate, LearningRateSchedule) or callable(learning_rate) and \
            not isinstance(learning_rate, Variable) else None
        self._no_decay = []
        with init_scope():
            self.iterations = Variable(np.int64(0), trainable=False, name="iteration", dtype="int64")
            self._rate = None if self._schedule is not None else Variable(
                np.float32(float(learning_rate)), trainable=False, name="learning_rate", dtype="float32")

    @property
    def learning_rate(self):
        return self._rate if self._schedule is None else self._current_rate()

    @learning_rate.setter
    def learning_rate(self, value):
        if isinstance(value, LearningRateSchedule):
            self._schedule = value
        elif self._rate is None:
            raise TypeError("This optimizer instance was created with a `LearningRateSchedule` object as its `learning_rate` "
                            "constructor argument, hence its learning rate is not settable.")
        else:
            self._rate.assign(np.float32(float(value)))

    lr = learning_rate

    def _current_rate(self):
        rate = convert_to_tensor(self._rate) if self._schedule is None else self._schedule(self.iterations) \
            if isinstance(self._schedule, LearningRateSchedule) else self._schedule()
        return math_ops.cast(rate, "float32")

    @property
    def variables(self):
        found = [self.iterations] + ([self._rate] if self._rate is not None else [])
        for variable, slots in self._by_variable.values():
            found += list(slots.values())
        return found

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        self._no_decay += [id(v) for v in var_list or ()]
        self._no_decay_names = list(var_names or ())

    def build(self, variables):
        """Makes what the rule keeps for each variable."""
        with init_scope():
            for v in variables:
                if id(v) in self._by_variable:
                    continue
                slots = {name: Variable(self._first(name, v), trainable=False, dtype=v.dtype,
                                        name="%s_%s" % (v.path.replace("/", "_"), name)) for name in self._slots_of(v)}
                self._by_variable[id(v)] = v, slots
        self.built = True

    def _slots_of(self, variable):
        return self._slots

    def _first(self, name, variable):
        return np.zeros(tuple(variable.shape), variable.dtype.as_numpy_dtype)

    def slot(self, variable, name):
        return self._by_variable[id(variable)][1][name]

    def apply(self, grads, trainable_variables=None):
        self.apply_gradients(zip(grads, trainable_variables))

    def minimize(self, loss, var_list, tape=None):
        from ..eager.tape import GradientTape
        if callable(loss):
            with GradientTape() as tape:
                value = loss()
        else:
            value = loss
        self.apply_gradients(zip(tape.gradient(value, var_list), var_list))

    def apply_gradients(self, grads_and_vars, name=None, skip_gradients_aggregation=False, **kwargs):
        pairs = [(g, v) for g, v in grads_and_vars]
        known = [(g, v) for g, v in pairs if g is not None]
        if not known:
            raise ValueError("No gradients provided for any variable.")
        if len(known) < len(pairs):
            import logging
            logging.getLogger("tensorflow").warning("Gradients do not exist for variables %s when minimizing the loss.",
                                                    [v.name for g, v in pairs if g is None])
        self.build([v for _, v in known])
        grads = self._clipped([g for g, _ in known])
        rate = self._current_rate()
        step = math_ops.cast(convert_to_tensor(self.iterations) + 1, "float32")
        for g, (_, v) in zip(grads, known):
            if self.weight_decay and id(v) not in self._no_decay:
                v.assign_sub(v * math_ops.cast(rate * self.weight_decay, v.dtype))
            self._update(g, v, math_ops.cast(rate, v.dtype), math_ops.cast(step, v.dtype))
            if getattr(v, "constraint_function", None) is not None:
                v.assign(v.constraint_function(convert_to_tensor(v)))
        self.iterations.assign_add(np.int64(1))
        return self.iterations

    def _clipped(self, grads):
        if self.clipnorm is None and self.clipvalue is None and self.global_clipnorm is None:
            return grads
        grads = [convert_to_tensor(g) for g in grads]
        if self.clipvalue is not None:
            return [math_ops.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in grads]
        if self.clipnorm is not None:
            return [math_ops.clip_by_norm(g, self.clipnorm) for g in grads]
        return math_ops.clip_by_global_norm(grads, self.global_clipnorm)[0]

    def get_config(self):
        config = {"name": self.name, "learning_rate": float(self._rate) if self._schedule is None else
                  {"class_name": type(self._schedule).__name__, "config": self._schedule.get_config()},
                  "weight_decay": self.weight_decay, "clipnorm": self.clipnorm, "clipvalue": self.clipvalue,
                  "global_clipnorm": self.global_clipnorm}
        import inspect
        for name in inspect.signature(type(self).__init__).parameters:
            if name not in config and hasattr(self, name) and name not in ("self", "kwargs"):
                config[name] = getattr(self, name)
        return config

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config["learning_rate"] = globals()[rate["class_name"]].from_config(rate["config"])
        return cls(**config)


def _handle(v):
    return v.handle


class SGD(Optimizer):
    """variable -= rate * gradient, with momentum where asked for."""

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, **kwargs):
        super().__init__(learning_rate, **kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self.momentum, self.nesterov = momentum, nesterov

    def _slots_of(self, variable):
        return ("momentum",) if self.momentum else ()

    def _update(self, g, v, rate, step):
        if not self.momentum:
            if isinstance(g, IndexedSlices):
                apply("ResourceScatterSub", None, {"resource": _handle(v), "indices": g.indices, "updates": g.values * rate})
            else:
                apply("ResourceApplyGradientDescent", None, {"var": _handle(v), "alpha": rate, "delta": g})
            return
        apply("ResourceApplyKerasMomentum", None, {
            "var": _handle(v), "accum": _handle(self.slot(v, "momentum")), "lr": rate, "grad": convert_to_tensor(g),
            "momentum": math_ops.cast(self.momentum, v.dtype), "use_nesterov": self.nesterov})


class Adam(Optimizer):
    _slots = ("momentum", "velocity")

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def _slots_of(self, variable):
        return self._slots + (("velocity_hat",) if self.amsgrad else ())

    def _update(self, g, v, rate, step):
        g, b1, b2 = convert_to_tensor(g), convert_to_tensor(self.beta_1, v.dtype), convert_to_tensor(self.beta_2, v.dtype)
        powers = math_ops.pow(b1, step), math_ops.pow(b2, step)
        m, u = self.slot(v, "momentum"), self.slot(v, "velocity")
        if not self.amsgrad:
            apply("ResourceApplyAdam", None, {
                "var": _handle(v), "m": _handle(m), "v": _handle(u), "beta1_power": powers[0], "beta2_power": powers[1],
                "lr": rate, "beta1": b1, "beta2": b2, "epsilon": convert_to_tensor(self.epsilon, v.dtype), "grad": g})
            return
        alpha = rate * math_ops.sqrt(1.0 - powers[1]) / (1.0 - powers[0])
        m.assign_add((g - m) * (1.0 - b1))
        u.assign_add((math_ops.square(g) - u) * (1.0 - b2))
        top = self.slot(v, "velocity_hat")
        top.assign(math_ops.maximum(convert_to_tensor(top), convert_to_tensor(u)))
        v.assign_sub(m * alpha / (math_ops.sqrt(convert_to_tensor(top)) + self.epsilon))


class AdamW(Adam):
    def __init__(self, learning_rate=0.001, weight_decay=0.004, **kwargs):
        super().__init__(learning_rate, weight_decay=weight_decay, **kwargs)


class Nadam(Optimizer):
    _slots = ("momentum", "velocity")

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self._product = None

    def build(self, variables):
        super().build(variables)
        if self._product is None:
            with init_scope():
                self._product = Variable(np.float32(1.0), trainable=False, name="u_product")

    def apply_gradients(self, grads_and_vars, **kwargs):
        pairs = list(grads_and_vars)
        self.build([v for g, v in pairs if g is not None])
        step = math_ops.cast(convert_to_tensor(self.iterations) + 1, "float32")
        self._u = self.beta_1 * (1.0 - 0.5 * math_ops.pow(convert_to_tensor(0.96), step))
        self._u_next = self.beta_1 * (1.0 - 0.5 * math_ops.pow(convert_to_tensor(0.96), step + 1.0))
        self._product.assign(self._product * self._u)
        return super().apply_gradients(pairs, **kwargs)

    def _update(self, g, v, rate, step):
        g, m, u = convert_to_tensor(g), self.slot(v, "momentum"), self.slot(v, "velocity")
        product = convert_to_tensor(self._product)
        m.assign_add((g - m) * (1.0 - self.beta_1))
        u.assign_add((math_ops.square(g) - u) * (1.0 - self.beta_2))
        mean = self._u_next * m / (1.0 - product * self._u_next) + (1.0 - self._u) * g / (1.0 - product)
        deviation = u / (1.0 - math_ops.pow(convert_to_tensor(self.beta_2, v.dtype), step))
        v.assign_sub(mean * rate / (math_ops.sqrt(deviation) + self.epsilon))


class Adamax(Optimizer):
    _slots = ("m", "u")

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def _update(self, g, v, rate, step):
        g, m, u = convert_to_tensor(g), self.slot(v, "m"), self.slot(v, "u")
        m.assign_add((g - m) * (1.0 - self.beta_1))
        u.assign(math_ops.maximum(self.beta_2 * u, math_ops.abs(g)))
        power = math_ops.pow(convert_to_tensor(self.beta_1, v.dtype), step)
        v.assign_sub(rate * m / ((1.0 - power) * (u + self.epsilon)))


class RMSprop(Optimizer):
    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def _slots_of(self, variable):
        return ("velocity",) + (("momentum",) if self.momentum else ()) + (("average_gradient",) if self.centered else ())

    def _update(self, g, v, rate, step):
        g, u = convert_to_tensor(g), self.slot(v, "velocity")
        u.assign(self.rho * u + (1.0 - self.rho) * math_ops.square(g))
        size = convert_to_tensor(u)
        if self.centered:
            mean = self.slot(v, "average_gradient")
            mean.assign(self.rho * mean + (1.0 - self.rho) * g)
            size = size - math_ops.square(mean)
        change = rate * g * math_ops.rsqrt(size + self.epsilon)
        if self.momentum:
            m = self.slot(v, "momentum")
            m.assign(self.momentum * m + change)
            change = m
        v.assign_sub(change)


class Adagrad(Optimizer):
    _slots = ("accumulator",)

    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def _first(self, name, variable):
        return np.full(tuple(variable.shape), self.initial_accumulator_value, variable.dtype.as_numpy_dtype)

    def _update(self, g, v, rate, step):
        g, a = convert_to_tensor(g), self.slot(v, "accumulator")
        a.assign_add(math_ops.square(g))
        v.assign_sub(rate * g / math_ops.sqrt(a + self.epsilon))


class Adadelta(Optimizer):
    _slots = ("accumulated_grad", "accumulated_delta_var")

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def _update(self, g, v, rate, step):
        g, a, d = convert_to_tensor(g), self.slot(v, "accumulated_grad"), self.slot(v, "accumulated_delta_var")
        a.assign(self.rho * a + (1.0 - self.rho) * math_ops.square(g))
        change = -math_ops.sqrt(d + self.epsilon) * g / math_ops.sqrt(a + self.epsilon)
        d.assign(self.rho * d + (1.0 - self.rho) * math_ops.square(change))
        v.assign_add(rate * change)


class Ftrl(Optimizer):
    _slots = ("accumulator", "linear")

    def __init__(self, learning_rate=0.001, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, l2_shrinkage_regularization_strength=0.0,
                 beta=0.0, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.learning_rate_power, self.initial_accumulator_value = learning_rate_power, initial_accumulator_value
        self.l1_regularization_strength, self.l2_regularization_strength = l1_regularization_strength, \
            l2_regularization_strength
        self.l2_shrinkage_regularization_strength, self.beta = l2_shrinkage_regularization_strength, beta

    def _first(self, name, variable):
        value = self.initial_accumulator_value if name == "accumulator" else 0.0
        return np.full(tuple(variable.shape), value, variable.dtype.as_numpy_dtype)

    def _update(self, g, v, rate, step):
        one = lambda x: convert_to_tensor(x, v.dtype)
        apply("ResourceApplyFtrlV2", None, {
            "var": _handle(v), "accum": _handle(self.slot(v, "accumulator")), "linear": _handle(self.slot(v, "linear")),
            "grad": convert_to_tensor(g), "lr": rate, "l1": one(self.l1_regularization_strength),
            "l2": one(self.l2_regularization_strength) + self.beta / (2.0 * rate),
            "l2_shrinkage": one(self.l2_shrinkage_regularization_strength), "lr_power": one(self.learning_rate_power)})


class Lion(Optimizer):
    _slots = ("momentum",)

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.99, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def _update(self, g, v, rate, step):
        g, m = convert_to_tensor(g), self.slot(v, "momentum")
        v.assign_sub(rate * math_ops.sign(m * self.beta_1 + g * (1.0 - self.beta_1)))
        m.assign(m * self.beta_2 + g * (1.0 - self.beta_2))


class schedules:
    """The rates that change with the step, by their Keras names."""
    LearningRateSchedule, ExponentialDecay, InverseTimeDecay = LearningRateSchedule, ExponentialDecay, InverseTimeDecay
    PolynomialDecay, CosineDecay, PiecewiseConstantDecay = PolynomialDecay, CosineDecay, PiecewiseConstantDecay


_CLASSES = (SGD, Adam, AdamW, Nadam, Adamax, RMSprop, Adagrad, Adadelta, Ftrl, Lion)
_BY_NAME = {c.__name__.lower(): c for c in _CLASSES}


def get(identifier):
    """An optimizer from its name, its configuration, or itself."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"].lower()].from_config(identifier.get("config", {}))
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    raise ValueError("Could not interpret optimizer identifier: %s" % (identifier,))


def serialize(optimizer):
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}
