"""variable — variables of eager mode: state that is there at once, read and changed by ops, by functions too.

The library keeps the value under a name of its own; a function's graph names it likewise, so both see one value.
"""
import itertools

from .. import dtypes, graph as graphs
from ..convert import convert_to_tensor
from ..graph import Tensor, executing_eagerly, get_default_graph
from ..indexed import IndexedSlices
from ..ops_apply import apply
from ..variables import Variable, VariableAggregation, VariableSynchronization
from . import execute
from .tensor import EagerShape, EagerTensor, Reference

_numbers = itertools.count(1)


class EagerVariable(Variable):
    """A tensor with a value that stays and changes: `assign`, `assign_add`, `numpy()`.

    >>> import millrace as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    _is_resource = True
    _is_eager = True

    def __init__(self, initial_value=None, trainable=None, validate_shape=True, caching_device=None, name=None,
                 variable_def=None, dtype=None, import_scope=None, constraint=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
                 collections=None, use_resource=None, expected_shape=None, experimental_enable_variable_lifting=True):
        self._handle_tensor = None
        self._begin(trainable, constraint, synchronization, aggregation, initial_value)
        graph = get_default_graph()
        if graph._traced:
            graph.variable_was_made(self)
        with graphs.init_scope():
            value = _first_value(initial_value, dtype)
            self._dtype = value.dtype.base_dtype
            self._known = EagerShape(value.shape if shape is None else shape)
            if not self._known.is_compatible_with(value.shape):
                raise ValueError("The initial value's shape (%s) is not compatible with the explicitly supplied `shape` "
                                 "argument (%s)." % (value.shape, self._known))
            self._name = _unique(name or "Variable")
            self._shared = "millrace_%d_%s" % (next(_numbers), self._name)
            call = execute._make_call("VarHandleOp", [], self._handle_attrs())
            self._handle_tensor = call.run([])[0]
            self._assign("AssignVariableOp", value)

    def _handle_attrs(self):
        return {"dtype": self._dtype, "shape": self._known, "shared_name": self._shared}

    def __del__(self):
        try:
            handle = self._handle_tensor
            if handle is not None:
                execute.prepare("DestroyResourceOp", [handle], {"ignore_lookup_error": True}).run([handle])
        except Exception:  # the interpreter is going
            pass

    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: self._known)
    name = property(lambda self: self._keras_name or self._name + ":0")
    _keras_name = None      # of a layer's weight: without the layer
    path = property(lambda self: self._name)
    device = property(lambda self: "/job:localhost/replica:0/task:0/device:CPU:0")
    trainable = property(lambda self: self._trainable, lambda self, v: setattr(self, "_trainable", bool(v)))
    ndim = property(lambda self: self._known.ndims)
    initializer = op = initial_value = None
    _shape_known = shape
    _in_graph_mode = False

    @property
    def graph(self):
        raise AttributeError("a variable of eager mode (%s) belongs to no graph" % self._name)

    @property
    def handle(self):
        """The resource: of eager mode, or within the function that is being traced."""
        if executing_eagerly():
            return self._handle_tensor
        graph = get_default_graph()
        if not graph._traced:
            if graphs._default_graphs.stack:
                raise ValueError("the variable %s of eager mode can't be used in a graph that a session runs; make a "
                                 "variable of the graph, or use tf.function" % self._name)
            return self._handle_tensor
        return graph.variable_handle(self)

    def value(self):
        """The value as it is now, a tensor."""
        if not executing_eagerly():
            return apply("ReadVariableOp", None, {"resource": self.handle, "dtype": self._dtype})
        handle = self._handle_tensor
        found = execute.prepare("ReadVariableOp", [handle], {"dtype": self._dtype}).run([handle])[0]
        for tape in execute.recording.tapes:
            tape._read(self, found)
        return found

    read_value = value
    _ref = value

    def numpy(self):
        return self.value().numpy()

    def eval(self, session=None):
        return self.numpy()

    def _as_graph_tensor(self, dtype=None, name=None, as_ref=False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self._dtype):
            raise ValueError("Incompatible type conversion requested to type '%s' for variable of type '%s'" % (
                dtypes.as_dtype(dtype).name, self._dtype.name))
        return self.value()

    def _as_graph_element(self):
        return self.value()

    def is_initialized(self, name=None):
        return apply("VarIsInitializedOp", name, {"resource": self.handle})

    # ---- changing

    def _assign(self, op, value):
        return apply(op, None, {"resource": self.handle, "value": value, "dtype": self._dtype})

    def _changed(self, op, value, use_locking=None, name=None, read_value=True):
        value = convert_to_tensor(value, self._dtype)
        if not self._known.is_compatible_with(value.shape):
            raise ValueError("Cannot assign value to variable '%s': Shape mismatch.The variable shape %s, and the assigned "
                             "value shape %s are incompatible." % (self.name, self._known, value.shape))
        self._assign(op, value)
        return self if read_value else None

    def assign(self, value, use_locking=None, name=None, read_value=True):
        return self._changed("AssignVariableOp", value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._changed("AssignAddVariableOp", delta, use_locking, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._changed("AssignSubVariableOp", delta, use_locking, name, read_value)

    def load(self, value, session=None):
        self.assign(value)

    def count_up_to(self, limit):
        raise NotImplementedError("count_up_to is an operation of graphs")

    def sparse_read(self, indices, name=None):
        """Rows of the value: without reading all of it."""
        if executing_eagerly() and execute.recording.tapes:
            from ..array_ops import gather
            return gather(self.value(), indices, axis=0)
        return apply("ResourceGather", name, {"resource": self.handle, "indices": indices, "dtype": self._dtype})

    def gather_nd(self, indices, name=None):
        from ..array_ops import gather_nd
        return gather_nd(self.value(), indices)

    def _strided_slice_assign(self, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                              shrink_axis_mask, name):
        apply("ResourceStridedSliceAssign", name, {
            "ref": self.handle, "begin": begin, "end": end, "strides": strides,
            "value": convert_to_tensor(value, self._dtype), "begin_mask": begin_mask, "end_mask": end_mask,
            "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask})
        return self

    def _scatter(self, op, sparse_delta, name=None):
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError("sparse_delta is not IndexedSlices: %s" % (sparse_delta,))
        apply(op, name, {"resource": self.handle, "indices": sparse_delta.indices,
                         "updates": convert_to_tensor(sparse_delta.values, self._dtype)})
        return self

    def _scatter_nd(self, op, indices, updates, name=None):
        apply(op, name, {"ref": self.handle, "indices": indices, "updates": convert_to_tensor(updates, self._dtype)})
        return self

    # ---- as a value

    def ref(self):
        return Reference(self)

    experimental_ref = ref

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        if other is self or isinstance(other, Variable) or other is None:
            return other is self
        return self.value() == other

    def __ne__(self, other):
        if other is self or isinstance(other, Variable) or other is None:
            return other is not self
        return self.value() != other

    def __array__(self, dtype=None, copy=None):
        return self.value().__array__(dtype)

    def __float__(self):
        return float(self.value())

    def __int__(self):
        return int(self.value())

    def __index__(self):
        return self.value().__index__()

    def __len__(self):
        return len(self.value())

    def __iter__(self):
        return iter(self.value())

    def __deepcopy__(self, memo):
        return EagerVariable(self.numpy(), self._trainable, name=self._name, dtype=self._dtype)

    def __repr__(self):
        head = "<tf.Variable '%s' shape=%s dtype=%s" % (self.name, self._known, self._dtype.name)
        return head + (", numpy=%r>" % (self.numpy(),) if executing_eagerly() else ">")

    __str__ = __repr__


for _name in ("add", "sub", "update", "max", "min", "mul", "div"):
    setattr(EagerVariable, "scatter_" + _name, lambda self, sparse_delta, use_locking=False, name=None,
            _op="ResourceScatter" + _name.capitalize(): self._scatter(_op, sparse_delta, name))
for _name in ("add", "sub", "update", "max", "min"):
    setattr(EagerVariable, "scatter_nd_" + _name, lambda self, indices, updates, name=None,
            _op="ResourceScatterNd" + _name.capitalize(): self._scatter_nd(_op, indices, updates, name))


def _first_value(initial_value, dtype):
    value = initial_value() if callable(initial_value) else initial_value
    if type(value) is Tensor and value.graph._traced:
        from .function import lifted
        value = lifted(value)
    if isinstance(value, Variable):
        value = value.value()
    if isinstance(value, EagerTensor) and dtype is not None and value.dtype != dtype:
        raise ValueError("Tensor conversion requested dtype %s for Tensor with dtype %s" % (
            dtypes.as_dtype(dtype).name, value.dtype.name))
    return convert_to_tensor(value, dtype)


def _unique(name):
    scope = graphs.get_name_scope()
    return (scope + "/" if scope else "") + name
