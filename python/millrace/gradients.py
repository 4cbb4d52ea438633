"""gradients — derivatives: the library's for its ops, functions registered in Python for those that have some."""
import ctypes
import enum

from . import _c, dtypes, graph as graphs, tensor_shape
from .convert import convert_to_tensor, convert_to_tensor_or_indexed_slices
from .graph import Operation, Tensor, _own_gradient_types, get_default_graph, name_scope
from .indexed import IndexedSlices

_registry = {}       # name -> function(op, *grads), or None where there is no gradient


class UnconnectedGradients(enum.Enum):
    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """Kept for programs that name one: gradients are added in one way."""
    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class RegisterGradient:
    """A decorator: the function f(op, *grads) is the gradient of that op type, or of a name for gradient_override_map."""

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        if self._op_type in _registry:
            raise KeyError("Registering two gradient with name '%s'!" % self._op_type)
        _registry[self._op_type] = f
        _own_gradient_types.add(self._op_type)
        return f


def no_gradient(op_type):
    """Says that an op has no gradient."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _registry[op_type] = None
    _own_gradient_types.add(op_type)


NotDifferentiable = NoGradient = no_gradient


def get_gradient_function(op):
    """The function registered in Python for an operation, or one that asks the library."""
    name = op.graph._own_gradients.get(op._c, op.type)
    if name in _registry:
        return _registry[name]
    return lambda op, *grads: gradients(list(op.outputs), list(op.inputs), list(grads))


def _flatten(values):
    if isinstance(values, (list, tuple)):
        return list(values)
    return [values]


def _target(x):
    """The tensor of a variable that gradients are taken of: its handle, or the reference's reading."""
    if getattr(x, "_is_resource", False) and hasattr(x, "handle"):
        return x.handle
    if hasattr(x, "_ref") and not isinstance(x, Tensor):
        return x._ref()
    if hasattr(x, "as_tensor") and hasattr(x, "_get_variable_list"):
        return x.as_tensor()
    return convert_to_tensor(x)


class _Question:
    """One call of the library: keeps alive what C points to, and carries errors of Python callbacks."""

    def __init__(self, graph):
        self.graph, self.error = graph, None

    def callback(self, arg, op_pointer, dys, dxs, status):
        try:
            op = self.graph._operation(op_pointer)
            grads = []
            for i in range(len(op.outputs)):
                grads.append(self._tensor(dys[i]))
            found = self._ask(op, grads)
            for i, g in enumerate(found):
                if g is None:
                    dxs[i].oper, dxs[i].index = None, 0
                else:
                    g = convert_to_tensor(g)
                    dxs[i].oper, dxs[i].index = g.op._c, g.value_index
        except BaseException as error:
            self.error = error
            _c.lib_set_status(status, 13, str(error).encode("utf-8", "replace")[:2000])

    def _tensor(self, output):
        return self.graph._operation(output.oper)._outputs[output.index] if output.oper else None

    def _ask(self, op, grads):
        function = self.graph._own_gradients.get(op._c)
        if isinstance(function, str):
            if function not in _registry:
                raise LookupError("gradient registry has no entry for: %s" % function)
            function = _registry[function]
        if function is None:
            return [None] * len(op.inputs)
        from .array_ops import zeros_like
        filled = grads if getattr(function, "takes_none", False) else [
            zeros_like(t) if g is None and (t.dtype.is_floating or t.dtype.is_complex) else g
            for g, t in zip(grads, op.outputs)]
        self.graph._sync()
        with name_scope(op.name + "_grad"):
            found = function(op, *filled)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(found) != len(op.inputs):
            raise ValueError("Num gradients %d generated for op %s do not match num inputs %d" % (
                len(found), op.name, len(op.inputs)))
        return found


