"""func_graph — the graph of a function while it is traced: what it captures, and the order of what has effects.

Operations on a resource keep the order in which Python made them: writes after what came before, reads after the last write.
A conditional or a loop counts as one operation, by a token that it gives when what is inside has been done.
"""
import re

from .. import nest
from ..graph import Graph
from .tensor import EagerTensor

_RESOURCE = 20
_SMALL = 64          # elements: what is smaller and has no derivative becomes a constant
_READS = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"}
_FREE = {"VarHandleOp", "Placeholder", "Identity", "Enter", "Switch", "Merge", "Exit", "NextIteration", "RefSwitch",
         "StatefulPartitionedCall", "PartitionedCall", "IdentityN"}
_EFFECTS = {"Assert", "Print", "PrintV2", "PyFunc", "EagerPyFunc", "WriteFile"}
_OTHER = "effects"   # the one order of what has effects elsewhere than in a resource
_UNFIT = re.compile(r"[^A-Za-z0-9_./-]")     # what names of variables may hold and names of nodes not


class FuncGraph(Graph):
    """A graph whose placeholders are the arguments of a function, and what it captures of eager mode."""

    def __init__(self, name="function"):
        super().__init__()
        self.name = name
        self.building_function = self._building_function = self._traced = True
        self.captured, self._capture_of = [], {}    # (eager tensor, placeholder), and by the tensor's id
        self._handles = {}                          # id of a variable -> (it, its handle here)
        self._last_write, self._reads = {}, {}      # by resource: an operation, operations
        self._effects = []                          # operations that have to run, in their order
        self._floor = None                          # what everything ordered comes after: the token of a loop's iteration
        self.made = []                              # variables
        self.may_make = True

    # ---- what comes from outside

    def _outside(self, make):
        """What `make` gives, in no branch, loop or scope."""
        context, stack = self._get_control_flow_context(), self._control_stack
        name, self._name_stack = self._name_stack, ""
        self._set_control_flow_context(None)
        self._control_stack = []
        try:
            return make()
        finally:
            self._set_control_flow_context(context)
            self._control_stack, self._name_stack = stack, name

    def argument(self, dtype, shape, name="argument"):
        from ..tensor_shape import TensorShape
        return self._outside(lambda: self._new_operation("Placeholder", (), name, {
            "dtype": dtype, "shape": TensorShape(shape)})._outputs[0])

    def capture(self, value):
        """What an eager tensor is in this graph."""
        if not isinstance(value, EagerTensor):
            raise ValueError("%s is of another graph than the function that uses it; give it as an argument" % (value,))
        found = self._capture_of.get(id(value))
        if found is not None:
            return found[1]
        dtype = value._dtype
        if not (dtype.is_floating or dtype.is_complex) and dtype._number != _RESOURCE and \
                value.shape.num_elements() <= _SMALL:
            from ..constant import constant_of_array
            import numpy as np
            inside = self._outside(lambda: constant_of_array(np.asarray(value.numpy()), dtype, "captured"))
        else:
            inside = self.argument(dtype, value.shape, "captured")
            self.captured.append((value, inside))
        self._capture_of[id(value)] = value, inside
        return inside

    def variable_handle(self, variable):
        found = self._handles.get(id(variable))
        if found is None:
            name = _UNFIT.sub("_", variable.path).lstrip("_/") or "variable"
            handle = self._outside(lambda: self._new_operation("VarHandleOp", (), name, self._handle_attrs(variable, name))
                                   ._outputs[0])
            found = self._handles[id(variable)] = variable, handle
        return found[1]

    def _handle_attrs(self, variable, name):
        return variable._handle_attrs()

    def variables(self):
        """The variables that the graph uses, by their first use."""
        return [v for v, _ in self._handles.values()]

    def variable_was_made(self, variable):
        if not self.may_make:
            raise ValueError("tf.function only supports singleton tf.Variables created on the first call. Make sure the "
                             "tf.Variable is only created once or created outside tf.function.")
        self.made.append(variable)

    # ---- order

    def _new_operation(self, op_type, inputs, name=None, attrs=None):
        before = self._before(op_type, inputs)
        if not before:
            op = super()._new_operation(op_type, inputs, name, attrs)
        else:
            with self.control_dependencies(list(dict.fromkeys(before))):
                op = super()._new_operation(op_type, inputs, name, attrs)
        self._after(op_type, inputs, op)
        return op

    def _keys(self, op_type, inputs):
        if op_type in _FREE or op_type.startswith(("TensorArray", "Stack")):
            return []
        keys = [id(t) for i in inputs for t in (i if isinstance(i, (list, tuple)) else (i,))
                if t._dtype._number == _RESOURCE]
        return keys or ([_OTHER] if op_type in _EFFECTS else [])

    def _before(self, op_type, inputs):
        found = []
        for key in self._keys(op_type, inputs):
            if key in self._last_write:
                found.append(self._last_write[key])
            elif self._floor is not None:
                found.append(self._floor)
            if op_type not in _READS:
                found += self._reads.get(key, ())
        return found

    def _after(self, op_type, inputs, op):
        for key in self._keys(op_type, inputs):
            if op_type in _READS:
                self._reads.setdefault(key, []).append(op)
                continue
            self._last_write[key], self._reads[key] = op, []
            if op not in self._effects:
                self._effects.append(op)

    def effects(self):
        """The operations that have to run whatever is fetched."""
        return list(self._effects)

    def order_now(self):
        return dict(self._last_write), {k: list(v) for k, v in self._reads.items()}, list(self._effects), self._floor

    def set_order(self, order):
        self._last_write, self._reads, self._effects = dict(order[0]), {k: list(v) for k, v in order[1].items()}, \
            list(order[2])
        self._floor = order[3]

    def _touched(self, before):
        """The resources used since, and the operations on them that have effects."""
        keys = {k for k, op in self._last_write.items() if before[0].get(k) is not op}
        keys |= {k for k, ops in self._reads.items() if len(ops) > len(before[1].get(k, ()))}
        return keys, [op for op in self._effects if op not in before[2]]

    def join(self, before, keys, done, has_effects):
        """From here on `done` stands for everything that a conditional or loop did to these resources."""
        self.set_order(before)
        for key in keys:
            self._last_write[key], self._reads[key] = done, []
        if has_effects:
            self._effects.append(done)


