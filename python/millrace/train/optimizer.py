"""optimizer — Optimizer: gradients into operations that change variables; slots; the optimizers of tf.train."""
from .. import dtypes, variable_scope, variables
from ..constant import constant
from ..control_flow import group
from ..convert import convert_to_tensor
from ..gradients import gradients
from ..graph import GraphKeys, Tensor, control_dependencies, get_default_graph, init_scope, name_scope
from ..indexed import IndexedSlices
from ..ops_apply import apply

GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2


# ---------------------------------------- slots

def _create_slot_var(primary, val, scope, validate_shape, shape, dtype):
    use_resource = getattr(primary, "_is_resource", False)
    slot = variable_scope.get_variable(scope, initializer=val, trainable=False, use_resource=use_resource, shape=shape,
                                       dtype=dtype, validate_shape=validate_shape, partitioner=None,
                                       custom_getter=_plain_getter)
    info = getattr(primary, "_save_slice_info", None)
    if info is not None:
        real = slot.name.split("/part_")[0] if "/part_" in slot.name else slot.op.name
        slot._set_save_slice_info(variables.Variable.SaveSliceInfo(
            info.full_name + "/" + real.rsplit("/", 1)[-1] if info.full_name else real, info.full_shape,
            info.var_offset, info.var_shape))
    return slot


def _plain_getter(getter, *args, **kwargs):
    return getter(*args, **kwargs)


def create_slot(primary, val, name, colocate_with_primary=True):
    """A variable beside another, with that first value."""
    return _make_slot(primary, val, None, None, name, True, colocate_with_primary)


def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
    from ..init_ops import Zeros
    return _make_slot(primary, Zeros(), primary.shape, dtype or primary.dtype.base_dtype, name, True,
                      colocate_with_primary)


def _make_slot(primary, initializer, shape, dtype, name, validate_shape, colocate=True):
    store = variable_scope._get_default_variable_store()
    graph = get_default_graph()
    base = primary.op.name + "/" + name
    taken, unique, i = store._vars, base, 1
    while unique in taken:
        unique, i = "%s_%d" % (base, i), i + 1
    scope = variable_scope.get_variable_scope()
    saved = scope._name, scope._reuse, scope._custom_getter, scope._partitioner, scope._regularizer
    scope._name, scope._reuse, scope._custom_getter, scope._partitioner, scope._regularizer = "", False, None, None, None
    try:
        with graph.colocate_with(primary.op) if colocate else _Nothing(), name_scope(None):
            return _create_slot_var(primary, initializer, unique, validate_shape, shape, dtype)
    finally:
        scope._name, scope._reuse, scope._custom_getter, scope._partitioner, scope._regularizer = saved


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


# ---------------------------------------- the base

def _var_key(var):
    return var.graph, var.op.name


