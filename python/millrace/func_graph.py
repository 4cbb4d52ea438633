"""func_graph — graphs that become functions: bodies of Defun and of datasets, with what they take from outside."""
import ctypes

from . import _c, messages
from .graph import Graph, Operation, Tensor, get_default_graph

SMALL = 64  # most elements of a constant that is copied into a function rather than handed in


class FuncGraph(Graph):
    """The body of a function. Tensors of the graph outside become inputs, or are copied with all that they need."""

    def __init__(self, name, outer=None, by_value=False):
        super().__init__()
        self.name = name
        self.outer_graph = outer if outer is not None else get_default_graph()
        self.building_function = self._building_function = True
        self.inputs, self.captures, self._by_value, self._found = [], [], by_value, {}
        self._seed = self.outer_graph.seed
        self._collections = self.outer_graph._collections
        self._creators = self.outer_graph.__dict__.get("_creators", [])
        self._functions = dict(self.outer_graph._functions)
        for function in self._functions.values():
            function._copy_into(self)

    captured_inputs = extra_inputs = property(lambda self: [outer for outer, _ in self.captures])

    def argument(self, dtype, shape=None, name=None):
        """A new input."""
        tensor = self._new_operation("Placeholder", (), name or "arg", {"dtype": dtype, "shape": shape})._outputs[0]
        self.inputs.append(tensor)
        return tensor

    def capture(self, tensor, name=None):
        """What a tensor of outside is in here."""
        if tensor.op.graph is self:
            return tensor
        key = id(tensor)
        if key not in self._found:
            outer = tensor
            if outer.op.graph is not self.outer_graph and getattr(self.outer_graph, "building_function", False):
                outer = self.outer_graph.capture(tensor)
            if outer.op.graph is not self.outer_graph:
                raise ValueError("%r must be from the same graph as the function %s." % (tensor, self.name))
            self._found[key] = tensor, self._bring_in(outer)
        return self._found[key][1]

    def _bring_in(self, outer):
        context = self._get_control_flow_context()
        controls, self._control_stack = self._control_stack, []
        self._set_control_flow_context(None)
        try:
            if outer.op.type == "Const" and outer.dtype.base_dtype._number not in (20, 21):
                count = outer.shape.num_elements()
                if self._by_value or count is not None and count <= SMALL:
                    return self._copied(outer)
            if self._by_value:
                return self._copied(outer)
            if outer.dtype._is_ref_dtype:
                raise ValueError("%s is a variable of a graph and cannot be taken into a function: read it before, or use "
                                 "use_resource=True." % outer.name)
            inner = self.argument(outer.dtype, outer.shape, outer.op.name.replace("/", "_"))
            self.captures.append((outer, inner))
            self.inputs.remove(inner)
            return inner
        finally:
            self._control_stack = controls
            self._set_control_flow_context(context)

    def _copied(self, outer):
        """A copy of the node, and of all it needs. ValueError for what has no value of its own."""
        from .train.meta_graph import import_graph_def
        nodes, todo = {}, [outer.op]
        while todo:
            op = todo.pop()
            if op.name in nodes:
                continue
            if op.type.startswith("Placeholder") and op.type != "PlaceholderWithDefault":
                raise ValueError("Cannot capture a placeholder (name:%s, type:%s) by value." % (op.name, op.type))
            if op.type in ("VariableV2", "Variable", "VarHandleOp", "IteratorV2"):
                raise ValueError("Cannot capture a stateful node (name:%s, type:%s) by value." % (op.name, op.type))
            nodes[op.name] = op
            todo += [t.op for t in op.inputs] + list(op.control_inputs)
        graph_def = messages.GraphDef()
        for op in nodes.values():
            graph_def.node.add().CopyFrom(op.node_def)
        name = "copied%d" % len(self._by_name)
        with self.as_default():
            return import_graph_def(graph_def, return_elements=[outer.name], name=name)[0]

    def _new_operation(self, op_type, inputs, name=None, attrs=None):
        inputs = [[self.capture(t) for t in i] if isinstance(i, (list, tuple)) else self.capture(i) for i in inputs]
        return super()._new_operation(op_type, inputs, name, attrs)

    def control_dependencies(self, control_inputs):
        if control_inputs is not None:
            items = control_inputs if isinstance(control_inputs, (list, tuple)) else [control_inputs]
            # Outside things are done before the function is called.
            control_inputs = [c for c in items if not isinstance(c, (Tensor, Operation)) and not hasattr(
                c, "_as_graph_element") or getattr(c, "graph", self) is self]
        return super().control_dependencies(control_inputs)


class GraphFunction:
    """A function of the library: made of a body, copied into the graphs that call it."""

    def __init__(self, graph, outputs, name, output_names=None, attrs=None):
        inputs = graph.inputs + [inner for _, inner in graph.captures]
        self.body, self.name = graph, name
        self.input_types = [t.dtype for t in inputs]
        self.output_types = [t.dtype for t in outputs]
        self.output_shapes = [t.shape for t in outputs]
        self.captured = [outer for outer, _ in graph.captures]
        self._gradient = None
        names = None
        if output_names:
            names = (ctypes.c_char_p * len(outputs))(*[n.encode() for n in output_names])
        self._c = _c.call("TF_GraphToFunction", graph._c, name.encode(), False, -1, None, len(inputs),
                          _c.output_array([t._as_tf_output() for t in inputs]), len(outputs),
                          _c.output_array([t._as_tf_output() for t in outputs]), names, None, b"")
        if attrs:
            self._c = self._with_attrs(attrs)

    def _with_attrs(self, attrs):
        definition = messages.FunctionDef.FromString(_c.filled("TF_FunctionToFunctionDef", self._c))
        for key, value in attrs.items():
            definition.attr[key].CopyFrom(value)
        data = definition.SerializeToString()
        made = _c.call("TF_FunctionImportFunctionDef", data, len(data))
        _c.TF_DeleteFunction(self._c)
        return made

    @property
    def definition(self):
        return messages.FunctionDef.FromString(_c.filled("TF_FunctionToFunctionDef", self._c))

    def _copy_into(self, graph):
        if self._gradient is not None:
            self._gradient.add_to_graph(graph)
        _c.call("TF_GraphCopyFunction", graph._c, self._c, self._gradient._c if self._gradient is not None else None)

    def add_to_graph(self, graph):
        """Makes the function known to a graph."""
        if self.name in graph._functions:
            return
        for name, inner in self.body._functions.items():
            if inner is not self:
                inner.add_to_graph(graph)
        self._copy_into(graph)
        graph._functions[self.name] = self
        graph._kept.append(self.body._kept)

    def __del__(self):
        try:
            _c.TF_DeleteFunction(self._c)
        except Exception:  # the interpreter is going, or it was never made
            pass


_numbers = iter(range(1 << 62))


def unique_name(base):
    """A function's name that no other has in this process."""
    return "__%s_%d" % ("".join(c if c.isalnum() or c == "_" else "_" for c in base), next(_numbers))


def trace(function, types, shapes, name, by_value=False, outer=None):
    """(body, what the function gives) of a Python function called with arguments of these types."""
    graph = FuncGraph(name, outer, by_value)
    with graph.as_default():
        arguments = [graph.argument(t, s, "arg%d" % i) for i, (t, s) in enumerate(zip(types, shapes))]
        return graph, function(*arguments)
