"""nodes — Operation and Tensor: a node of a graph and its outputs; how attributes are handed to C."""
import ctypes
import os
import sys

from . import _c, dtypes, op_table, tensor_shape, tensors
from .device import DeviceSpec
from .errors import OperatorNotAllowedInGraphError

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
FRAMES = 24  # most frames kept of where an operation was made


# ---------------------------------------- tensors

class Tensor:
    """One output of an operation. Its value exists only while a session runs.

    `op`, `value_index`, `dtype`, `shape`, `name`, `device`, `graph`. Compares by identity, so tensors may be keys.
    """
    __slots__ = ("op", "value_index", "_dtype", "_attrs", "__weakref__")
    __array_priority__ = 100
    OVERLOADABLE_OPERATORS = {"__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__div__",
                              "__rdiv__", "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__",
                              "__rmod__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__rand__", "__or__",
                              "__ror__", "__xor__", "__rxor__", "__getitem__", "__pow__", "__rpow__", "__invert__",
                              "__neg__", "__abs__", "__matmul__", "__rmatmul__"}

    def __init__(self, op, value_index, dtype):
        self.op, self.value_index, self._dtype, self._attrs = op, value_index, dtypes.as_dtype(dtype), None

    dtype = property(lambda self: self._dtype)
    graph = property(lambda self: self.op.graph)
    name = property(lambda self: "%s:%d" % (self.op.name, self.value_index))
    device = property(lambda self: self.op.device)
    _op = property(lambda self: self.op)

    def __getattr__(self, name):
        # Layers and programs hang things on tensors (`_keras_shape`): a dict for those few that have any.
        attrs = self._attrs
        if attrs and name in attrs:
            return attrs[name]
        raise AttributeError("'Tensor' object has no attribute %r" % name)

    def __setattr__(self, name, value):
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            if self._attrs is None:
                object.__setattr__(self, "_attrs", {})
            self._attrs[name] = value

    def _as_tf_output(self):
        return _c.Output(self.op._c, self.value_index)

    @property
    def shape(self):
        """What is known of the shape, a TensorShape."""
        graph, output = self.op.graph._c, _c.Output(self.op._c, self.value_index)
        rank = _c.call("TF_GraphGetTensorNumDims", graph, output)
        kind = tensor_shape.TensorShape if not self.op.graph._traced else tensor_shape.EagerShape
        if rank < 0:
            return kind(None)
        dims = (ctypes.c_int64 * rank)()
        _c.call("TF_GraphGetTensorShape", graph, output, dims, rank)
        return kind([None if d < 0 else d for d in dims])

    _shape = shape

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        """Adds what the caller knows of the shape. ValueError where it contradicts what is known."""
        shape = tensor_shape.as_shape(shape)
        if shape.dims is None:
            return
        known = self.shape
        try:
            merged = known.merge_with(shape)
        except ValueError:
            raise ValueError("Shapes %s and %s are not compatible" % (known, shape)) from None
        dims = [-1 if d.value is None else d.value for d in merged.dims]
        self.op.graph._shape_version += 1
        _c.call("TF_GraphSetTensorShape", self.op.graph._c, self._as_tf_output(), tensors.dims_array(dims), len(dims))

    def consumers(self):
        """The operations that read this tensor."""
        output = self._as_tf_output()
        n = _c.TF_OperationOutputNumConsumers(output)
        inputs = (_c.Input * n)()
        _c.TF_OperationOutputConsumers(output, inputs, n)
        return [self.op.graph._operation(i.oper) for i in inputs]

    def eval(self, feed_dict=None, session=None):
        """The tensor's value, by the session given or the default one."""
        from . import session as sessions
        return sessions._eval_using_default_session(self, feed_dict, self.graph, session)

    @property
    def ndim(self):
        return self.shape.ndims

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        if not self.op.graph._traced:
            return self is other
        from .eager.tensor import compared
        return compared("Equal", self, other, False)

    def __ne__(self, other):
        if not self.op.graph._traced:
            return self is not other
        from .eager.tensor import compared
        return compared("NotEqual", self, other, True)

    def __copy__(self):
        return self

    def __str__(self):
        shape = self.shape
        return 'Tensor("%s"%s, dtype=%s%s)' % (self.name, ", shape=%s" % shape if shape.dims is not None else "",
                                               self._dtype.name, ", device=%s" % self.device if self.device else "")

    def __repr__(self):
        shape = self.shape
        return "<tf.Tensor '%s' shape=%s dtype=%s>" % (self.name, shape, self._dtype.name)

    def __len__(self):
        if self.op.graph._traced and self.shape.dims and self.shape[0] is not None:
            return self.shape[0]
        raise TypeError("len is not well defined for symbolic Tensors. (%s) Please call `x.shape` rather than `len(x)` "
                        "for shape information." % self.name)

    def __iter__(self):
        if self.op.graph._traced and self.shape.dims and self.shape[0] is not None:
            return (self[i] for i in range(self.shape[0]))
        raise OperatorNotAllowedInGraphError(
            "Tensor objects are only iterable when eager execution is enabled. To iterate over this tensor "
            "use tf.map_fn.")

    def __bool__(self):
        raise OperatorNotAllowedInGraphError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to test if a "
            "tensor is defined, and use TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value of a "
            "tensor.")

    __nonzero__ = __bool__

    def __float__(self):
        raise TypeError("a tensor (%s) of a graph has no value to convert to float" % self.name)

    def __int__(self):
        raise TypeError("a tensor (%s) of a graph has no value to convert to int" % self.name)

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("Cannot convert a symbolic Tensor (%s) to a numpy array." % self.name)

    @staticmethod
    def _override_operator(operator, function):
        setattr(Tensor, operator, function)