class Optimizer:
    """Changes variables so that a loss gets smaller: `minimize`, or `compute_gradients` and `apply_gradients`.

    Subclasses give `_apply_dense(grad, var)` and `_apply_sparse(grad, var)`, and slots in `_create_slots(var_list)`.
    """
    GATE_NONE, GATE_OP, GATE_GRAPH = GATE_NONE, GATE_OP, GATE_GRAPH
    # A slot of its own makes this the `__base__` of those below, which programs ask for: see _Fused.
    __slots__ = ("__dict__", "__weakref__", "_marked")

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots, self._non_slot_dict = {}, {}
        self._deferred_slot_restorations = {}

    def get_name(self):
        return self._name

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None):
        """The operation that takes one step. ValueError where no variable has a gradient."""
        pairs = self.compute_gradients(loss, var_list=var_list, gate_gradients=gate_gradients,
                                       aggregation_method=aggregation_method,
                                       colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss)
        with_gradient = [v for g, v in pairs if g is not None]
        if not with_gradient:
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support "
                             "gradients, between variables %s and loss %s." % ([str(v) for _, v in pairs], loss))
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None):
        """[(gradient or None, variable)]."""
        if gate_gradients not in (GATE_NONE, GATE_OP, GATE_GRAPH):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                             "Optimizer.GATE_GRAPH.  Not %s" % gate_gradients)
        if callable(loss) and not isinstance(loss, Tensor):
            loss = loss()
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            var_list = variables.trainable_variables() + get_default_graph().get_collection(
                GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            from .. import nest
            var_list = nest.flatten(var_list)
        var_list = list(var_list)
        expanded = []
        for v in var_list:
            expanded += list(v) if isinstance(v, variables.PartitionedVariable) else [v]
        expanded += get_default_graph().get_collection("_STREAMING_MODEL_PORTS")
        if not expanded:
            raise ValueError("No variables to optimize.")
        grads = gradients(loss, expanded, grad_ys=grad_loss, aggregation_method=aggregation_method,
                          colocate_gradients_with_ops=colocate_gradients_with_ops)
        pairs = list(zip(grads, expanded))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != dtypes.resource])
        return pairs

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The operation that applies [(gradient, variable)]."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        converted = []
        for g, v in pairs:
            if g is not None and not isinstance(g, IndexedSlices):
                try:
                    g = convert_to_tensor(g)
                except TypeError:
                    raise TypeError("Gradient must be convertible to a Tensor or IndexedSlices, or None: %s" % g) from None
            converted.append((g, v))
        var_list = [v for g, v in converted if g is not None]
        if not var_list:
            raise ValueError("No gradients provided for any variable: %s." % ([str(v) for _, v in converted],))
        with init_scope():
            self._create_slots(var_list)
        updates = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, var in converted:
                if grad is None:
                    continue
                with name_scope("update_" + var.op.name), get_default_graph().colocate_with(var.op):
                    updates.append(self._update(grad, var))
            if global_step is None:
                done = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]):
                    with get_default_graph().colocate_with(global_step.op):
                        done = variables.assign_add(global_step, constant(1, global_step.dtype.base_dtype), name=scope)
                        if getattr(global_step, "_is_resource", False):
                            done = done.op
            graph = get_default_graph()
            train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            done = done.op if isinstance(done, Tensor) else done
            if done not in train_ops:
                train_ops.append(done)
            return done

    def _update(self, grad, var):
        resource = getattr(var, "_is_resource", False)
        if isinstance(grad, IndexedSlices):
            if resource:
                return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
            op = self._apply_sparse_duplicate_indices(grad, var)
        elif resource:
            op = self._resource_apply_dense(grad, var)
        else:
            op = self._apply_dense(grad, var)
        if var.constraint is not None:
            with control_dependencies([op]):
                return var.assign(var.constraint(var.value() if not resource else var.read_value())).op
        return op.op if isinstance(op, Tensor) else op

    # ---- slots

    def get_slot(self, var, name):
        """The variable that this optimizer keeps beside another, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self):
        return sorted(self._slots)

    def variables(self):
        """All variables that the optimizer keeps."""
        graph = get_default_graph()
        found = [v for v in self._non_slot_dict.values() if v.graph is graph]
        found += [v for slots in self._slots.values() for v in slots.values() if v.graph is graph]
        return sorted(found, key=lambda v: v.name)

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        slots = self._slot_dict(slot_name)
        if _var_key(var) not in slots:
            slots[_var_key(var)] = _make_slot(var, val, None, None, op_name, True)
        return slots[_var_key(var)]

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        slots = self._slot_dict(slot_name)
        if _var_key(var) not in slots:
            slots[_var_key(var)] = _make_slot(var, initializer, shape, dtype, op_name, True)
        return slots[_var_key(var)]

    def _zeros_slot(self, var, slot_name, op_name):
        from ..init_ops import Zeros
        return self._get_or_make_slot_with_initializer(var, Zeros(), var.shape, var.dtype.base_dtype, slot_name, op_name)

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        key = name, colocate_with.graph
        if key not in self._non_slot_dict:
            with get_default_graph().colocate_with(colocate_with.op), name_scope(None):
                self._non_slot_dict[key] = variables.Variable(
                    initial_value, name=name, trainable=False, use_resource=getattr(colocate_with, "_is_resource", False))
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slot_dict.get((name, graph or get_default_graph()))

    def _non_slot_variables(self):
        return self._non_slot_dict.values()

    # ---- for subclasses

    def _assert_valid_dtypes(self, tensors):
        for t in tensors:
            if t.dtype.base_dtype not in self._valid_dtypes():
                raise ValueError("Invalid type %r for %s, expected: %s." % (t.dtype.base_dtype, t.name,
                                                                            sorted(v.name for v in self._valid_dtypes())))

    def _valid_dtypes(self):
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128}

    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _apply_dense(self, grad, var):
        raise NotImplementedError()

    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError()

    def _apply_sparse(self, grad, var):
        raise NotImplementedError()

    def _resource_apply_sparse(self, grad, handle, indices):
        raise NotImplementedError()

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        values, indices = _deduplicate(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _apply_sparse_duplicate_indices(self, grad, var):
        values, indices = _deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _finish(self, update_ops, name_scope):
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param):
        return param() if callable(param) and not isinstance(param, Tensor) else param

    def _resource_scatter_add(self, x, i, v):
        return apply("ResourceScatterAdd", None, {"resource": x.handle, "indices": i, "updates": v})


def _deduplicate(values, indices):
    from ..array_ops import shape
    unique, positions = apply("Unique", None, {"x": indices})
    return apply("UnsortedSegmentSum", None, {"data": values, "segment_ids": positions,
                                              "num_segments": shape(unique)[0]}), unique


# ---------------------------------------- fused ones

class _Fused:
    """What an optimizer whose update is one op has: `op` and what it takes, slots by name and numbers by name."""
    op, sparse_op = None, None
    slot_names = ()           # (argument of the op, slot, name of its variable)

    def _numbers(self):
        """[(argument, value)] of the op's numbers, in the type of a variable later."""
        return []

    def _create_slots(self, var_list):
        for v in var_list:
            for _, slot, op_name in self.slot_names:
                self._make_slot(v, slot, op_name or self._name)

    def _make_slot(self, v, slot, op_name):
        self._zeros_slot(v, slot, op_name)

    def _prepare(self):
        self._tensors = {key: convert_to_tensor(self._call_if_callable(value), name=label)
                         for key, value, label in self._numbers()}

    def _values(self, var, sparse):
        resource = getattr(var, "_is_resource", False)
        give = lambda v: v.handle if resource else v._ref()
        values = {"var": give(var)}
        for argument, slot, _ in self.slot_names:
            values[argument] = give(self.get_slot(var, slot))
        from ..math_ops import cast
        for key, tensor in self._tensors.items():
            values[key] = cast(tensor, var.dtype.base_dtype)
        values["use_locking"] = self._use_locking
        return values

    def _extra(self, values, sparse):
        return values

    def _dense(self, grad, var, prefix):
        values = self._extra(self._values(var, False), False)
        values["grad"] = grad
        return apply(prefix + self.op, None, values)

    def _sparse(self, grad, indices, var, prefix):
        if self.sparse_op is None:
            return self._dense(convert_to_tensor(IndexedSlices(grad, indices, _shape_of(var))), var, prefix)
        values = self._extra(self._values(var, True), True)
        values["grad"], values["indices"] = grad, indices
        return apply(prefix + self.sparse_op, None, values)

    def _apply_dense(self, grad, var):
        return self._dense(grad, var, "")

    def _resource_apply_dense(self, grad, var):
        return self._dense(grad, var, "Resource")

    def _apply_sparse(self, grad, var):
        return self._sparse(grad.values, grad.indices, var, "")

    def _resource_apply_sparse(self, grad, var, indices):
        return self._sparse(grad, indices, var, "Resource")


