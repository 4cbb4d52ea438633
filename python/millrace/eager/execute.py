"""execute — ops run as they are called, by the library's eager context.

The first call of an op with these types and attributes is made ready in C (mr_call); later ones only hand over tensors.
"""
import collections
import ctypes
import threading

from .. import _c, dtypes, op_table
from ..ops_apply import _Call, _results
from ..tensor_shape import TensorShape, as_shape

_lock = threading.Lock()
_context = None


def context():
    """The TFE_Context of this process."""
    global _context
    if _context is None:
        with _lock:
            if _context is None:
                options = _c.TFE_NewContextOptions()
                try:
                    _context = _c.call("TFE_NewContext", options)
                finally:
                    _c.TFE_DeleteContextOptions(options)
    return _context


# ---------------------------------------- what is recorded

class _Recording(threading.local):
    """The tapes that are open in this thread, the outermost first."""

    def __init__(self):
        self.tapes = []


recording = _Recording()


def record(call, inputs, outputs):
    for tape in recording.tapes:
        tape._record(call, inputs, outputs)


# ---------------------------------------- calls made ready

class PreparedCall:
    """An op with its types and attributes: `run(inputs)` gives its results, both lists of eager tensors."""
    __slots__ = ("op_type", "attrs", "lists", "pointer", "n_out", "dtypes", "gradient", "function", "__weakref__")

    def __init__(self, op_type, attrs, lists, pointer):
        self.op_type, self.attrs, self.lists, self.pointer = op_type, attrs, lists, pointer
        self.n_out = _c.mr_call_num_outputs(pointer)
        self.dtypes = [dtypes._by_number[_c.mr_call_output_type(pointer, i)] for i in range(self.n_out)]
        self.function = None      # the function that it calls, where that is one of eager mode

    def run(self, inputs):
        n_in, n_out = len(inputs), self.n_out
        given = (ctypes.c_void_p * n_in)(*[t._handle for t in inputs])
        results = (ctypes.c_void_p * n_out)()
        with _c.Status() as status:
            _c.mr_call_run(self.pointer, given, results, status)
        return [tensor_of(results[i], self.dtypes[i]) for i in range(n_out)]


_calls = {}             # what decides a call -> PreparedCall
_UNSHARED = ("cd2c89b7-88b7-44c8-ad83-06c2a9158347", b"cd2c89b7-88b7-44c8-ad83-06c2a9158347")


def _hashable(value):
    if isinstance(value, (list, tuple)):
        return tuple([_hashable(v) for v in value])
    if isinstance(value, TensorShape):
        return "shape", None if value.dims is None else tuple([d.value for d in value.dims])
    if hasattr(value, "SerializeToString"):
        return type(value), value.SerializeToString()
    return (type(value), value) if isinstance(value, (bool, int, float)) else value


def prepare(op_type, inputs, attrs):
    """The PreparedCall for arguments: `inputs` has a tensor or a list of tensors for each."""
    key = (op_type, tuple([tuple([t._dtype._number for t in i]) if type(i) is list else i._dtype._number for i in inputs]),
           tuple([(k, _hashable(v)) for k, v in attrs.items()]))
    found = _calls.get(key)
    if found is None:
        found = _make_call(op_type, inputs, attrs)
        if attrs.get("shared_name") not in _UNSHARED:
            _calls[key] = found
    return found


def _make_call(op_type, inputs, attrs):
    op = op_table.find(op_type)
    pointer = _c.call("TFE_NewOp", context(), op_type.encode())
    try:
        for one in inputs:
            with _c.Status() as status:
                if type(one) is list:
                    handles = (ctypes.c_void_p * len(one))(*[t._handle for t in one])
                    _c.TFE_OpAddInputList(pointer, handles, len(one), status)
                else:
                    _c.TFE_OpAddInput(pointer, one._handle, status)
        for key, value in attrs.items():
            data = _attr_proto(op.attrs[key].type if key in op.attrs else "int", value).SerializeToString()
            with _c.Status() as status:
                _c.TFE_OpSetAttrValueProto(pointer, key.encode(), data, len(data), status)
        made = _c.call("mr_call_new", pointer)
    finally:
        _c.TFE_DeleteOp(pointer)
    lists = [len(i) if type(i) is list else -1 for i in inputs]
    return PreparedCall(op_type, attrs, lists, made)


_FIELDS = {"int": "i", "float": "f", "bool": "b", "type": "type", "string": "s", "shape": "shape", "tensor": "tensor",
           "func": "func"}
_PLAIN = {"int": int, "float": float, "bool": bool, "type": lambda v: int(dtypes.as_dtype(v)), "string": _c.encode}


