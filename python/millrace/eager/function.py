"""function — Python functions that become graphs: `function` traces one for each kind of arguments, the library runs it.

A ConcreteFunction is a part of a graph between inputs and outputs. Its derivative is another: the gradients are made in the
same graph, and the values of the forward part that they need become results of a second forward function.
"""
import ctypes
import functools
import inspect
import itertools

import numpy as np

from .. import _c, dtypes, nest
from ..convert import convert_to_tensor
from ..graph import Operation, executing_eagerly
from ..indexed import IndexedSlices
from ..tensor_spec import TensorSpec
from ..variables import Variable
from . import execute
from .func_graph import FuncGraph
from .tensor import EagerTensor, from_array

_numbers = itertools.count(1)
_INCLUDED = ("Const", "VarHandleOp")     # cheap to have twice: no value of them is handed over
_CALL = "StatefulPartitionedCall"


# ---------------------------------------- a part of a graph

def _reached(outputs, is_input, extra=()):
    """(operations between inputs and outputs, the input tensors met), both in the order of being met."""
    ops, inputs, stack = {}, {}, []

    def visit(tensor):
        if is_input(tensor):
            inputs.setdefault(id(tensor), tensor)
        elif tensor.op not in ops:
            ops[tensor.op] = None
            stack.append(tensor.op)
    for tensor in outputs:
        visit(tensor)
    for op in extra:
        if op not in ops:
            ops[op] = None
            stack.append(op)
    while stack:
        op = stack.pop()
        for tensor in op.inputs:
            visit(tensor)
        for one in op.control_inputs:
            if one not in ops and one.type != "Placeholder":
                ops[one] = None
                stack.append(one)
    return list(ops), list(inputs.values())