def _shape_of(var):
    return apply("VariableShape", None, {"input": var.handle}) if var._is_resource else apply("Shape", None, {"input": var})


class GradientDescentOptimizer(_Fused, Optimizer):
    """var -= learning_rate * gradient."""
    op = "ApplyGradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _numbers(self):
        return [("alpha", self._learning_rate, "learning_rate")]

    def _dense(self, grad, var, prefix):
        values = self._values(var, False)
        values["delta"] = grad
        return apply(prefix + self.op, None, values)

    def _apply_sparse_duplicate_indices(self, grad, var):
        delta = IndexedSlices(grad.values * self._values(var, True)["alpha"], grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        return self._resource_scatter_add(handle, indices, -grad * self._values(handle, True)["alpha"])


class MomentumOptimizer(_Fused, Optimizer):
    """accum = momentum * accum + gradient; var -= learning_rate * accum."""
    op, sparse_op = "ApplyMomentum", "SparseApplyMomentum"
    slot_names = [("accum", "momentum", None)]

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _numbers(self):
        return [("lr", self._learning_rate, "learning_rate"), ("momentum", self._momentum, "momentum")]

    def _extra(self, values, sparse):
        values["use_nesterov"] = self._use_nesterov
        return values


class AdagradOptimizer(_Fused, Optimizer):
    """accum += gradient^2; var -= learning_rate * gradient / sqrt(accum)."""
    op, sparse_op = "ApplyAdagrad", "SparseApplyAdagrad"
    slot_names = [("accum", "accumulator", None)]

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError("initial_accumulator_value must be positive: %s" % initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _numbers(self):
        return [("lr", self._learning_rate, "learning_rate")]

    def _make_slot(self, v, slot, op_name):
        from ..init_ops import Constant
        self._get_or_make_slot_with_initializer(v, Constant(self._initial, dtype=v.dtype.base_dtype), v.shape,
                                                v.dtype.base_dtype, slot, op_name)


class AdadeltaOptimizer(_Fused, Optimizer):
    """Steps by the ratio of running means of updates and gradients."""
    op, sparse_op = "ApplyAdadelta", "SparseApplyAdadelta"
    slot_names = [("accum", "accum", None), ("accum_update", "accum_update", None)]

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _numbers(self):
        return [("lr", self._lr, "lr"), ("rho", self._rho, "rho"), ("epsilon", self._epsilon, "epsilon")]


class RMSPropOptimizer(_Fused, Optimizer):
    """Divides gradients by the root of their running mean square; with momentum, centered or not."""

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
                 name="RMSProp"):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered
        self.op = "ApplyCenteredRMSProp" if centered else "ApplyRMSProp"
        self.sparse_op = "Sparse" + self.op
        self.slot_names = [("ms", "rms", None)] + ([("mg", "mg", None)] if centered else []) + [("mom", "momentum", None)]

    def _numbers(self):
        return [("lr", self._learning_rate, "learning_rate"), ("rho", self._decay, "decay"),
                ("momentum", self._momentum, "momentum"), ("epsilon", self._epsilon, "epsilon")]

    def _make_slot(self, v, slot, op_name):
        if slot != "rms":
            return self._zeros_slot(v, slot, op_name)
        from ..init_ops import Ones
        return self._get_or_make_slot_with_initializer(v, Ones(dtype=v.dtype.base_dtype), v.shape, v.dtype.base_dtype,
                                                       slot, op_name)


class AdamOptimizer(_Fused, Optimizer):
    """Adaptive moments: running means of gradients and of their squares, corrected for their start at zero."""
    op = "ApplyAdam"
    slot_names = [("m", "m", None), ("v", "v", None)]

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _numbers(self):
        return [("lr", self._lr, "learning_rate"), ("beta1", self._beta1, "beta1"), ("beta2", self._beta2, "beta2"),
                ("epsilon", self._epsilon, "epsilon")]

    def _get_beta_accumulators(self):
        graph = get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        super()._create_slots(var_list)

    def _powers(self, dtype):
        from ..math_ops import cast
        return [cast(p, dtype) for p in self._get_beta_accumulators()]

    def _extra(self, values, sparse):
        dtype = values["beta1"].dtype
        values["beta1_power"], values["beta2_power"] = self._powers(dtype)
        return values

    def _sparse_moments(self, grad, indices, var):
        """Only rows of the gradient change in the means; all of the variable moves, as TensorFlow has it."""
        values = self._extra(self._values(var, True), True)
        b1, b2 = values["beta1"], values["beta2"]
        from ..math_ops import sqrt
        lr = values["lr"] * sqrt(1 - values["beta2_power"]) / (1 - values["beta1_power"])
        out = []
        for slot, b, scaled in (("m", b1, grad * (1 - b1)), ("v", b2, grad * grad * (1 - b2))):
            s = self.get_slot(var, slot)
            decayed = variables.assign(s, s * b) if not var._is_resource else s.assign(s * b)
            with control_dependencies([decayed.op]):
                if var._is_resource:
                    added = self._resource_scatter_add(s, indices, scaled)
                    with control_dependencies([added]):
                        out.append((s._read(), added))
                else:
                    added = apply("ScatterAdd", None, {"ref": s._ref(), "indices": indices, "updates": scaled})
                    out.append((added, added.op))
        step = lr * out[0][0] / (sqrt(out[1][0]) + values["epsilon"])
        moved = variables.assign_sub(var, step) if not var._is_resource else var.assign_sub(step)
        return group(moved.op, out[0][1], out[1][1])

    def _apply_sparse(self, grad, var):
        return self._sparse_moments(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._sparse_moments(grad, indices, var)

    def _finish(self, update_ops, name_scope):
        with control_dependencies(update_ops):
            b1, b2 = self._get_beta_accumulators()
            with get_default_graph().colocate_with(b1.op):
                new = [variables.assign(b1, b1 * self._tensors["beta1"]), variables.assign(b2, b2 * self._tensors["beta2"])]
        return group(*update_ops, *[n.op for n in new], name=name_scope)


class FtrlOptimizer(_Fused, Optimizer):
    """Follow the regularized leader."""
    slot_names = [("accum", "accum", None), ("linear", "linear", None)]

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="Ftrl",
                 accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0):
        super().__init__(use_locking, name)
        for what, value in (("initial_accumulator_value", initial_accumulator_value),
                            ("l1_regularization_strength", l1_regularization_strength),
                            ("l2_regularization_strength", l2_regularization_strength)):
            if value < 0.0:
                raise ValueError("%s %f needs to be positive or zero" % (what, value))
        if learning_rate_power > 0.0:
            raise ValueError("learning_rate_power %f needs to be negative or zero" % learning_rate_power)
        self._values_ = (learning_rate, l1_regularization_strength, l2_regularization_strength, learning_rate_power)
        self._initial, self._shrinkage = initial_accumulator_value, l2_shrinkage_regularization_strength
        self.op = "ApplyFtrlV2" if self._shrinkage > 0 else "ApplyFtrl"
        self.sparse_op = "Sparse" + self.op
        self.slot_names = [("accum", "accum", accum_name), ("linear", "linear", linear_name)]

    def _numbers(self):
        rows = list(zip(("lr", "l1", "l2", "lr_power"), self._values_, ("learning_rate", "l1_regularization_strength",
                                                                         "l2_regularization_strength", "lr_power")))
        return rows + ([("l2_shrinkage", self._shrinkage, "l2_shrinkage")] if self._shrinkage > 0 else [])

    def _make_slot(self, v, slot, op_name):
        if slot == "linear":
            return self._zeros_slot(v, slot, op_name if op_name != self._name else self._name + "_1")
        from ..init_ops import Constant
        return self._get_or_make_slot_with_initializer(v, Constant(self._initial, dtype=v.dtype.base_dtype), v.shape,
                                                       v.dtype.base_dtype, slot, op_name)


class ProximalGradientDescentOptimizer(_Fused, Optimizer):
    """Gradient descent with l1 and l2 kept exactly."""
    op, sparse_op = "ApplyProximalGradientDescent", "SparseApplyProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        super().__init__(use_locking, name)
        self._given = learning_rate, l1_regularization_strength, l2_regularization_strength

    def _numbers(self):
        return list(zip(("alpha", "l1", "l2"), self._given, ("learning_rate", "l1", "l2")))

    def _dense(self, grad, var, prefix):
        values = self._values(var, False)
        values["delta"] = grad
        return apply(prefix + self.op, None, values)


class ProximalAdagradOptimizer(_Fused, Optimizer):
    """Adagrad with l1 and l2 kept exactly."""
    op, sparse_op = "ApplyProximalAdagrad", "SparseApplyProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad"):
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    slot_names, _make_slot = AdagradOptimizer.slot_names, AdagradOptimizer._make_slot

    def _numbers(self):
        return [("lr", self._learning_rate, "learning_rate"), ("l1", self._l1, "l1"), ("l2", self._l2, "l2")]