def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False,
              aggregation_method=None, stop_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
    """The derivatives of the sum of ys with respect to each of xs, a list: tensors, IndexedSlices, or None.

    >>> x = tf.constant(3.0)
    >>> with tf.Session() as s: s.run(tf.gradients(x * x, [x]))
    [6.0]
    """
    ys = [convert_to_tensor_or_indexed_slices(y, name="y") for y in _flatten(ys)]
    ys = [y.values if isinstance(y, IndexedSlices) else y for y in ys]
    given = _flatten(xs)
    targets = [_target(x) for x in given]
    graph = ys[0].graph if ys else get_default_graph()
    seeds = _flatten(grad_ys) if grad_ys is not None else [None] * len(ys)
    if len(seeds) != len(ys):
        raise ValueError("Passed %d grad_ys for %d ys" % (len(seeds), len(ys)))
    stops = [convert_to_tensor(t).op for t in _flatten(stop_gradients)] if stop_gradients is not None else []
    from .loop_gradients import gradients_in_loop, is_in_loop
    with graph.as_default(), graph.name_scope(name or "gradients") as scope:
        if is_in_loop(graph._get_control_flow_context()):
            found = gradients_in_loop(graph, ys, targets, [None if g is None else _seed(y, g, i) for i, (y, g) in
                                                           enumerate(zip(ys, seeds))], stops, scope)
            return _connected(found, targets, given, unconnected_gradients)
        seeds = [_seed(y, g, i) for i, (y, g) in enumerate(zip(ys, seeds))]
        found = _ask_library(graph, ys, targets, seeds, stops, scope)
        return _connected(found, targets, given, unconnected_gradients)


def _connected(found, targets, given, unconnected_gradients):
    """Zeros for what ys do not depend on, where they are asked for."""
    if unconnected_gradients not in (UnconnectedGradients.ZERO, "zero"):
        return found
    from .array_ops import zeros_like
    return [zeros_like(t if not hasattr(x, "value") else x.value()) if g is None else g
            for g, t, x in zip(found, targets, given)]


def _seed(y, grad, i):
    dtype = y.dtype.base_dtype
    if grad is None:
        if dtype.is_complex:
            raise TypeError("Gradients of complex tensors must set grad_ys (y.dtype = %r)" % y.dtype)
        from .array_ops import ones_like, shape_internal
        from .constant import constant
        from .ops_apply import apply
        if not dtype.is_floating:
            return None
        return apply("Fill", "grad_ys_%d" % i, {"dims": shape_internal(y), "value": constant(1.0, dtype)})
    grad = convert_to_tensor_or_indexed_slices(grad, name="grad_y")
    if isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad)
    if dtype.is_floating and not grad.dtype.is_floating:
        raise TypeError("Gradient type %s generated for real or integer-valued tensor %s with type %s must be real or "
                        "integer" % (grad.dtype.name, y, y.dtype.name))
    return grad


def _ask_library(graph, ys, xs, seeds, stops, scope):
    graph._check_not_finalized()
    n = len(xs)
    pairs = [(y, s) for y, s in zip(ys, seeds) if s is not None]
    if not pairs or not n:
        return [None] * n
    question = _Question(graph)
    own = list(graph._own_gradients)
    info = _c.Gradients(struct_size=ctypes.sizeof(_c.Gradients))
    kept = [_c.output_array([y._as_tf_output() for y, _ in pairs]), _c.output_array([x._as_tf_output() for x in xs]),
            _c.output_array([s._as_tf_output() for _, s in pairs]), (ctypes.c_void_p * len(stops))(*[o._c for o in stops]),
            (ctypes.c_void_p * len(own))(*own), (_c.Output * n)(), (_c.Output * n)(), (_c.Output * n)()]
    info.ys, info.xs, info.dys, info.stops, info.own, info.values, info.indices, info.shapes = [
        ctypes.cast(a, type(getattr(info, k))) for a, k in zip(kept, ("ys", "xs", "dys", "stops", "own", "values",
                                                                       "indices", "shapes"))]
    info.num_ys, info.num_xs, info.num_stops, info.num_own = len(pairs), n, len(stops), len(own)
    info.gradient = _c.Gradients.CALLBACK(question.callback)
    # The seeds stand in the scope already, so the library is asked for a scope of its own, inside.
    info.prefix = _free_prefix(graph, scope).encode()
    from . import errors
    try:
        _c.call("mr_add_gradients", graph._c, ctypes.byref(info))
    except errors.NotFoundError as error:
        raise LookupError(_lookup_text(error.message)) from None
    except errors.OpError as error:
        _forget_removed(graph)
        if question.error is not None:
            raise question.error
        if "Second-order" in error.message:
            raise TypeError(error.message) from None
        raise ValueError(error.message) from None
    new = graph._sync(graphs._where())
    context = graph._get_control_flow_context()
    if context is not None:
        for op in new:
            op._control_flow_context = context
    return [_result(question, info, i) for i in range(n)]


def _free_prefix(graph, scope):
    base = scope + "d"
    i, name = 0, base
    while name.lower() in graph._names_in_use:
        i += 1
        name = "%s_%d" % (base, i)
    return name


