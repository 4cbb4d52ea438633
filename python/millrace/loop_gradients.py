"""loop_gradients — gradients asked for inside of a loop's body: taken in a function of what lies between, called there.

The library differentiates whole loops from outside. In a body, the operations between xs and ys are copied into a
function whose inputs are all other values that they read; its gradients are those of straight code, and one call gives them.
"""
from . import func_graph, messages
from .convert import convert_to_tensor
from .graph import Tensor
from .indexed import IndexedSlices


def is_in_loop(context):
    """Whether a context of control flow, or one around it, is a loop."""
    while context is not None:
        if context.IsWhileContext():
            return True
        context = context.outer_context
    return False


class _Between:
    """What lies between xs and ys, seen from a context."""

    def __init__(self, context, ys, xs, stops):
        self._around, self._outside, self._parts = {id(None)}, {}, set()
        while context is not None:
            self._around.add(id(context))
            self._outside.update((id(inner), outer) for outer, inner in context._seen.values())
            self._parts |= getattr(context, "_loop_parts", set())
            context = context.outer_context
        self.ys, self.xs = [self.resolve(y) for y in ys], [self.resolve(x) for x in xs]
        self._x_ids, self._stops, self.copied, self._depends = {id(x) for x in self.xs}, set(map(id, stops)), {}, {}
        for y in self.ys:
            self._find(y.op)
        for y in self.ys:
            if self._depends.get(id(y.op)):
                self._copy(y.op)

    def resolve(self, tensor):
        """The tensor outside that one which was brought in stands for."""
        while id(tensor) in self._outside and self._outside[id(tensor)] is not tensor:
            tensor = self._outside[id(tensor)]
        return tensor

    def _sources(self, op):
        return [] if id(op) in self._parts else [self.resolve(t) for t in op.inputs]

    def _find(self, last):
        """Which operations depend on an x: by depth first, with loops inside going round until nothing changes."""
        changed = True
        while changed:
            changed, seen, stack = False, set(), [(last, False)]
            while stack:
                op, done = stack.pop()
                if done:
                    depends = id(op) not in self._stops and any(
                        id(t) in self._x_ids or self._depends.get(id(t.op)) for t in self._sources(op))
                    changed |= depends and not self._depends.get(id(op))
                    self._depends[id(op)] = depends or self._depends.get(id(op), False)
                elif id(op) not in seen:
                    seen.add(id(op))
                    stack.append((op, True))
                    stack += [(t.op, False) for t in self._sources(op)]

    def _copy(self, last):
        stack = [last]
        while stack:
            op = stack.pop()
            if id(op) in self.copied:
                continue
            self.copied[id(op)] = op
            for t in self._sources(op):
                # Inside of inner loops and branches everything comes along: a value from there may not exist here.
                if self._depends.get(id(t.op)) and id(t) not in self._x_ids or self._inner(t.op) or \
                        id(t) in self._x_ids and self._depends.get(id(t.op)):
                    stack.append(t.op)

    def _inner(self, op):
        return id(op._control_flow_context) not in self._around

    def graph_def(self):
        """(GraphDef of the copies, the values that they read from outside)."""
        made, arguments = messages.GraphDef(), {}
        for op in self.copied.values():
            node = made.node.add()
            node.CopyFrom(op.node_def)
            del node.input[:]
            for t in self._sources(op):
                if id(t.op) in self.copied:
                    node.input.append("%s:%d" % (t.op.name, t.value_index))
                else:
                    at = arguments.setdefault(id(t), (len(arguments), t))[0]
                    node.input.append("outer_%d:0" % at)
            node.input.extend("^" + c.name for c in op.control_inputs if id(c) in self.copied)
            if "_class" in node.attr:
                del node.attr["_class"]
        return made, [t for _, t in arguments.values()]


def gradients_in_loop(graph, ys, xs, grad_ys, stops, name):
    """The gradients of ys with respect to xs, in the context that is being built."""
    between = _Between(graph._get_control_flow_context(), ys, xs, stops)
    if not between.copied:
        same = [[i for i, y in enumerate(between.ys) if y is x] for x in between.xs]
        return [_sum_of_seeds(ys, grad_ys, which) for which in same]
    made, outer = between.graph_def()
    body = func_graph.FuncGraph(name, graph)
    with body.as_default():
        arguments = [body.argument(t.dtype.base_dtype, t.shape, "outer_%d" % i) for i, t in enumerate(outer)]
        seeds = [body.argument(g.dtype.base_dtype, g.shape, "seed") if isinstance(g, Tensor) else None for g in grad_ys]
        copies = _copies(body, graph, between, made, arguments)

        def inside(tensor):
            if id(tensor.op) in between.copied:
                return copies[tensor.op.name]._outputs[tensor.value_index]
            found = next((a for a, t in zip(arguments, outer) if t is tensor), None)
            return body.capture(tensor) if found is None else found
        from .gradients import gradients
        found = gradients([inside(y) for y in between.ys], [inside(x) for x in between.xs], seeds if any(
            s is not None for s in seeds) else None, stop_gradients=None)
        parts = [_parts(g) for g in found]
        flat = [body.capture(p) for one in parts for p in one]
    if not flat:
        return [None] * len(xs)
    function = func_graph.GraphFunction(body, flat, func_graph.unique_name("gradients_in_loop"))
    function.add_to_graph(graph)
    inputs = outer + [g for g in grad_ys if isinstance(g, Tensor)] + list(function.captured)
    results = list(graph._new_operation(function.name, inputs, "call")._outputs)
    return [_packed(p, x, results) for p, x in zip(parts, between.xs)]


def _copies(body, graph, between, made, arguments):
    """The copies by the names of what they are of."""
    from .train.meta_graph import import_graph_def
    for function in graph._functions.values():
        function.add_to_graph(body)
    import_graph_def(made, {"outer_%d:0" % i: t for i, t in enumerate(arguments)}, name="copy")
    copies = {op.name: body.get_operation_by_name("copy/" + op.name) for op in between.copied.values()}
    for op in between.copied.values():
        own = graph._own_gradients.get(op._c)
        if own is not None:
            body._own_gradients[copies[op.name]._c] = own
    return copies


def _sum_of_seeds(ys, grad_ys, which):
    from .array_ops import ones_like
    from .math_ops import add_n
    if not which:
        return None
    return add_n([grad_ys[i] if grad_ys[i] is not None else ones_like(ys[i]) for i in which])


def _parts(gradient):
    if gradient is None:
        return []
    if isinstance(gradient, IndexedSlices):
        return [gradient.values, gradient.indices] + ([gradient.dense_shape] if gradient.dense_shape is not None else [])
    return [convert_to_tensor(gradient)]


def _packed(parts, x, results):
    if not parts:
        return None
    mine = [results.pop(0) for _ in parts]
    if len(mine) > 1:
        return IndexedSlices(*mine)
    if x.dtype.base_dtype._number != 20:
        mine[0].set_shape(x.shape)
    return mine[0]
