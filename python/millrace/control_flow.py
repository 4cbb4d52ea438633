"""control_flow — group, cond, case, while_loop and assertions, by TensorFlow's dataflow ops."""
import builtins
import collections

import numpy as np

from . import dtypes, nest, tensor_shape
from .constant import constant, constant_value
from .convert import convert_to_tensor, convert_to_tensor_or_indexed_slices
from .graph import (GraphKeys, Operation, Tensor, _of_graph, control_dependencies, executing_eagerly, get_default_graph,
                    name_scope)
from .indexed import IndexedSlices, SparseTensor
from .ops_apply import apply, apply_op

_tuple_type = builtins.tuple


def no_op(name=None):
    return apply("NoOp", name, {})


# ---------------------------------------- order

def _ops_of(inputs):
    for one in nest.flatten(list(inputs)):
        if one is None:
            continue
        if isinstance(one, (IndexedSlices, SparseTensor)):
            one = one.values
        if hasattr(one, "_as_graph_element") and not isinstance(one, (Tensor, Operation)):
            one = one._as_graph_element()
        if isinstance(one, Tensor):
            one = one.op
        if not isinstance(one, Operation):
            raise TypeError("Expected tf.Tensor|tf.Operation in args passed to 'tf.group' call, but got: %s with type '%s'"
                            % (one, type(one)))
        yield one