def _lookup_text(message):
    import re
    match = re.search(r"No gradient defined for op: (\S+) \(node '([^']*)'\)", message)
    return "No gradient defined for operation '%s' (op type: %s)" % match.groups()[::-1] if match else message


def _forget_removed(graph):
    """After a failure the library has taken back what it made, callbacks' operations too."""
    alive = []
    for op in graph._operations:
        if _c.TF_GraphOperationByName(graph._c, op.name.encode()) == op._c:
            alive.append(op)
        else:
            graph._by_pointer.pop(op._c, None)
            graph._by_name.pop(op.name, None)
    graph._operations = alive
    graph._position = ctypes.c_size_t(0)


def _result(question, info, i):
    values = question._tensor(info.values[i])
    if values is None:
        return None
    indices = question._tensor(info.indices[i])
    return values if indices is None else IndexedSlices(values, indices, question._tensor(info.shapes[i]))


def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=False, gate_gradients=False,
             aggregation_method=None):
    """The second derivatives of sum(ys) with respect to each x, of x's shape twice."""
    from .array_ops import concat, reshape, shape, stack
    from .functional_ops import map_fn
    xs = _flatten(xs)
    out = []
    for first, x in zip(gradients(ys, xs), xs):
        n = x.shape.num_elements()
        flat = reshape(first, [-1])
        rows = [gradients(flat[i], x)[0] for i in range(n)]
        out.append(reshape(stack([reshape(r, [-1]) for r in rows]), concat([shape(x), shape(x)], 0)))
    return out


# ---------------------------------------- gradients of one's own

_numbers = iter(range(1, 1 << 62))


def _variables_between(graph, results, inputs):
    """The trainable variables that results are computed from, not going beyond the inputs."""
    from .variables import trainable_variables
    owners = {id(_target(v).op): v for v in trainable_variables()}
    seen, stack, found = {id(t.op) for t in inputs}, [t.op for t in results], []
    while stack:
        op = stack.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        if id(op) in owners:
            found.append(owners[id(op)])
        stack += [t.op for t in op.inputs]
    return found


def custom_gradient(f=None):
    """A decorator: f gives (results, function of their gradients)."""
    import functools
    import inspect
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        from .ops_apply import apply_op
        args = [convert_to_tensor(a) for a in args]
        if graphs.executing_eagerly():
            return _custom_now(f, args, kwargs)
        graph = get_default_graph()
        inner = [apply_op("Identity", None, {"input": a}).outputs[0] for a in args]
        result, grad_fn = f(*inner, **kwargs)
        results = [convert_to_tensor(r) for r in _flatten(result)]
        with_variables = "variables" in inspect.signature(grad_fn).parameters
        used = _variables_between(graph, results, inner) if with_variables else []
        handles = [_target(v) for v in used]
        # One operation stands for all: results in, results out; its gradient goes to the arguments.
        op = apply_op("IdentityN", None, {"input": results + args + handles})

        def gradient(op, *grads):
            grads = grads[:len(results)]
            if not used:
                return [None] * len(results) + _flatten(grad_fn(*grads))
            found, of_variables = grad_fn(*grads, variables=used)
            return [None] * len(results) + _flatten(found) + _flatten(of_variables)
        graph._own_gradients[op._c] = gradient
        outputs = list(op.outputs[:len(results)])
        if isinstance(result, (list, tuple)):
            return type(result)(outputs) if not hasattr(result, "_fields") else type(result)(*outputs)
        return outputs[0]
    return decorated


def _custom_now(f, args, kwargs):
    """custom_gradient of eager mode: f runs unrecorded, and stands in the recording as one call."""
    from .eager import execute, tape
    tapes, execute.recording.tapes = execute.recording.tapes, []
    try:
        result, grad_fn = f(*args, **kwargs)
    finally:
        execute.recording.tapes = tapes
    results = [convert_to_tensor(r) for r in _flatten(result)]
    for one in tapes:
        one._record(tape.own_gradient(grad_fn), args, results)
    if isinstance(result, (list, tuple)):
        return type(result)(results) if not hasattr(result, "_fields") else type(result)(*results)
    return results[0]


def grad_pass_through(f):
    def function(*args, **kwargs):
        @custom_gradient
        def inner(*args):
            return f(*args, **kwargs), lambda *grads: grads
        return inner(*args)
    return function


def recompute_grad(f):
    return f
