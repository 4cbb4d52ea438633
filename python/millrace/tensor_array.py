"""tensor_array — TensorArray: a list of tensors that loops write and read, by index."""
from . import dtypes, tensor_shape
from .array_ops import shape as shape_of
from .constant import constant
from .convert import convert_to_tensor
from .graph import executing_eagerly, name_scope
from .ops_apply import apply


class TensorArray:
    """A list of tensors. Writing gives a new object to go on with; each element is written once.

    >>> with tf.Session() as s: s.run(tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0]).stack())
    array([1., 2.], dtype=float32)
    """

    def __new__(cls, *args, **kwargs):
        if cls is TensorArray and executing_eagerly() and kwargs.get("handle") is None:
            return object.__new__(EagerTensorArray)
        return object.__new__(cls)

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
                 flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a handle and size at the same time")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._infer_shape = infer_shape
        self._element_shape = [tensor_shape.as_shape(element_shape)]
        self._dynamic_size = dynamic_size or False
        if handle is not None:
            self._handle, self._flow = handle, flow
            return
        with name_scope(name, "TensorArray", []) as scope:
            made = apply("TensorArrayV3", scope, {
                "size": size, "dtype": self._dtype, "element_shape": self._element_shape[0],
                "dynamic_size": self._dynamic_size, "clear_after_read": True if clear_after_read is None else
                clear_after_read, "identical_element_shapes": infer_shape, "tensor_array_name": tensor_array_name or ""})
        self._handle, self._flow = made.handle, made.flow

    flow = property(lambda self: self._flow)
    dtype = property(lambda self: self._dtype)
    handle = property(lambda self: self._handle)
    element_shape = property(lambda self: self._element_shape[0])
    dynamic_size = property(lambda self: self._dynamic_size)
    op = property(lambda self: self._handle.op)
    graph = property(lambda self: self._flow.graph)

    def _as_loop_value(self):
        return self._flow

    _as_tensor_array = _as_loop_value

    def _like(self, flow):
        """The same list as it is after `flow`."""
        other = TensorArray.__new__(TensorArray)
        other.__dict__.update(self.__dict__)
        other._flow = flow
        return other

    def identity(self):
        return self._like(apply("Identity", None, {"input": self._flow}))

    def grad(self, source, flow=None, name=None):
        made = apply("TensorArrayGradV3", name, {"handle": self._handle, "source": source, "flow_in": flow or self._flow})
        return TensorArray(self._dtype, handle=made.grad_handle, flow=made.flow_out, infer_shape=self._infer_shape)

    def _learn(self, shape):
        if self._infer_shape:
            known = self._element_shape[0]
            if not known.is_compatible_with(shape):
                raise ValueError("Inconsistent shapes: saw %s but expected %s (and infer_shape=True)" % (shape, known))
            self._element_shape[0] = known.merge_with(shape)

    def read(self, index, name=None):
        value = apply("TensorArrayReadV3", name, {"handle": self._handle, "index": index, "flow_in": self._flow,
                                                  "dtype": self._dtype})
        if self.element_shape.ndims is not None:
            value.set_shape(self.element_shape)
        return value

    def write(self, index, value, name=None):
        with name_scope(name, "TensorArrayWrite", []):
            value = convert_to_tensor(value, self._dtype if not hasattr(value, "op") else None, name="value")
            self._learn(value.shape)
            return self._like(apply("TensorArrayWriteV3", None, {"handle": self._handle, "index": index, "value": value,
                                                                 "flow_in": self._flow}))

    def size(self, name=None):
        return apply("TensorArraySizeV3", name, {"handle": self._handle, "flow_in": self._flow})

    def stack(self, name=None):
        with name_scope(name, "TensorArrayStack", [self._handle]):
            from .math_ops import range as range_
            return self.gather(range_(0, self.size()), name)

    def gather(self, indices, name=None):
        value = apply("TensorArrayGatherV3", name, {"handle": self._handle, "indices": indices, "flow_in": self._flow,
                                                    "dtype": self._dtype, "element_shape": self.element_shape})
        if self.element_shape.ndims is not None:
            value.set_shape([None] + self.element_shape.as_list())
        return value

    def concat(self, name=None):
        rest = self.element_shape[1:] if self.element_shape.ndims is not None else tensor_shape.TensorShape(None)
        return apply("TensorArrayConcatV3", name, {"handle": self._handle, "flow_in": self._flow, "dtype": self._dtype,
                                                   "element_shape_except0": rest})[0]

    def unstack(self, value, name=None):
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            from .math_ops import range as range_
            return self.scatter(range_(0, shape_of(convert_to_tensor(value))[0]), value, name)

    def scatter(self, indices, value, name=None):
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = convert_to_tensor(value, self._dtype if not hasattr(value, "op") else None)
            if value.shape.ndims is not None:
                self._learn(value.shape[1:])
            return self._like(apply("TensorArrayScatterV3", None, {"handle": self._handle, "indices": indices,
                                                                   "value": value, "flow_in": self._flow}))

    def split(self, value, lengths, name=None):
        value = convert_to_tensor(value, self._dtype if not hasattr(value, "op") else None)
        lengths = apply("Cast", None, {"x": convert_to_tensor(lengths), "DstT": dtypes.int64})
        return self._like(apply("TensorArraySplitV3", name, {"handle": self._handle, "value": value, "lengths": lengths,
                                                             "flow_in": self._flow}))

    def close(self, name=None):
        return apply("TensorArrayCloseV3", name, {"handle": self._handle})