def group(*inputs, **kwargs):
    """An operation that is done when all inputs are."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: %s" % ", ".join(kwargs))
    if executing_eagerly():
        return None
    ops = list(_ops_of(inputs))
    if not ops:
        return no_op(name=name or "group_deps")
    devices = list(dict.fromkeys(op.device for op in ops))
    with name_scope(name, "group_deps", ops) as scope:
        if len(devices) == 1:
            return _group_on(devices[0], ops, scope)
        parts = [_group_on(d, [op for op in ops if op.device == d], None) for d in sorted(devices)]
        with control_dependencies(parts):
            return no_op(name=scope)


def _group_on(device, ops, name):
    with control_dependencies(ops):
        if device:
            with get_default_graph().device(device):
                return no_op(name=name)
        return no_op(name=name)


def tuple(tensors, name=None, control_inputs=None):
    """The tensors, all of them available only when all are computed."""
    if executing_eagerly():
        return [t if t is None or isinstance(t, IndexedSlices) else convert_to_tensor(t) for t in tensors]
    with name_scope(name, "tuple", [t for t in tensors if isinstance(t, Tensor)]):
        tensors = [t if t is None or isinstance(t, (IndexedSlices, Operation)) else convert_to_tensor(t) for t in tensors]
        gates = list(dict.fromkeys(_ops_of([t for t in tensors if t is not None])))
        for one in control_inputs or ():
            gates += [one.op if isinstance(one, Tensor) else one]
        gate = group(*gates)
        return [None if t is None else with_dependencies([gate], t) if not isinstance(t, Operation) else
                with_dependencies([gate], None) for t in tensors]


def with_dependencies(dependencies, output_tensor, name=None):
    if executing_eagerly():
        return output_tensor
    if output_tensor is None:
        return group(*dependencies, name=name)
    with name_scope(name, "control_dependency", []) as scope, control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(apply("Identity", scope, {"input": output_tensor.values}), output_tensor.indices,
                                 output_tensor.dense_shape)
        return apply("Identity", scope, {"input": output_tensor})


# ---------------------------------------- contexts

class _Context:
    """What operations made inside of a branch or a loop go through."""

    def __init__(self, graph):
        self._graph, self._outer = graph, graph._get_control_flow_context()
        self._seen = {}      # id of an outer tensor -> (it, what it is inside)
        self._inside = set() # ids of tensors and operations that belong here
        self._kept = []

    outer_context = property(lambda self: self._outer)
    grad_state = None
    back_prop = True

    def Enter(self):
        self._outer = self._graph._get_control_flow_context()
        self._graph._set_control_flow_context(self)

    def Exit(self):
        self._graph._set_control_flow_context(self._outer)

    def __enter__(self):
        self.Enter()
        return self

    def __exit__(self, *exc):
        self.Exit()

    def IsWhileContext(self):
        return isinstance(self, WhileContext)

    def IsCondContext(self):
        return isinstance(self, CondContext)

    def GetControlPivot(self):
        return self._pivot

    def _own(self, thing):
        self._inside.add(id(thing))
        self._kept.append(thing)

    def _contains(self, op):
        context = op._control_flow_context
        while context is not None:
            if context is self:
                return True
            context = context._outer
        return False

    def add_value(self, tensor):
        """What a tensor is inside of this context."""
        if id(tensor) in self._inside or self._contains(tensor.op):
            return tensor
        if id(tensor) in self._seen:
            return self._seen[id(tensor)][1]
        outer = self._outer.add_value(tensor) if self._outer is not None else tensor
        inner = self._bring_in(outer)
        self._seen[id(tensor)] = tensor, inner
        self._own(inner)
        return inner

    AddValue = add_value

    def _before_op(self, op_type, inputs, controls):
        mapped = [[self.add_value(t) for t in i] if isinstance(i, (list, _tuple_type)) else self.add_value(i)
                  for i in inputs]
        inside = [op for op in controls if self._contains(op)]
        flat = [t for i in mapped for t in (i if isinstance(i, (list, _tuple_type)) else [i])]
        return mapped, self._controls(op_type, flat, controls, inside)

    def _after_op(self, op):
        context = self
        while context is not None:
            context._own(op)
            for tensor in op._outputs:
                context._own(tensor)
            context = context._outer


def _switch(data, pred, name=None):
    op = "RefSwitch" if data.dtype._is_ref_dtype else "Switch"
    with get_default_graph().colocate_with(data, ignore_existing=True):
        return apply(op, name, {"data": data, "pred": pred})


def switch(data, pred, dtype=None, name=None):
    data = convert_to_tensor(data, dtype)
    return apply("Switch", name, {"data": data, "pred": pred})


def merge(inputs, name=None):
    inputs = [convert_to_tensor(i, as_ref=True) for i in inputs]
    if all(t.dtype._is_ref_dtype for t in inputs):
        return apply("RefMerge", name, {"inputs": inputs})
    return apply("Merge", name, {"inputs": inputs})


class CondContext(_Context):
    """One side of a conditional: `pivot` is there where the side is taken."""

    def __init__(self, graph, pred, pivot, branch):
        super().__init__(graph)
        self._pred, self._pivot, self._branch = pred, pivot, branch
        for tensor in (pred, pivot):
            self._own(tensor)
            self._seen[id(tensor)] = tensor, tensor

    pred, pivot, branch = property(lambda s: s._pred), property(lambda s: s._pivot), property(lambda s: s._branch)

    def _bring_in(self, tensor):
        graph = self._graph
        graph._set_control_flow_context(self._outer)
        stack, graph._control_stack = graph._control_stack, []
        try:
            return _switch(tensor, self._pred)[self._branch]
        finally:
            graph._control_stack = stack
            graph._set_control_flow_context(self)

    def _controls(self, op_type, flat, controls, inside):
        loop = self._outer
        while loop is not None and not isinstance(loop, WhileContext):
            loop = loop._outer
        if loop is not None:
            controls = [op for op in controls if loop._contains(op)]
        if not flat and not inside:
            return list(controls) + [self._pivot.op]
        return controls

    def build(self, function):
        """(what the branch gives, its results as tensors of the context)."""
        original = function()
        if original is None:
            return None, None
        flat = [self._result(v) for v in nest.flatten(original)]
        return original, flat

    def _result(self, value):
        if isinstance(value, Operation):
            # A branch without a value is done when its operation is.
            with control_dependencies([value]):
                return apply("Identity", None, {"input": self._pivot})
        if value is None:
            return None
        if isinstance(value, (IndexedSlices, SparseTensor)):
            return value
        if hasattr(value, "_as_tensor_array"):
            value = value._as_tensor_array()
        tensor = convert_to_tensor(value)
        if not self._contains(tensor.op):
            tensor = apply("Identity", None, {"input": tensor})
        return tensor


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """What true_fn gives where pred is true, else what false_fn gives. Only that side runs."""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    graph = get_default_graph()
    if executing_eagerly() and not _of_graph([pred]) or graph._traced and isinstance(pred, (bool, np.bool_)):
        return true_fn() if pred else false_fn()
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    if graph._traced:
        from .eager.func_graph import ordered_cond
        return ordered_cond(_cond, graph, pred, true_fn, false_fn, name=name)
    return _cond(pred, true_fn, false_fn, strict, name)


def _cond(pred, true_fn, false_fn, strict=False, name=None):
    with name_scope(name, "cond", [pred]):
        graph = get_default_graph()
        pred = convert_to_tensor(pred)
        switched = apply("Switch", "Switch", {"data": pred, "pred": pred})
        true_pivot = apply("Identity", "switch_t", {"input": switched[1]})
        false_pivot = apply("Identity", "switch_f", {"input": switched[0]})
        pred_id = apply("Identity", "pred_id", {"input": pred})
        true_context = CondContext(graph, pred_id, true_pivot, 1)
        with true_context:
            original, true_results = true_context.build(true_fn)
        false_context = CondContext(graph, pred_id, false_pivot, 0)
        with false_context:
            original_f, false_results = false_context.build(false_fn)
        graph.add_to_collection(GraphKeys.COND_CONTEXT, true_context)
        graph.add_to_collection(GraphKeys.COND_CONTEXT, false_context)
        if original is None or original_f is None:
            if (original is None) != (original_f is None):
                raise ValueError("'true_fn' and 'false_fn' must have the same return structure")
            raise ValueError("true_fn must have a return value.")
        return _merged(original, true_results, original_f, false_results, strict)


def _merged(original, true_results, original_f, false_results, strict):
    if len(true_results) != len(false_results):
        raise ValueError("true_fn and false_fn must return the same number of tensors: %s, %s" % (original, original_f))
    try:
        nest.assert_same_structure(original, original_f, check_types=False)
    except TypeError as error:
        raise TypeError("Incompatible return types of true_fn and false_fn: %s" % error) from None
    except ValueError as error:
        raise ValueError("Incompatible return values of true_fn and false_fn: %s" % error) from None
    for t, f in zip(true_results, false_results):
        if isinstance(t, Tensor) and isinstance(f, Tensor) and t.dtype.base_dtype != f.dtype.base_dtype:
            raise ValueError("Outputs of true_fn and false_fn must have the same type: %s, %s" % (
                t.dtype.name, f.dtype.name))
    merges = [_merge_one(t, f) for t, f in zip(true_results, false_results)]
    merges = [_as_original(m, o) for m, o in zip(merges, nest.flatten(original))]
    packed = nest.pack_sequence_as(original, merges)
    if not strict and isinstance(packed, (list, _tuple_type)) and len(packed) == 1 and not hasattr(packed, "_fields"):
        return packed[0]
    return packed


def _as_original(merged, original):
    if isinstance(original, Operation):
        return merged
    if hasattr(original, "_like"):
        return original._like(merged)
    return merged


def _merge_one(t, f):
    if isinstance(t, IndexedSlices) and isinstance(f, IndexedSlices):
        return IndexedSlices(_merge_one(t.values, f.values), _merge_one(t.indices, f.indices),
                             None if t.dense_shape is None else _merge_one(t.dense_shape, f.dense_shape))
    if isinstance(t, SparseTensor) and isinstance(f, SparseTensor):
        return SparseTensor(_merge_one(t.indices, f.indices), _merge_one(t.values, f.values),
                            _merge_one(t.dense_shape, f.dense_shape))
    if t is None or f is None:
        return None
    t, f = convert_to_tensor(t, as_ref=True), convert_to_tensor(f, as_ref=True)
    if t.dtype._is_ref_dtype != f.dtype._is_ref_dtype:
        t, f = [apply("Identity", None, {"input": v}) if v.dtype._is_ref_dtype else v for v in (t, f)]
    op = "RefMerge" if t.dtype._is_ref_dtype else "Merge"
    return apply_op(op, "Merge", {"inputs": [f, t]}).outputs[0]


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """cond, decided here and now where pred is known."""
    value = smart_constant_value(pred)
    if value is not None:
        return true_fn() if value else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


def smart_constant_value(pred):
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if pred in (0, 1):
        return bool(pred)
    if isinstance(pred, (bool, np.bool_)):
        return bool(pred)
    if hasattr(pred, "_as_graph_tensor"):
        return None
    raise TypeError("`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: %s" % (pred,))


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the function of the first true predicate gives."""
    if isinstance(pred_fn_pairs, dict):
        pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, collections.OrderedDict) else sorted(
            pred_fn_pairs.items(), key=lambda p: p[0].name)
    else:
        pairs = list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, (list, _tuple_type)) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not callable(pair[1]):
            raise TypeError("fn for pred %s must be callable." % pair[0])
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    with name_scope(name, "case", [p for p, _ in pairs]):
        checks = []
        if exclusive:
            from .math_ops import cast, reduce_sum
            count = reduce_sum(cast(apply("Pack", None, {"values": [p for p, _ in pairs], "axis": 0}), dtypes.int32))
            checks.append(Assert(count < 2, ["More than one condition evaluated as True but exclusive=True", count]))
        if default is None:
            any_true = pairs[0][0]
            for p, _ in pairs[1:]:
                any_true = apply("LogicalOr", None, {"x": any_true, "y": p})
            last = pairs.pop()[1]
            default = last
            checks.append(Assert(any_true, ["None of the conditions evaluated as True"]))
        with control_dependencies(checks):
            function = default
            for pred, fn in reversed(pairs):
                function = (lambda p, t, f: lambda: cond(p, t, f, strict=strict))(pred, fn, function)
            return function()


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    fns = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(enumerate(branch_fns))
    index = convert_to_tensor(branch_index)
    if default is None:
        default = fns[-1][1]
    return case([(apply("Equal", None, {"x": index, "y": i}), f) for i, f in fns], default, name=name)