class ConcreteFunction:
    """What a graph computes of `outputs` from `inputs`, lists of its tensors. `captured`: eager tensors for the last inputs."""

    def __init__(self, graph, inputs, outputs, captured=(), effects=(), raw_outputs=None, name="function"):
        self.graph, self.flat_inputs, self.flat_outputs = graph, list(inputs), list(outputs)
        self.captured, self._effects = list(captured), list(effects)
        self._raw = list(raw_outputs if raw_outputs is not None else outputs)   # without what waits for effects
        self.name = "__%s_%d" % (name, next(_numbers))
        self._call = self._function = None
        self._derivative = self._whole = None
        self.structure = self.signature = None
        self._owner, self._registered, self._calls = None, False, ()

    def __del__(self):
        try:
            if self._registered:
                _c.call("TFE_ContextRemoveFunction", execute.context(), self.name.encode())
            if self._function is not None:
                _c.TF_DeleteFunction(self._function)
        except Exception:  # the interpreter is going
            pass

    # ---- as the library sees it

    @property
    def definition(self):
        """The TF_Function."""
        if self._function is None:
            ids = {id(t) for t in self.flat_inputs}
            ops, _ = _reached(self.flat_outputs, lambda t: id(t) in ids, self._effects)
            for op in ops:
                if op.type == "Placeholder":
                    raise ValueError("the function needs %s, which is none of its inputs" % op.name)
            opers = (ctypes.c_void_p * len(ops))(*[op._c for op in ops])
            outputs = [t._as_tf_output() for t in self.flat_outputs]
            self._function = _c.call("TF_GraphToFunction", self.graph._c, self.name.encode(), 0, len(ops), opers,
                                     len(self.flat_inputs), _c.output_array([t._as_tf_output() for t in self.flat_inputs]),
                                     len(outputs), _c.output_array(outputs), None, None, None)
        return self._function

    def _prepared(self, inputs):
        if self._call is None:
            self._register()
            self._call = execute._make_call(_CALL, [list(inputs)], {
                "Tout": [t.dtype.base_dtype for t in self.flat_outputs], "f": self.name})
            self._call.function = self
        return self._call

    def _register(self):
        """Makes the function, and those that it calls, known to the eager context."""
        if self._registered:
            return
        self._registered = True
        definition = self.definition
        self._calls = [f for f in self.graph._functions.values() if isinstance(f, ConcreteFunction)]
        for one in self._calls:
            one._register()
        _c.call("TFE_ContextAddFunction", execute.context(), definition)

    def copy_into(self, graph):
        """Makes the function one of a graph's library; its name."""
        if self.name not in graph._functions:
            _c.call("TF_GraphCopyFunction", graph._c, self.definition, None)
            graph._functions[self.name] = self
            for one in self.graph._functions.values():
                if isinstance(one, ConcreteFunction) and one is not self and self.graph is not graph:
                    one.copy_into(graph)
        return self.name

    def node(self, graph, inputs):
        """An operation in a graph that calls the function on its tensors."""
        self.copy_into(graph)
        op = graph._new_operation(_CALL, [list(inputs)], None, {
            "Tout": [t.dtype.base_dtype for t in self.flat_outputs], "f": self.name})

        def gradient(op, *dys):
            return self.whole_derivative().apply(graph, list(op.inputs), dys)
        gradient.takes_none = True
        graph._own_gradients[op._c] = gradient
        for found, known in zip(op._outputs, self.flat_outputs):
            found.set_shape(known.shape)
        return op._outputs

    # ---- calling

    def run(self, inputs):
        """Its results on eager tensors, those captured not among them."""
        inputs = list(inputs) + self.captured
        if not execute.recording.tapes or not self._is_watched(inputs):
            return self._prepared(inputs).run(inputs)
        return self._run_recorded(inputs)

    def _is_watched(self, inputs):
        return any(tape._cares(inputs, self.graph.variables() if self._uses_variables else ())
                   for tape in execute.recording.tapes)

    @property
    def _uses_variables(self):
        return hasattr(self.graph, "variables")

    def _run_recorded(self, inputs):
        derivative = self.derivative()
        if derivative is None:
            return self._prepared(inputs).run(inputs)
        call = derivative.forward._prepared(inputs)
        outputs = call.run(inputs)
        variables = derivative.variables
        for tape in execute.recording.tapes:
            tape._record(derivative, inputs, outputs, variables)
        return outputs[:len(self.flat_outputs)]

    # ---- derivatives

    def derivative(self):
        """The Derivative, or None where there is nothing to derive."""
        if self._derivative is None:
            self._derivative = (_make_derivative(self, False),)
        return self._derivative[0]

    def whole_derivative(self):
        """The same as one function of the inputs and the results' gradients, which computes the forward part again."""
        if self._whole is None:
            self._whole = (_make_derivative(self, True),)
        return self._whole[0]


class Derivative:
    """The gradients of a function: `forward` gives its results and then what `backward` needs of them; `backward` takes the
    results' gradients (of those in `seeded`) and then that, and gives gradients for the inputs and variables in `wanted`."""
    __slots__ = ("function", "forward", "backward", "seeded", "kept", "wanted", "variables", "__weakref__")

    def apply(self, graph, inputs, dys):
        """The gradients in a graph for a node of the function without kept values: for each of its inputs, or None."""
        from ..array_ops import zeros
        seeds = []
        for i in self.seeded:
            output = self.function.flat_outputs[i]
            seeds.append(dys[i] if dys[i] is not None else zeros(output.shape, output.dtype))
        by_id = {id(t): x for t, x in zip(self.function.flat_inputs, inputs)}
        found = self.backward.node(graph, seeds + [by_id[id(t)] for t in self.kept])
        result = [None] * len(inputs)
        for i, dx in zip(self.wanted, found):
            if i < len(inputs):
                result[i] = dx
        return result


