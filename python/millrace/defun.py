"""defun — Defun: a Python function as a function of the graph's library, called as one operation."""
import inspect

from . import dtypes, messages, nest
from .convert import convert_to_tensor
from .func_graph import GraphFunction, trace, unique_name
from .graph import Operation, get_default_graph
from .ops_apply import result


class Defun:
    """`@Defun(tf.float32, tf.float32) def f(x, y): ...`: the call f(a, b) is one node.

    `func_name`, `grad_func` (a Defun of inputs and gradients), `python_grad_func(op, *grads)`, `shape_func(op)`, `noinline`.
    """

    def __init__(self, *input_types, **kwargs):
        self._input_types = input_types
        self._options = dict(kwargs)
        for known in ("func_name", "grad_func", "python_grad_func", "out_names", "shape_func", "capture_by_value",
                      "noinline", "compiled", "separate_compiled_gradients", "capture_resource_var_by_value"):
            kwargs.pop(known, None)
        if kwargs:
            raise TypeError("Defun got an unexpected keyword argument %r" % sorted(kwargs)[0])

    def __call__(self, func):
        if not callable(func):
            raise ValueError("function %s must be callable" % func)
        parameters = [p for p in inspect.signature(func).parameters.values()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(func).parameters.values())
        if self._input_types:
            needed = [p for p in parameters if p.default is p.empty]
            if not variadic and not len(needed) <= len(self._input_types) <= len(parameters):
                raise ValueError("The function has %s arguments but %d argument types were given." % (
                    len(parameters), len(self._input_types)))
            return _Defined(func, [dtypes.as_dtype(t) for t in self._input_types], self._options)
        if not parameters and not variadic:
            return _Defined(func, [], self._options)
        return _Overloaded(func, self._options)


class _Defined:
    """A function of known types; made when it is first needed."""

    def __init__(self, func, types, options):
        self._func, self._types, self._options = func, types, options
        self._base = options.get("func_name") or getattr(func, "__name__", "function")
        self._name = options.get("func_name")
        self._made, self._single, self._structure = None, False, None
        self.__name__, self.__doc__ = getattr(func, "__name__", "defun"), func.__doc__

    @property
    def name(self):
        self._make()
        return self._made.name

    grad_func_name = property(lambda self: self._options["grad_func"].name if self._options.get("grad_func") else None)
    python_grad_func = property(lambda self: self._options.get("python_grad_func"))
    declared_input_types = property(lambda self: self._types)

    @property
    def definition(self):
        self._make()
        return self._made.definition

    @property
    def captured_inputs(self):
        self._make()
        return self._made.captured

    def _make(self):
        if self._made is not None:
            return
        graph, found = trace(self._func, self._types, [None] * len(self._types), self._base,
                             bool(self._options.get("capture_by_value")))
        with graph.as_default():
            self._none = found is None
            self._single = not isinstance(found, (list, tuple)) and not self._none
            outputs = [] if self._none or isinstance(found, Operation) else [convert_to_tensor(t) for t in nest.flatten(
                list(found) if isinstance(found, tuple) else found)]
            outputs = [graph.capture(t) for t in outputs]
        attrs = {}
        if self._options.get("noinline") is not None:
            attrs["_noinline"] = messages.AttrValue(b=bool(self._options["noinline"]))
        self._made = GraphFunction(graph, outputs, self._name or unique_name(self._base), self._options.get("out_names"),
                                   attrs)
        gradient = self._options.get("grad_func")
        if gradient is not None:
            gradient = gradient if isinstance(gradient, _Defined) else gradient.instantiate(
                self._types + [t for t in self._made.output_types])
            gradient._make()
            self._made._gradient = gradient._made

    def add_to_graph(self, graph):
        self._make()
        self._made.add_to_graph(graph)

    def __call__(self, *args, **kwargs):
        name = kwargs.pop("name", None)
        self._make()
        graph = get_default_graph()
        self._made.add_to_graph(graph)
        if len(args) != len(self._types):
            raise ValueError("Expected number of arguments: %d, received: %d" % (len(self._types), len(args)))
        inputs = [convert_to_tensor(a, t) for a, t in zip(args, self._types)] + list(self._made.captured)
        op = graph._new_operation(self._made.name, inputs, name or self._base)
        gradient = self._options.get("python_grad_func")
        if gradient is not None:
            graph._own_gradients[op._c] = gradient
        shapes = self._options.get("shape_func")
        known = shapes(op) if shapes is not None else [
            s if not self._types or s.is_fully_defined() else None for s in self._made.output_shapes]
        for tensor, shape in zip(op.outputs, known):
            if shape is not None:
                tensor.set_shape(shape)
        if self._none or not op.outputs:
            return op
        if self._single or len(op.outputs) == 1:
            return op.outputs[0]
        return list(op.outputs)


class _Overloaded:
    """A function whose types are those of its arguments: one definition for each choice."""

    def __init__(self, func, options):
        self._func, self._options, self._made = func, options, {}
        self.__name__, self.__doc__ = getattr(func, "__name__", "defun"), func.__doc__

    def instantiate(self, types):
        key = tuple(types)
        if key not in self._made:
            options = dict(self._options)
            if options.get("func_name"):
                options["func_name"] = "_".join([options["func_name"]] + [t.name for t in types]) if self._made else \
                    options["func_name"]
            self._made[key] = _Defined(self._func, list(types), options)
        return self._made[key]

    def __call__(self, *args, **kwargs):
        args = [convert_to_tensor(a) for a in args]
        return self.instantiate([a.dtype.base_dtype for a in args])(*args, **kwargs)


class Declare:
    """A function that another part of the program defines."""

    def __init__(self, func_name, inputs, outputs):
        self._name, self._inputs, self._outputs = func_name, inputs, outputs

    name = property(lambda self: self._name)

    def __call__(self, *args, **kwargs):
        op = get_default_graph()._new_operation(self._name, [convert_to_tensor(a, t) for a, (_, t) in zip(
            args, self._inputs)], kwargs.get("name"))
        return result(self._name, op)