# ---------------------------------------- loops

class WhileContext(_Context):
    """A loop of frames: outer tensors enter once, variables go round."""

    def __init__(self, graph, name, parallel_iterations, back_prop, swap_memory, maximum_iterations):
        super().__init__(graph)
        self._name = graph.unique_name(name) if name else name
        self._parallel_iterations, self._back_prop, self._swap_memory = parallel_iterations, back_prop, swap_memory
        self._maximum_iterations = maximum_iterations
        self._pivot = self._pivot_for_pred = self._pivot_for_body = None
        self._loop_exits, self._loop_enters = [], []

    name = property(lambda self: self._name)
    parallel_iterations = property(lambda self: self._parallel_iterations)
    back_prop = property(lambda self: self._back_prop)
    pivot = property(lambda self: self._pivot)
    loop_exits = property(lambda self: self._loop_exits)
    loop_enters = property(lambda self: self._loop_enters)

    def _enter(self, tensor, is_constant, use_input_shape=True):
        op = "RefEnter" if tensor.dtype._is_ref_dtype and not is_constant else "Enter"
        graph = self._graph
        inner = graph._get_control_flow_context()
        graph._set_control_flow_context(self._outer)
        stack, graph._control_stack = graph._control_stack, []
        try:
            result = apply_op(op, "Enter", {"data": tensor, "frame_name": self._name, "is_constant": is_constant,
                                            "parallel_iterations": self._parallel_iterations}).outputs[0]
        finally:
            graph._control_stack = stack
            graph._set_control_flow_context(inner)
        result.op._control_flow_context = self
        self._own(result)
        self._own(result.op)
        return result

    def _bring_in(self, tensor):
        if tensor.dtype._is_ref_dtype:
            op = "RefEnter"
            graph = self._graph
            inner = graph._get_control_flow_context()
            graph._set_control_flow_context(self._outer)
            try:
                result = apply_op(op, "Enter", {"data": tensor, "frame_name": self._name, "is_constant": True,
                                                "parallel_iterations": self._parallel_iterations}).outputs[0]
            finally:
                graph._set_control_flow_context(inner)
            result.op._control_flow_context = self
            self._own(result.op)
        else:
            result = self._enter(tensor, True)
        return result

    def _controls(self, op_type, flat, controls, inside):
        if flat or op_type in ("Enter", "RefEnter"):
            constants_only = all(t.op.type in ("Enter", "RefEnter") and t.op.get_attr("is_constant") for t in flat)
            if flat and not (constants_only and not inside):
                return inside
        if not inside:
            pivot = self._pivot_for_pred if self._pivot_for_body is None else self._pivot_for_body
            return inside + [pivot.op]
        return inside

    def build(self, predicate, body, loop_vars, shape_invariants, return_same_structure):
        originals = loop_vars
        self._graph._set_control_flow_context(self._outer)
        flat = [v if not hasattr(v, "_as_loop_value") else v._as_loop_value() for v in nest.flatten(loop_vars)]
        tensors = []
        for v in flat:
            if isinstance(v, (IndexedSlices, SparseTensor)):
                raise TypeError("loop variables are tensors and TensorArrays here; take a SparseTensor's parts")
            tensors.append(convert_to_tensor(v))
        if self._outer is not None:
            tensors = [self._outer.add_value(t) for t in tensors]
        invariants = nest.flatten_up_to(loop_vars, shape_invariants) if shape_invariants is not None else None
        if invariants is not None:
            tensors = [_loosened(t, shape) for t, shape in zip(tensors, invariants)]
        with control_dependencies(self._entry_controls):
            enters = [self._enter(t, False) for t in tensors]
        self._graph._set_control_flow_context(self)
        return self._build(predicate, body, originals, nest.flatten(loop_vars), tensors, enters, invariants)

    def _build(self, predicate, body, originals, flat, tensors, enters, invariants):
        graph = self._graph
        merges = []
        for enter in enters:
            op = "RefMerge" if enter.dtype._is_ref_dtype else "Merge"
            merge_op = apply_op(op, "Merge", {"inputs": [enter, enter]})
            merges.append(merge_op.outputs[0])
        self._pivot_for_pred = merges[0]
        self._loop_parts = {id(t.op) for t in enters + merges}
        packed = self._packed(originals, flat, merges)
        test = convert_to_tensor(predicate(*packed))
        self._pivot = apply("LoopCond", "LoopCond", {"input": test})
        switches = []
        for m in merges:
            op = "RefSwitch" if m.dtype._is_ref_dtype else "Switch"
            switches.append(apply_op(op, "Switch", {"data": m, "pred": self._pivot}).outputs)
        self._loop_parts |= {id(s[0].op) for s in switches}
        bodies = [apply("Identity", "Identity", {"input": s[1]}) for s in switches]
        self._pivot_for_body = bodies[0]
        packed = self._packed(originals, flat, bodies)
        result = body(*packed)
        if not nest.is_sequence(result) or hasattr(result, "_as_loop_value"):
            result = [result]
        elif len(originals) == 1 and not isinstance(result, (list, _tuple_type)):
            result = [result]
        result = list(result) if isinstance(result, _tuple_type) and not hasattr(result, "_fields") else result
        if len(originals) == 1 and len(result) != 1:
            result = [result]
        try:
            nest.assert_same_structure(list(_plain(originals)), list(_plain(result)), check_types=False)
        except ValueError as error:
            raise ValueError(str(error)) from None
        finals = [convert_to_tensor(v._as_loop_value() if hasattr(v, "_as_loop_value") else v)
                  for v in nest.flatten(list(result))]
        finals = [self.add_value(f) for f in finals]
        for m, f, t, enter, i in zip(merges, finals, tensors, enters, range(len(finals))):
            self._check(m, f, t, enter, invariants)
            back = apply_op("RefNextIteration" if m.dtype._is_ref_dtype else "NextIteration", "NextIteration",
                            {"data": f}).outputs[0]
            m.op._update_input(1, back)
        exits = []
        inner = graph._get_control_flow_context()
        graph._set_control_flow_context(self._outer)
        stack, graph._control_stack = graph._control_stack, []
        for s in switches:
            op = "RefExit" if s[0].dtype._is_ref_dtype else "Exit"
            exits.append(apply_op(op, "Exit", {"data": s[0]}).outputs[0])
        graph._control_stack = stack
        graph._set_control_flow_context(inner)
        for e in exits:
            e.op._control_flow_context = self._outer
            if self._outer is not None:
                self._outer._own(e)
        self._loop_exits, self._loop_enters = exits, enters
        return self._packed(result, nest.flatten(list(result)), exits), list(result)

    def _packed(self, structure, flat, tensors):
        values = [v._like(t) if hasattr(v, "_like") else t for v, t in zip(flat, tensors)]
        return nest.pack_sequence_as(list(_plain(structure)), values)

    def _check(self, merged, final, initial, enter, invariants):
        if final.dtype.base_dtype != merged.dtype.base_dtype:
            raise TypeError("Input tensor '%s' enters the loop with type %s, but has type %s after one iteration." % (
                initial.name, merged.dtype.base_dtype.name, final.dtype.base_dtype.name))
        if not _less_specific(enter.shape, final.shape):
            if invariants is None:
                raise ValueError("Input tensor '%s' enters the loop with shape %s, but has shape %s after one iteration. "
                                 "To allow the shape to vary across iterations, use the `shape_invariants` argument of "
                                 "tf.while_loop to specify a less-specific shape." % (
                                     initial.name, initial.shape, final.shape))
            raise ValueError("Input tensor '%s' enters the loop with shape %s, but has shape %s after one iteration: the "
                             "shape invariant is %s." % (initial.name, initial.shape, final.shape, enter.shape))