def _differentiable(tensor):
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _make_derivative(function, whole):
    from ..gradients import gradients
    graph = function.graph
    n0 = len(graph._operations)
    place = {op: i for i, op in enumerate(graph._operations)}
    seeded = [i for i, t in enumerate(function.flat_outputs) if _differentiable(t)]
    variables = [v for v in graph.variables() if v.trainable] if function._uses_variables else []
    wanted = [i for i, t in enumerate(function.flat_inputs) if _differentiable(t)]
    n_in = len(function.flat_inputs)
    if not seeded or not wanted and not variables:
        return None
    with graph.as_default():
        seeds = [graph.argument(function.flat_outputs[i].dtype.base_dtype, function.flat_outputs[i].shape, "seed")
                 for i in seeded]
        xs = [function.flat_inputs[i] for i in wanted] + [graph.variable_handle(v) for v in variables]
        found = gradients([function._raw[i] for i in seeded], xs, seeds, stop_gradients=function.flat_inputs)
        found = [None if g is None else _dense(g) for g in found]
    outputs = [g for g in found if g is not None]
    wanted = [i for i, g in zip(wanted + list(range(n_in, n_in + len(variables))), found) if g is not None]
    if not outputs:
        return None
    given = {id(t) for t in function.flat_inputs + seeds}
    flows = any(op.type in ("Enter", "Switch", "RefSwitch") for op in graph._operations[:n0])
    if whole or flows:
        is_input = lambda t: id(t) in given
    else:
        is_input = lambda t: id(t) in given or place.get(t.op, n0) < n0 and t.op.type not in _INCLUDED
    _, cut = _reached(outputs, is_input)
    seed_ids = {id(s) for s in seeds}
    kept = [t for t in cut if id(t) not in seed_ids]
    made = Derivative()
    made.function, made.seeded, made.wanted, made.kept = function, seeded, wanted, kept
    made.variables = [variables[i - n_in] for i in wanted if i >= n_in]
    made.backward = ConcreteFunction(graph, seeds + kept, outputs, name="backward")
    made.backward._owner = function
    if not whole:
        made.forward = ConcreteFunction(graph, function.flat_inputs, function.flat_outputs + [
            t for t in kept if id(t) not in given], effects=function._effects, name="forward",
            raw_outputs=function._raw + [t for t in kept if id(t) not in given])
    return made


def _dense(gradient):
    return convert_to_tensor(gradient)


# ---------------------------------------- tracing

def _is_value(leaf):
    return isinstance(leaf, (EagerTensor, np.ndarray, np.generic))


def _spec_key(leaf):
    if _is_value(leaf):
        return "tensor", dtypes.as_dtype(leaf.dtype)._number, tuple(leaf.shape)
    if isinstance(leaf, Variable):
        return "variable", id(leaf)
    try:
        hash(leaf)
        return type(leaf), leaf
    except TypeError:
        return "object", id(leaf)