def _attr_proto(kind, value):
    """An AttrValue message."""
    from .. import messages
    proto = messages.AttrValue()
    is_list = kind.startswith("list(")
    kind = kind[5:-1] if is_list else kind
    if kind in _PLAIN:
        if is_list:
            proto.list.SetInParent()
            getattr(proto.list, _FIELDS[kind]).extend([_PLAIN[kind](v) for v in value])
        else:
            setattr(proto, _FIELDS[kind], _PLAIN[kind](value))
        return proto
    if is_list:
        proto.list.SetInParent()
        for one in value:
            _set_message(kind, getattr(proto.list, _FIELDS[kind]).add(), one)
    else:
        message = getattr(proto, _FIELDS[kind])
        message.SetInParent()
        _set_message(kind, message, value)
    return proto


def _set_message(kind, message, value):
    if kind == "func":
        message.name = value if isinstance(value, str) else value.name
    elif kind == "shape":
        message.CopyFrom(as_shape(value).as_proto())
    else:
        from ..constant import make_tensor_proto
        message.CopyFrom(make_tensor_proto(value))


# ---------------------------------------- from Python values

def run(op_type, values):
    """Runs an op on Python values by the names of its inputs and attributes; its results, a list."""
    op = op_table.find(op_type)
    if op is None:
        from ..graph import _similar_op
        raise ValueError("Op type not registered '%s' in this library%s" % (op_type, _similar_op(op_type)))
    unknown = values.keys() - op.known
    if unknown:
        raise TypeError("%s() got an unexpected keyword argument %r" % (op_type, sorted(unknown)[0]))
    call = _Call(op_type, op, values)
    inputs = []
    for arg in op.inputs:
        value = values.get(arg.name)
        inputs.append(call.many(arg, value) if arg.number_attr or arg.type_list_attr else call.single(arg, value))
    attrs = {k: v for k, v in call.attrs.items() if v is not None}
    for key in op.inferred:
        if values.get(key) is not None:
            attrs.pop(key, None)
    for arg, given in zip(op.inputs, inputs):
        if arg.number_attr and not given and arg.type_attr:
            attrs[arg.type_attr] = call.found.get(arg.type_attr) or dtypes.float32
    return run_on(op_type, inputs, attrs)


def run_on(op_type, inputs, attrs):
    """The same on tensors: `inputs` has one, or a list, for each argument."""
    if _streams and "seed" in attrs:
        attrs["_stream"] = _streams
    prepared = prepare(op_type, inputs, attrs)
    flat = [t for i in inputs for t in (i if type(i) is list else (i,))]
    outputs = prepared.run(flat)
    if recording.tapes:
        record(prepared, flat, outputs)
    return outputs


def result(op_type, outputs, values):
    """What a function of the op gives: nothing, a tensor, a list, or a tuple by the outputs' names."""
    args = op_table.find(op_type).outputs
    if not args:
        return None
    if len(args) == 1:
        return outputs if args[0].number_attr or args[0].type_list_attr else outputs[0]
    if op_type not in _results:
        _results[op_type] = collections.namedtuple(op_type, [a.name for a in args], rename=True)
    several = [a for a in args if a.number_attr or a.type_list_attr]
    if not several:
        return _results[op_type]._make(outputs)
    parts, at = [], 0
    for arg in args:
        if arg not in several:
            parts.append(outputs[at])
            at += 1
            continue
        n = _length(arg, values) if len(several) > 1 else len(outputs) - (len(args) - 1)
        parts.append(outputs[at:at + n])
        at += n
    return _results[op_type]._make(parts)


def _length(arg, values):
    given = values.get(arg.number_attr or arg.type_list_attr)
    return given if isinstance(given, int) else len(given)


class EagerOperation:
    """What is left of an operation that has run: its results."""
    __slots__ = ("type", "outputs", "name")

    def __init__(self, op_type, outputs):
        self.type, self.outputs, self.name = op_type, outputs, op_type

    def run(self, feed_dict=None, session=None):
        raise NotImplementedError("an operation of eager mode (%s) has run already" % self.type)


# ---------------------------------------- random numbers

_seed = None
_streams = 0   # how often a seed was set: each time the streams of random numbers begin anew, as nodes of their own


def set_seed(seed):
    """Random ops give from now on what they gave after the last set_seed(seed)."""
    global _seed, _streams
    _seed, _streams = None if seed is None else int(seed), _streams + 1


def get_seed(op_seed):
    """(graph seed, op seed) of a random op."""
    if _seed is None:
        return (87654321, int(op_seed)) if op_seed is not None else (0, 0)
    first = _seed % (2 ** 63 - 1)
    return (first, int(op_seed) % (2 ** 63 - 1)) if op_seed is not None else (first, 2 ** 31 - 1 if first == 0 else 0)


from .tensor import tensor_of  # noqa: E402  (a tensor's operators run ops)