def _plain(structure):
    return structure if isinstance(structure, list) else list(structure)


def _less_specific(a, b):
    """Whether everything of shape b is also of shape a."""
    if a.ndims is None:
        return True
    if b.ndims is None or a.ndims != b.ndims:
        return False
    return all(x.value is None or x.value == y.value for x, y in zip(a.dims, b.dims))


def _loosened(tensor, shape):
    """The tensor with no more known of its shape than the invariant says: what enters the loop may change its shape."""
    shape = tensor_shape.as_shape(shape) if shape is not None else tensor_shape.TensorShape(None)
    if not _less_specific(shape, tensor.shape):
        raise ValueError("The shape invariant specified for %s is not compatible with the initial shape of the loop "
                         "variable. It enters the loop with shape %s, but the specified shape invariant is %s." % (
                             tensor.name, tensor.shape, shape))
    if tensor.dtype._number in (20, 21) or _less_specific(tensor.shape, shape):
        return tensor
    return apply("PlaceholderWithDefault", "invariant", {"input": tensor, "shape": shape})


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               name=None, maximum_iterations=None, return_same_structure=False):
    """Repeats body while cond holds; gives the loop's variables as they are then.

    >>> with tf.Session() as s: s.run(tf.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)]))
    6
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if not nest.is_sequence(loop_vars) or hasattr(loop_vars, "_as_loop_value"):
        loop_vars = [loop_vars]
    if len(loop_vars) == 0:
        raise ValueError("No loop variables provided")
    if executing_eagerly():
        return _run_loop(cond, body, loop_vars, maximum_iterations, return_same_structure)
    keywords = {"parallel_iterations": parallel_iterations, "back_prop": back_prop, "swap_memory": swap_memory,
                "name": name, "maximum_iterations": maximum_iterations}
    graph = get_default_graph()
    if graph._traced:
        from .eager.func_graph import ordered_loop
        packed = ordered_loop(_while_loop, graph, cond, body, loop_vars, shape_invariants, keywords)
        return packed if return_same_structure or len(packed) != 1 else packed[0]
    return _while_loop(cond, body, loop_vars, shape_invariants, return_same_structure=return_same_structure, **keywords)


def _run_loop(cond, body, loop_vars, maximum_iterations, return_same_structure):
    """The loop as Python runs it."""
    leaf = lambda v: v if hasattr(v, "_as_loop_value") else convert_to_tensor(v)
    values, n = nest.map_structure(leaf, list(loop_vars)), 0
    while (maximum_iterations is None or n < int(maximum_iterations)) and cond(*values):
        result = body(*values)
        if not nest.is_sequence(result) or len(values) == 1 and not (
                isinstance(result, (list, _tuple_type)) and len(result) == 1):
            result = [result]
        nest.assert_same_structure(list(values), list(result), check_types=False)
        values, n = nest.map_structure(leaf, list(result)), n + 1
    if return_same_structure or len(values) != 1:
        return nest.pack_sequence_as(loop_vars, nest.flatten(values)) if isinstance(loop_vars, _tuple_type) else values
    return values[0]


def _while_loop(cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop, swap_memory, name,
                maximum_iterations, return_same_structure):
    with name_scope(name, "while", None):
        single = len(loop_vars) == 1
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants = _counted(cond, body, loop_vars, shape_invariants,
                                                               maximum_iterations, single)
        graph = get_default_graph()
        context = WhileContext(graph, graph.get_name_scope() or "while", parallel_iterations, back_prop, swap_memory,
                               maximum_iterations)
        context._name = graph.get_name_scope() + "/" + "while_context"
        outer = graph._get_control_flow_context()
        graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        saved = graph._control_stack
        graph._control_stack = []
        try:
            graph._set_control_flow_context(context)
            context._entry_controls = [op for c in saved for op in c._inputs]
            packed, shape_of_result = context.build(cond, body, loop_vars, shape_invariants, return_same_structure)
        finally:
            graph._control_stack = saved
            graph._set_control_flow_context(outer)
        if maximum_iterations is not None:
            packed = packed[1]
            if single and not return_same_structure:
                return packed[0] if isinstance(packed, (list, _tuple_type)) and len(packed) == 1 else packed
            return packed
        if return_same_structure:
            return packed
        return packed[0] if len(packed) == 1 else packed


def _counted(cond, body, loop_vars, shape_invariants, maximum, single):
    maximum = convert_to_tensor(maximum, name="maximum_iterations")
    if maximum.shape.ndims not in (0, None):
        raise ValueError("maximum_iterations must be a scalar, saw shape: %s" % maximum.shape)
    counter = constant(0, maximum.dtype, name="iteration_counter")
    inner_cond, inner_body = cond, body
    loop_vars = list(loop_vars) if not hasattr(loop_vars, "_fields") else loop_vars

    def new_cond(i, values):
        return apply("LogicalAnd", None, {"x": i < maximum, "y": inner_cond(*values)})

    def new_body(i, values):
        result = inner_body(*values)
        if single and not (isinstance(result, (list, _tuple_type)) and len(result) == 1 and
                           not hasattr(result, "_fields") and not isinstance(loop_vars[0], (list, _tuple_type))):
            result = [result] if not (isinstance(result, list) and len(result) == 1) else result
        elif isinstance(result, _tuple_type) and not hasattr(result, "_fields"):
            result = list(result)
        return [i + 1, result]
    if shape_invariants is not None:
        shape_invariants = [tensor_shape.TensorShape([]), shape_invariants]
    return new_cond, new_body, [counter, loop_vars], shape_invariants


# ---------------------------------------- assertions

def Assert(condition, data, summarize=None, name=None):
    """An operation that fails with `data` where the condition does not hold."""
    with name_scope(name, "Assert", [condition] + list(data)):
        return apply_op("Assert", None, {"condition": condition, "data": [convert_to_tensor(d) for d in data],
                                         "summarize": 3 if summarize is None else summarize})