# ---------------------------------------- operations

class _Inputs(list):
    """The inputs of an operation; cannot be changed through it."""
    __slots__ = ()


def _where():
    """Where the program is: (file, line, function, None) of frames outside of this package, the outermost first."""
    frame, found = sys._getframe(2), []
    while frame is not None and len(found) < FRAMES:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE) and code.co_filename != "<string>":
            found.append((code.co_filename, frame.f_lineno, code.co_name, None))
        frame = frame.f_back
    return found[::-1]


class Operation:
    """A node of a graph: `name`, `type`, `inputs`, `outputs`, `control_inputs`, `device`, `graph`, `traceback`."""
    __slots__ = ("graph", "_c", "name", "type", "_outputs", "_inputs", "_where", "_control_flow_context", "_extra",
                 "_id_value", "__weakref__")

    def __init__(self, graph, pointer, where=()):
        self.graph, self._c, self._where = graph, pointer, where
        self.name = _c.TF_OperationName(pointer).decode()
        self.type = _c.TF_OperationOpType(pointer).decode()
        n = _c.TF_OperationNumOutputs(pointer)
        self._outputs = [Tensor(self, i, _c.TF_OperationOutputType(_c.Output(pointer, i))) for i in range(n)]
        self._inputs = self._extra = None
        self._control_flow_context = None
        graph._next_id += 1
        self._id_value = graph._next_id

    def __getattr__(self, name):
        extra = self._extra
        if extra and name in extra:
            return extra[name]
        raise AttributeError("'Operation' object has no attribute %r" % name)

    def __setattr__(self, name, value):
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            if self._extra is None:
                object.__setattr__(self, "_extra", {})
            self._extra[name] = value

    outputs = property(lambda self: self._outputs)
    traceback = property(lambda self: self._where)
    _id = property(lambda self: self._id_value)
    device = property(lambda self: _c.TF_OperationDevice(self._c).decode())

    @property
    def inputs(self):
        if self._inputs is None:
            n = _c.TF_OperationNumInputs(self._c)
            array = (_c.Output * n)()
            _c.TF_OperationAllInputs(self._c, array, n)
            self._inputs = _Inputs([self.graph._operation(o.oper)._outputs[o.index] for o in array])
        return self._inputs

    @property
    def control_inputs(self):
        n = _c.TF_OperationNumControlInputs(self._c)
        array = (ctypes.c_void_p * n)()
        _c.TF_OperationGetControlInputs(self._c, array, n)
        return [self.graph._operation(p) for p in array]

    @property
    def _control_outputs(self):
        return [op for op in self.graph.get_operations() if self in op.control_inputs]

    @property
    def node_def(self):
        from . import messages
        return messages.NodeDef.FromString(_c.filled("TF_OperationToNodeDef", self._c))

    @property
    def op_def(self):
        from . import messages
        return messages.OpDef.FromString(_c.filled("TF_GraphGetOpDef", self.graph._c, self.type.encode()))

    @property
    def _output_types(self):
        return [t.dtype.as_datatype_enum for t in self._outputs]

    def values(self):
        return tuple(self._outputs)

    def get_attr(self, name):
        """The value of an attribute. ValueError where there is none of that name."""
        from . import errors, messages
        try:
            data = _c.filled("TF_OperationGetAttrValueProto", self._c, name.encode())
        except (errors.InvalidArgumentError, errors.NotFoundError):
            raise ValueError("Operation %r has no attr named %r." % (self.name, name)) from None
        proto = messages.AttrValue.FromString(data)
        which = proto.WhichOneof("value")
        if which == "shape":
            return proto.shape
        if which == "list" and proto.list.shape:
            return list(proto.list.shape)
        return op_table.attr_value(proto)

    def _set_attr(self, name, proto):
        data = proto.SerializeToString()
        buffer = _c.TF_NewBufferFromString(data, len(data))
        try:
            _c.call("TF_SetAttr", self.graph._c, self._c, name.encode(), buffer)
        finally:
            _c.TF_DeleteBuffer(buffer)

    def _set_device(self, device):
        device = device.to_string() if isinstance(device, DeviceSpec) else device or ""
        _c.TF_SetRequestedDevice(self.graph._c, self._c, device.encode())

    def _update_input(self, index, tensor):
        _c.call("TF_UpdateEdge", self.graph._c, tensor._as_tf_output(), _c.Input(self._c, index))
        self._inputs = None

    def _add_control_input(self, op):
        _c.TF_AddOperationControlInput(self.graph._c, self._c, op._c)

    def _add_control_inputs(self, ops):
        for op in ops:
            self._add_control_input(op)

    def _remove_all_control_inputs(self):
        _c.TF_RemoveAllControlInputs(self.graph._c, self._c)

    def _get_control_flow_context(self):
        return self._control_flow_context

    def _set_control_flow_context(self, context):
        self._control_flow_context = context

    def colocation_groups(self):
        try:
            return self.get_attr("_class")
        except ValueError:
            return [b"loc:@" + self.name.encode()]

    def run(self, feed_dict=None, session=None):
        """Runs the operation, by the session given or the default one."""
        from . import session as sessions
        sessions._run_using_default_session(self, feed_dict, self.graph, session)

    def __str__(self):
        return str(self.node_def)

    def __repr__(self):
        return "<tf.Operation '%s' type=%s>" % (self.name, self.type)

    def __copy__(self):
        return self