class EagerTensorArray(TensorArray):
    """The same where ops run as they are called: a Python list."""

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
                 flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._infer_shape, self._element_shape = infer_shape, [tensor_shape.as_shape(element_shape)]
        self._dynamic_size = dynamic_size or False
        self._items = [None] * int(size or 0)

    flow = handle = op = property(lambda self: None)

    def _as_loop_value(self):
        return self

    def identity(self):
        return self

    def _item(self, index):
        if not 0 <= index < len(self._items):
            from .errors import OutOfRangeError
            raise OutOfRangeError(None, None, "Tried to read from index %d but array size is: %d" % (index, len(self._items)))
        value = self._items[index]
        if value is None:
            from .array_ops import zeros
            if not self.element_shape.is_fully_defined():
                from .errors import InvalidArgumentError
                raise InvalidArgumentError(None, None, "Could not read index %d twice because it was cleared after a "
                                           "previous read, or never written" % index)
            return zeros(self.element_shape, self._dtype)
        return value

    def read(self, index, name=None):
        return self._item(int(index))

    def write(self, index, value, name=None):
        index, value = int(index), convert_to_tensor(value, self._dtype)
        self._learn(value.shape)
        if index >= len(self._items) and self._dynamic_size:
            self._items.extend([None] * (index + 1 - len(self._items)))
        if not 0 <= index < len(self._items):
            from .errors import OutOfRangeError
            raise OutOfRangeError(None, None, "Tried to write to index %d but array is not resizeable and size is: %d" % (
                index, len(self._items)))
        self._items[index] = value
        return self

    def size(self, name=None):
        return constant(len(self._items))

    def stack(self, name=None):
        return self.gather(range(len(self._items)))

    def gather(self, indices, name=None):
        from .array_ops import stack, zeros
        values = [self._item(int(i)) for i in indices]
        return stack(values) if values else zeros([0] + [d or 0 for d in self.element_shape.as_list()]
                                                  if self.element_shape.ndims is not None else [0], self._dtype)

    def concat(self, name=None):
        from .array_ops import concat
        return concat([self._item(i) for i in range(len(self._items))], 0)

    def unstack(self, value, name=None):
        value = convert_to_tensor(value, self._dtype)
        return self.scatter(range(value.shape[0]), value)

    def scatter(self, indices, value, name=None):
        from .array_ops import unstack
        for i, one in zip(indices, unstack(convert_to_tensor(value, self._dtype))):
            self.write(i, one)
        return self

    def split(self, value, lengths, name=None):
        from .array_ops import split
        parts = split(convert_to_tensor(value, self._dtype), [int(n) for n in lengths])
        self._infer_shape = False
        for i, part in enumerate(parts):
            self.write(i, part)
        return self

    def close(self, name=None):
        self._items = []