class Function:
    """A Python function that runs as a graph, traced once for each kind of arguments: dtypes and shapes of tensors, values of
    everything else. Made by `function`."""

    def __init__(self, python_function, name=None, input_signature=None, reduce_retracing=False, **ignored):
        self._python, self._name = python_function, name or getattr(python_function, "__name__", "function")
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._reduce = reduce_retracing
        self._traced = {}                 # what decides -> ConcreteFunction
        self._keep = []                   # objects whose ids are in keys
        self._made = None                 # variables that the first call made
        self._bound = {}
        self._relaxed = {}
        try:
            self._parameters = inspect.signature(python_function)
        except (TypeError, ValueError):
            self._parameters = None
        functools.update_wrapper(self, python_function, updated=())

    python_function = property(lambda self: self._python)
    __name__ = property(lambda self: self._name, lambda self, value: None)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        # Kept with the instance, so that the graphs go with it.
        bound = instance.__dict__.get("__function_" + self._name) if hasattr(instance, "__dict__") else None
        if bound is None:
            bound = Function(self._python.__get__(instance, owner), self._name, self.input_signature, self._reduce)
            if hasattr(instance, "__dict__"):
                instance.__dict__["__function_" + self._name] = bound
        return bound

    def experimental_get_tracing_count(self):
        return len(self._traced)

    def __repr__(self):
        return "<tf.function %s>" % self._name

    # ---- calling

    def __call__(self, *args, **kwargs):
        if _eagerly or not executing_eagerly():
            return self._python(*args, **kwargs)    # op by op, or part of the graph that is being built
        concrete, values = self._find(args, kwargs)
        return concrete.pack(concrete.run(values))

    def _canonical(self, args, kwargs):
        if self._parameters is None:
            return args, kwargs
        bound = self._parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _find(self, args, kwargs):
        if self.input_signature is not None:
            args, kwargs = self._signed(args, kwargs)
        else:
            args, kwargs = self._canonical(args, kwargs)
        leaves = nest.flatten((args, kwargs))
        key = (tuple([_spec_key(leaf) for leaf in leaves]), _shape_of_structure((args, kwargs)))
        concrete = self._traced.get(key)
        if concrete is None and self._reduce:
            key, leaves, concrete = self._relax(key, leaves)
        if concrete is None:
            concrete = self._trace(args, kwargs, leaves, key)
        return concrete, [_value(leaf) for leaf in leaves if _is_value(leaf)]

    def _signed(self, args, kwargs):
        """The arguments as tensors of the input_signature's types."""
        if kwargs and self._parameters is not None:
            bound = self._parameters.bind(*args, **kwargs)
            args = bound.args
        specs = self.input_signature
        if len(args) != len(specs):
            raise TypeError("%s() takes %d arguments by its input_signature but got %d" % (self._name, len(specs), len(args)))
        flat_specs = nest.flatten(list(specs))
        try:
            flat = nest.flatten_up_to(list(specs), list(args))
        except (TypeError, ValueError):
            raise ValueError("Structure of Python function inputs does not match input_signature: %s and %s" % (
                args, specs)) from None
        tensors = []
        for value, spec in zip(flat, flat_specs):
            tensor = value if isinstance(value, EagerTensor) else convert_to_tensor(value, spec.dtype)
            if not spec.is_compatible_with(tensor):
                raise ValueError("Python inputs incompatible with input_signature: inputs (%s), input_signature (%s)" % (
                    value, spec))
            tensors.append(tensor)
        return tuple(nest.pack_sequence_as(list(specs), tensors)), {}

    def _relax(self, key, leaves):
        """With reduce_retracing: a graph for all shapes of this rank, from the second shape on."""
        loose = tuple([(k[0], k[1], len(k[2])) if k[0] == "tensor" else k for k in key[0]]), key[1]
        seen = self._relaxed.get(loose)
        if seen is None:
            self._relaxed[loose] = [k[2] if k[0] == "tensor" else None for k in key[0]]
            return key, leaves, None
        merged = [None if a is None else tuple(x if x == y else None for x, y in zip(a, k[2]))
                  for a, k in zip(seen, key[0])]
        self._relaxed[loose] = merged
        key = tuple([(k[0], k[1], m) if k[0] == "tensor" else k for k, m in zip(key[0], merged)]), key[1]
        return key, leaves, self._traced.get(key)

    # ---- tracing

    def _trace(self, args, kwargs, leaves, key):
        may_make = self._made is None
        concrete = self._trace_once(args, kwargs, leaves, key, may_make)
        if may_make:
            self._made = concrete.graph.made
            if self._made:      # a second time, to see that no call but the first makes variables
                concrete = self._trace_once(args, kwargs, leaves, key, False)
        self._traced[key] = concrete
        self._keep.append(leaves)
        return concrete

    def _trace_once(self, args, kwargs, leaves, key, may_make):
        graph = FuncGraph(self._name)
        graph.may_make = may_make
        specs = nest.flatten(list(self.input_signature)) if self.input_signature is not None else None
        inputs, inside, at = [], [], 0
        with graph.as_default():
            for leaf, k in zip(leaves, key[0]):
                if not _is_value(leaf):
                    inside.append(leaf)
                    continue
                shape = specs[at].shape if specs else k[2]
                inputs.append(graph.argument(dtypes.as_dtype(leaf.dtype), shape))
                inside.append(inputs[-1])
                at += 1
            call_args, call_kwargs = nest.pack_sequence_as((args, kwargs), inside)
            result = self._python(*call_args, **call_kwargs)
        return finish(graph, inputs, result, self._name)

    def get_concrete_function(self, *args, **kwargs):
        """The graph for arguments, or for TensorSpecs that stand for them."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        elif self._parameters is not None:
            args, kwargs = self._canonical(args, kwargs)
        leaves = nest.flatten((args, kwargs))
        stand_in = [_SpecValue(leaf) if isinstance(leaf, TensorSpec) else leaf for leaf in leaves]
        key = (tuple([("tensor", l.dtype._number, l.dims) if isinstance(l, _SpecValue) else _spec_key(l)
                      for l in stand_in]), _shape_of_structure((args, kwargs)))
        concrete = self._traced.get(key)
        if concrete is None:
            may_make = self._made is None
            concrete = self._trace_specs(args, kwargs, stand_in, may_make)
            if may_make:
                self._made = concrete.graph.made
                if self._made:
                    concrete = self._trace_specs(args, kwargs, stand_in, False)
            self._traced[key] = concrete
            self._keep.append(leaves)
        return BoundFunction(concrete)

    def _trace_specs(self, args, kwargs, leaves, may_make):
        graph = FuncGraph(self._name)
        graph.may_make = may_make
        inputs, inside = [], []
        with graph.as_default():
            for leaf in leaves:
                if isinstance(leaf, _SpecValue) or _is_value(leaf):
                    name = leaf.name if isinstance(leaf, _SpecValue) and leaf.name else "argument"
                    shape = leaf.dims if isinstance(leaf, _SpecValue) else leaf.shape
                    inputs.append(graph.argument(dtypes.as_dtype(leaf.dtype), shape, name))
                    inside.append(inputs[-1])
                else:
                    inside.append(leaf)
            call_args, call_kwargs = nest.pack_sequence_as((args, kwargs), inside)
            result = self._python(*call_args, **call_kwargs)
        return finish(graph, inputs, result, self._name)


class _SpecValue:
    def __init__(self, spec):
        self.dtype, self.name = spec.dtype, spec.name
        self.dims = None if spec.shape.dims is None else tuple(d.value for d in spec.shape.dims)


def _value(leaf):
    return leaf if isinstance(leaf, EagerTensor) else from_array(np.asarray(leaf))


def _shape_of_structure(structure):
    """What is the same for two structures whose leaves stand in the same places."""
    if isinstance(structure, dict):
        return type(structure), tuple([(k, _shape_of_structure(v)) for k, v in sorted(structure.items(), key=lambda i: str(i[0]))])
    if isinstance(structure, (list, tuple)):
        return type(structure), tuple([_shape_of_structure(v) for v in structure])
    return None


def finish(graph, inputs, result, name="function"):
    """The ConcreteFunction of a graph that has been traced: `result` is what the Python function gave."""
    from ..array_ops import identity
    with graph.as_default():
        leaves, raw = nest.flatten(result), []
        for leaf in leaves:
            if leaf is None or isinstance(leaf, Operation):
                continue
            if isinstance(leaf, IndexedSlices):
                leaf = convert_to_tensor(leaf)
            elif hasattr(leaf, "_as_tensor_array"):
                leaf = leaf.stack()
            raw.append(convert_to_tensor(leaf))
        effects = graph.effects()
        with graph.control_dependencies(effects):
            # A result is done when everything that has effects is.
            outputs = [identity(t) for t in raw]
            if not outputs:
                from ..constant import constant
                outputs = [constant(0, name="done")]
    concrete = ConcreteFunction(graph, inputs + [p for _, p in graph.captured], outputs, [t for t, _ in graph.captured],
                                raw_outputs=raw or outputs, name=name)
    concrete.arguments = list(inputs)
    concrete.structure = result
    concrete.pack = _packer(result, leaves)
    return concrete


def _packer(result, leaves):
    if len(leaves) == 1 and result is leaves[0]:
        if result is None or isinstance(result, Operation):
            return lambda values: None
        return lambda values: values[0]

    def pack(values):
        rest = iter(values)
        return nest.pack_sequence_as(result, [None if l is None or isinstance(l, Operation) else next(rest)
                                              for l in leaves])
    return pack


class BoundFunction:
    """A ConcreteFunction to be called with tensors, as get_concrete_function gives it."""

    def __init__(self, concrete):
        self._concrete = concrete

    graph = property(lambda self: self._concrete.graph)
    inputs = property(lambda self: list(self._concrete.flat_inputs))
    outputs = property(lambda self: list(self._concrete.flat_outputs))
    name = property(lambda self: self._concrete.name)
    variables = property(lambda self: self._concrete.graph.variables())
    structured_outputs = property(lambda self: self._concrete.structure)
    captured_inputs = property(lambda self: list(self._concrete.captured))

    @property
    def structured_input_signature(self):
        return tuple(TensorSpec(t.shape, t.dtype, t.op.name) for t in self._concrete.arguments), {}

    def __call__(self, *args, **kwargs):
        leaves = [v for v in nest.flatten((args, kwargs)) if not isinstance(v, Variable)]
        arguments = self._concrete.arguments
        if len(leaves) != len(arguments):
            raise TypeError("the function takes %d tensors but got %d" % (len(arguments), len(leaves)))
        values = [v if isinstance(v, EagerTensor) else convert_to_tensor(v, t.dtype) for v, t in zip(leaves, arguments)]
        for value, argument in zip(values, arguments):
            if value.dtype != argument.dtype or not argument.shape.is_compatible_with(value.shape):
                from ..errors import InvalidArgumentError
                raise InvalidArgumentError(None, None, "cannot compute %s as input %s was expected to be a %s tensor of shape "
                                           "%s but is a %s tensor of shape %s" % (
                                               self.name, argument.op.name, argument.dtype.name, argument.shape,
                                               value.dtype.name, value.shape))
        return self._concrete.pack(self._concrete.run(values))


def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False,
             experimental_implements=None, experimental_autograph_options=None, experimental_attributes=None,
             experimental_relax_shapes=None, experimental_compile=None, experimental_follow_type_hints=None):
    """A Python function as graphs: each kind of arguments is traced once. A decorator, with or without arguments.

    Python's own `if` and `for` are run while tracing: what depends on a tensor's value is tf.cond and tf.while_loop.

    >>> import millrace as tf
    >>> square = tf.function(lambda x: x * x)
    >>> square(tf.constant(3.0)).numpy()
    9.0
    """
    if input_signature is not None and not isinstance(input_signature, (list, tuple)):
        raise TypeError("input_signature must be either a tuple or a list, got %s" % type(input_signature))
    reduce = reduce_retracing or bool(experimental_relax_shapes)

    def decorated(f):
        return Function(f, input_signature=input_signature, reduce_retracing=reduce)
    return decorated(func) if func is not None else decorated


_eagerly = False


def run_functions_eagerly(on):
    """Whether functions run as Python, op by op."""
    global _eagerly
    _eagerly = bool(on)


def functions_run_eagerly():
    return _eagerly


def lifted(tensor):
    """The value of a tensor of a graph that is being traced, where it depends on no argument: computed at once."""
    ops, _ = _reached([tensor], lambda t: False)
    if any(op.type == "Placeholder" for op in ops):
        raise ValueError("the initial value of a variable depends on the arguments of the function that makes it (%s); give "
                         "a function that makes the value" % tensor.name)
    return ConcreteFunction(tensor.graph, [], [tensor], name="initial_value").run([])[0]