# ---------------------------------------- attributes

def _attr_proto(value):
    """An AttrValue message of a Python value whose kind is not declared."""
    from . import messages
    if isinstance(value, messages.Message):
        return value
    proto = messages.AttrValue()
    one = value[0] if isinstance(value, (list, tuple)) and value else value
    if isinstance(one, bool):
        field = "b"
    elif isinstance(one, int):
        field = "i"
    elif isinstance(one, float):
        field = "f"
    elif isinstance(one, dtypes.DType):
        field = "type"
    elif isinstance(one, (str, bytes)):
        field = "s"
    elif isinstance(one, tensor_shape.TensorShape):
        field = "shape"
    else:
        raise TypeError("no attribute can hold %r" % (value,))
    plain = {"s": _c.encode, "type": int, "shape": lambda v: v.as_proto()}.get(field, lambda v: v)
    if isinstance(value, (list, tuple)):
        getattr(proto.list, field).extend([plain(v) for v in value])
    elif field == "shape":
        proto.shape.CopyFrom(value.as_proto())
    else:
        setattr(proto, field, plain(value))
    return proto


def _set_shape_attr(desc, name, value):
    shape = tensor_shape.as_shape(value)
    if shape.dims is None:
        _c.TF_SetAttrShape(desc, name, None, -1)
    else:
        dims = [-1 if d.value is None else d.value for d in shape.dims]
        _c.TF_SetAttrShape(desc, name, tensors.dims_array(dims), len(dims))


def _set_string_list(desc, name, value):
    values = [_c.encode(v) for v in value]
    _c.TF_SetAttrStringList(desc, name, (ctypes.c_char_p * len(values))(*values),
                            (ctypes.c_size_t * len(values))(*[len(v) for v in values]), len(values))


def _list_setter(function, ctype, convert):
    def set_list(desc, name, value):
        values = [convert(v) for v in value]
        getattr(_c, function)(desc, name, (ctype * len(values))(*values), len(values))
    return set_list


def _set_tensor(desc, name, value):
    import numpy as np
    from . import constant
    number = None
    if hasattr(value, "SerializeToString"):
        number = value.dtype
        value = constant.make_ndarray(value)
    pointer = value if type(value) is int else tensors.new(np.asarray(value), number)
    try:
        with _c.Status() as status:
            _c.TF_SetAttrTensor(desc, name, pointer, status)
    finally:
        _c.TF_DeleteTensor(pointer)


def _set_string(desc, name, value):
    value = _c.encode(value)
    _c.TF_SetAttrString(desc, name, value, len(value))


def _set_function(desc, name, value):
    value = _c.encode(value if isinstance(value, (str, bytes)) else value.name)
    _c.TF_SetAttrFuncName(desc, name, value, len(value))


def _set_shape_list(desc, name, value):
    from . import messages
    proto = messages.AttrValue()
    proto.list.SetInParent()
    for shape in value:
        proto.list.shape.add().CopyFrom(tensor_shape.as_shape(shape).as_proto())
    _set_proto(desc, name, proto)


def _set_proto(desc, name, value):
    data = _attr_proto(value).SerializeToString()
    with _c.Status() as status:
        _c.TF_SetAttrValueProto(desc, name, data, len(data), status)


_SETTERS = {
    "int": lambda d, n, v: _c.TF_SetAttrInt(d, n, int(v)),
    "float": lambda d, n, v: _c.TF_SetAttrFloat(d, n, float(v)),
    "bool": lambda d, n, v: _c.TF_SetAttrBool(d, n, bool(v)),
    "type": lambda d, n, v: _c.TF_SetAttrType(d, n, int(dtypes.as_dtype(v))),
    "string": _set_string, "shape": _set_shape_attr, "tensor": _set_tensor, "func": _set_function,
    "list(string)": _set_string_list, "list(shape)": _set_shape_list,
    "list(int)": _list_setter("TF_SetAttrIntList", ctypes.c_int64, int),
    "list(float)": _list_setter("TF_SetAttrFloatList", ctypes.c_float, float),
    "list(bool)": _list_setter("TF_SetAttrBoolList", ctypes.c_ubyte, bool),
    "list(type)": _list_setter("TF_SetAttrTypeList", ctypes.c_int, lambda v: int(dtypes.as_dtype(v))),
}