def ordered_cond(cond, graph, pred, true_fn, false_fn, **keywords):
    """A conditional in a function's graph: what is inside of it stays in the order of what is outside."""
    from ..constant import constant
    before, touched, effects = graph.order_now(), set(), []
    given = []

    def branch(function):
        def build():
            result = function()
            keys, ops = graph._touched(before)
            touched.update(keys)
            effects.extend(ops)
            graph.set_order(before)
            with graph.control_dependencies(ops):
                token = constant(0, name="token")
            given.append(result)
            from ..graph import Operation
            flat = [v for v in nest.flatten(result) if v is not None and not isinstance(v, Operation)]
            return [token] + flat
        return build
    merged = cond(pred, branch(true_fn), branch(false_fn), strict=True, **keywords)
    graph.join(before, touched, merged[0].op, bool(effects))
    rest = iter(merged[1:])
    from ..graph import Operation
    if given[0] is None:
        return None
    return nest.map_structure(lambda v: None if v is None or isinstance(v, Operation) else next(rest), given[0])


def ordered_loop(loop, graph, cond, body, loop_vars, shape_invariants, keywords):
    """A loop likewise: the token goes round with the other variables."""
    from ..array_ops import identity
    from ..constant import constant
    from ..tensor_shape import TensorShape
    before = graph.order_now()
    entered = list(dict.fromkeys(list(before[0].values()) + [op for ops in before[1].values() for op in ops]))
    touched, effects = set(), []

    def in_order(function, token):
        graph.set_order(({}, {}, before[2], token.op))
        start = graph.order_now()
        result = function()
        keys, ops = graph._touched(start)
        touched.update(keys)
        effects.extend(ops)
        return result, ops

    def new_cond(token, values):
        return in_order(lambda: cond(*values), token)[0]

    def new_body(token, values):
        result, ops = in_order(lambda: body(*values), token)
        with graph.control_dependencies(ops):
            token = identity(token)
        if not isinstance(result, (list, tuple)) or hasattr(result, "_fields") and len(values) == 1:
            result = [result]
        return [token, result if type(result) is type(loop_vars) else type(loop_vars)(result)
                if type(loop_vars) in (list, tuple) else result]
    if shape_invariants is not None:
        shape_invariants = [TensorShape([]), shape_invariants]
    with graph.control_dependencies(entered):
        token, result = loop(new_cond, new_body, [constant(0, name="token"), loop_vars], shape_invariants,
                             return_same_structure=True, **keywords)
    graph.join(before, touched, token.op, bool(effects))
    return result