class AdagradDAOptimizer(_Fused, Optimizer):
    """Adagrad by dual averaging."""
    op, sparse_op = "ApplyAdagradDA", "SparseApplyAdagradDA"
    slot_names = [("gradient_accumulator", "gradient_accumulator", None),
                  ("gradient_squared_accumulator", "gradient_squared_accumulator", None)]

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="AdagradDA"):
        super().__init__(use_locking, name)
        self._lr, self._l1, self._l2 = learning_rate, l1_regularization_strength, l2_regularization_strength
        self._initial, self._step = initial_gradient_squared_accumulator_value, global_step

    def _numbers(self):
        return [("lr", self._lr, "learning_rate"), ("l1", self._l1, "l1"), ("l2", self._l2, "l2")]

    def _extra(self, values, sparse):
        from ..math_ops import cast
        with get_default_graph().device("/cpu:0"):
            values["global_step"] = cast(self._step, dtypes.int64) + 1
        return values

    def _make_slot(self, v, slot, op_name):
        from ..init_ops import Constant
        first = 0.0 if slot == "gradient_accumulator" else self._initial
        self._get_or_make_slot_with_initializer(v, Constant(first, dtype=v.dtype.base_dtype), v.shape,
                                                v.dtype.base_dtype, slot, op_name)
