"""variables — Variable: a tensor that the graph keeps between runs; by reference (TensorFlow 1's kind) or by resource."""
import enum

import numpy as np

from . import dtypes, tensor_shape
from .constant import constant_value
from .convert import convert_to_tensor
from .graph import (GraphKeys, Operation, Tensor, control_dependencies, executing_eagerly, get_default_graph, init_scope,
                    name_scope)
from .indexed import IndexedSlices
from .math_ops import COMPARISONS, OPERATORS
from .ops_apply import apply


class VariableSynchronization(enum.Enum):
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class _VariableType(type):
    """`Variable(...)` makes whichever kind the scope asks for; the kinds make themselves."""

    def __call__(cls, *args, **kwargs):
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        if executing_eagerly() or get_default_graph()._traced:
            from .eager.variable import EagerVariable
            return EagerVariable(*args, **kwargs)
        from . import variable_scope
        return variable_scope._make_variable(*args, **kwargs)


class Variable(metaclass=_VariableType):
    """A tensor with a value that stays. `Variable(initial_value, trainable, collections, validate_shape, ..., name)`.

    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> with tf.Session() as s:
    ...     s.run(v.initializer); s.run(v.assign_add([1.0, 1.0]))
    array([2., 3.], dtype=float32)
    """
    __array_priority__ = 100
    _save_slice_info = None
    _cached = None
    constraint = property(lambda self: self._constraint)
    trainable = property(lambda self: self._trainable)
    initializer = property(lambda self: self._initializer_op)
    initial_value = property(lambda self: self._initial_value)
    graph = property(lambda self: self._variable.graph)
    synchronization = property(lambda self: self._synchronization)
    aggregation = property(lambda self: self._aggregation)

    def _collect(self, collections, trainable):
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError("collections argument to Variable constructor must be a list, tuple, or set. Got %s of type "
                             "%s" % (collections, type(collections)))
        collections = list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        get_default_graph().add_to_collections(collections, self)

    def _begin(self, trainable, constraint, synchronization, aggregation, initial_value):
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._trainable = True if trainable is None else bool(trainable)
        self._constraint = constraint
        self._synchronization, self._aggregation = synchronization, aggregation
        self._graph_key = None

    @property
    def shape(self):
        return self._shape_known

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.value().set_shape(shape)

    def eval(self, session=None):
        """The value, by the session given or the default one."""
        return self._variable.eval(session=session) if not self._is_resource else self.value().eval(session=session)

    def load(self, value, session=None):
        """Sets the value in a session, without a new operation in the graph."""
        from .session import get_default_session
        session = session or get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def initialized_value(self):
        """The value, or the initial one where it is not set yet."""
        from .control_flow import cond
        with init_scope():
            return cond(is_variable_initialized(self), self.read_value, lambda: self.initial_value)

    def _try_guard_against_uninitialized_dependencies(self, name, initial_value):
        return initial_value

    def _as_graph_tensor(self, dtype=None, name=None, as_ref=False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self.dtype):
            raise ValueError("Incompatible type conversion requested to type '%s' for variable of type '%s'" % (
                dtypes.as_dtype(dtype).name, self.dtype.name))
        return self._ref() if as_ref else self.value()

    _AsTensor = lambda self: self.value()

    def _shared_name(self):
        return self.op.name

    def _set_save_slice_info(self, info):
        self._save_slice_info = info

    def _get_save_slice_info(self):
        return self._save_slice_info

    def to_proto(self, export_scope=None):
        from . import messages
        from .graph import strip_name_scope
        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        strip = lambda n: strip_name_scope(n, export_scope)
        proto = messages.VariableDef(variable_name=strip(self.name if self._is_resource else self._variable.name),
                                     initializer_name=strip(self.initializer.name),
                                     trainable=self._trainable, is_resource=self._is_resource)
        if self._initial_value is not None:
            proto.initial_value_name = strip(self._initial_value.name)
        proto.snapshot_name = strip(self._snapshot_name())
        if self._save_slice_info is not None:
            proto.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return proto

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        kind = ResourceVariable if variable_def.is_resource else RefVariable
        return kind(variable_def=variable_def, import_scope=import_scope)

    def _load_def(self, proto, import_scope):
        from .graph import prepend_name_scope
        graph = get_default_graph()
        find = lambda n: graph.as_graph_element(prepend_name_scope(n, import_scope))
        self._trainable = bool(proto.trainable) or not proto.HasField("trainable") and True
        self._constraint = None
        self._synchronization, self._aggregation = VariableSynchronization.AUTO, VariableAggregation.NONE
        self._graph_key = None
        self._initializer_op = find(proto.initializer_name)
        self._initial_value = find(proto.initial_value_name) if proto.initial_value_name else None
        if proto.HasField("save_slice_info_def"):
            self._save_slice_info = Variable.SaveSliceInfo(save_slice_info_def=proto.save_slice_info_def)
        return find

    class SaveSliceInfo:
        """Which part of a larger saved tensor a variable is."""

        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None, save_slice_info_def=None,
                     import_scope=None):
            if save_slice_info_def is not None:
                d = save_slice_info_def
                full_name, full_shape = d.full_name, list(d.full_shape)
                var_offset, var_shape = list(d.var_offset), list(d.var_shape)
            self.full_name, self.full_shape, self.var_offset, self.var_shape = full_name, full_shape, var_offset, var_shape

        @property
        def spec(self):
            return " ".join(str(d) for d in self.full_shape) + " " + ":".join(
                "%d,%d" % (o, s) for o, s in zip(self.var_offset, self.var_shape))

        def to_proto(self, export_scope=None):
            from . import messages
            return messages.SaveSliceInfoDef(full_name=self.full_name, full_shape=list(self.full_shape),
                                             var_offset=list(self.var_offset), var_shape=list(self.var_shape))

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def __bool__(self):
        return bool(self.value())

    def __getitem__(self, key):
        from .array_ops import _slice_helper
        return _slice_helper(self._as_graph_tensor(), key, self)

    def __neg__(self):
        return -self.value()

    def __abs__(self):
        return abs(self.value())

    def __invert__(self):
        return ~self.value()

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("a variable (%s) of a graph has no value to convert to an array" % self.name)


def _forward(name, swapped):
    left, right = OPERATORS[name]
    function = right if swapped else left
    return lambda self, other: function(self.value(), other)


for _name in OPERATORS:
    setattr(Variable, "__%s__" % _name, _forward(_name, False))
    setattr(Variable, "__r%s__" % _name, _forward(_name, True))
for _name, _function in COMPARISONS.items():
    setattr(Variable, "__%s__" % _name, lambda self, other, f=_function: f(self.value(), other))


def _initial(initial_value, name, dtype):
    value = initial_value() if callable(initial_value) else initial_value
    return convert_to_tensor(value, name=name, dtype=dtype)


class RefVariable(Variable):
    """A variable of four operations: `v`, its initial value, `v/Assign` and `v/read`."""
    _is_resource = False

    def __bool__(self):
        return True     # as any object: programs ask whether they have one

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
                 use_resource=None):
        if variable_def is not None:
            find = self._load_def(variable_def, import_scope)
            self._variable = find(variable_def.variable_name)
            self._snapshot = find(variable_def.snapshot_name)
            self._shape_known = self._variable.shape
            return
        self._begin(trainable, constraint, synchronization, aggregation, initial_value)
        with init_scope(), name_scope(name, "Variable") as scope:
            if callable(initial_value):
                # What makes the first value goes where the variable goes.
                with get_default_graph()._attr_scope({"_class": _class_attr(scope[:-1])}), name_scope("Initializer"), \
                        get_default_graph().device(None):
                    self._initial_value = _initial(initial_value, "initial_value", dtype)
            else:
                self._initial_value = _initial(initial_value, "initial_value", dtype)
            self._make(scope, validate_shape, shape, dtype, caching_device)
        self._collect(collections, self._trainable)

    def _make(self, scope, validate_shape, shape, dtype, caching_device):
        first = self._initial_value
        known = tensor_shape.TensorShape(shape) if shape is not None else \
            first.shape if validate_shape else tensor_shape.TensorShape(None)
        if validate_shape and not known.is_fully_defined():
            raise ValueError("initial_value must have a shape specified: %s" % first)
        graph = get_default_graph()
        self._variable = graph._new_operation("VariableV2", (), scope, {
            "shape": known, "dtype": first.dtype.base_dtype, "container": None, "shared_name": ""})._outputs[0]
        with graph.colocate_with(self._variable.op):
            self._initializer_op = apply("Assign", "Assign", {
                "ref": self._variable, "value": first, "validate_shape": validate_shape}).op
            if caching_device is not None:
                with graph.device(None), graph.device(caching_device):
                    self._snapshot = apply("Identity", "read", {"input": self._variable})
            else:
                self._snapshot = apply("Identity", "read", {"input": self._variable})
        self._shape_known = self._variable.shape
        self._caching_device = caching_device

    name = property(lambda self: self._variable.name)
    op = property(lambda self: self._variable.op)
    dtype = property(lambda self: self._variable.dtype)
    device = property(lambda self: self._variable.device)
    shape = property(lambda self: self._variable.shape)

    def _ref(self):
        return self._variable

    def _snapshot_name(self):
        return self._snapshot.name

    def _as_graph_element(self):
        return self._variable

    def value(self):
        return self._snapshot

    def read_value(self):
        return apply("Identity", "read", {"input": self._variable})

    def assign(self, value, use_locking=False, name=None, read_value=True):
        result = apply("Assign", name, {"ref": self._variable, "value": value, "use_locking": use_locking})
        return result if read_value else result.op

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        result = apply("AssignAdd", name, {"ref": self._variable, "value": delta, "use_locking": use_locking})
        return result if read_value else result.op

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        result = apply("AssignSub", name, {"ref": self._variable, "value": delta, "use_locking": use_locking})
        return result if read_value else result.op

    def count_up_to(self, limit):
        return apply("CountUpTo", None, {"ref": self._variable, "limit": limit})

    def _scatter(self, op, sparse_delta, use_locking, name):
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError("sparse_delta is not IndexedSlices: %s" % (sparse_delta,))
        return apply(op, name, {"ref": self._variable, "indices": sparse_delta.indices,
                                "updates": sparse_delta.values, "use_locking": use_locking})

    def _strided_slice_assign(self, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                              shrink_axis_mask, name):
        return apply("StridedSliceAssign", name, {
            "ref": self._variable, "begin": begin, "end": end, "strides": strides, "value": value,
            "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
            "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask})

    def __repr__(self):
        return "<tf.Variable '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)


for _name, _op in (("scatter_sub", "ScatterSub"), ("scatter_add", "ScatterAdd"), ("scatter_update", "ScatterUpdate"),
                   ("scatter_max", "ScatterMax"), ("scatter_min", "ScatterMin"), ("scatter_mul", "ScatterMul"),
                   ("scatter_div", "ScatterDiv")):
    setattr(RefVariable, _name, lambda self, sparse_delta, use_locking=False, name=None, _op=_op:
            self._scatter(_op, sparse_delta, use_locking, name))


def _class_attr(base):
    from .graph import _attr_proto
    return _attr_proto([b"loc:@" + base.encode()])


class _Unread:
    """What assigning to a resource variable gives: the assignment as an operation, the variable's value after it as a
    tensor."""

    def __init__(self, operation, variable):
        self._operation, self._parent = operation, variable

    op = property(lambda self: self._operation)
    graph = property(lambda self: self._operation.graph)
    dtype = property(lambda self: self._parent.dtype)
    shape = property(lambda self: self._parent.shape)
    name = property(lambda self: self._parent.name)
    handle = property(lambda self: self._parent.handle)

    def value(self):
        with control_dependencies([self._operation]):
            return self._parent._read()

    read_value = value

    def _as_graph_tensor(self, dtype=None, name=None, as_ref=False):
        return self.value()

    def _as_graph_element(self):
        with control_dependencies([self._operation]):
            return self._parent._read()

    def eval(self, session=None):
        return self._as_graph_element().eval(session=session)

    def __getattr__(self, name):
        return getattr(self._parent, name)

    def __getitem__(self, key):
        return self.value()[key]


for _name in OPERATORS:
    setattr(_Unread, "__%s__" % _name, _forward(_name, False))
    setattr(_Unread, "__r%s__" % _name, _forward(_name, True))


class ResourceVariable(Variable):
    """A variable behind a handle: reads happen when they are asked for, and see all writes that they depend on."""
    _is_resource = True

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, dtype=None, variable_def=None, import_scope=None, constraint=None, distribute_strategy=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
                 expected_shape=None, use_resource=None):
        if variable_def is not None:
            find = self._load_def(variable_def, import_scope)
            self._handle = self._variable = find(variable_def.variable_name)
            self._graph_element = find(variable_def.snapshot_name)
            self._handle_name = self._handle.op.name + ":0"
            self._shape_known = tensor_shape.TensorShape(self._handle.op.get_attr("shape"))
            self._dtype = self._handle.op.get_attr("dtype")
            self._caching_device = None
            return
        self._begin(trainable, constraint, synchronization, aggregation, initial_value)
        graph = get_default_graph()
        with init_scope(), name_scope(name, "Variable") as scope:
            base = scope[:-1]
            with graph._attr_scope({"_class": _class_attr(base)}), \
                    (name_scope("Initializer") if callable(initial_value) else _Nothing()):
                self._initial_value = first = _initial(initial_value, "initial_value", dtype)
            known = tensor_shape.TensorShape(shape) if shape is not None else first.shape
            self._handle = graph._new_operation("VarHandleOp", (), scope, {
                "shape": known, "dtype": first.dtype.base_dtype, "shared_name": base})._outputs[0]
            self._variable = self._handle
            self._shape_known, self._dtype = known, first.dtype.base_dtype
            self._handle_name = base + ":0"
            self._caching_device = caching_device
            with name_scope("IsInitialized"):
                self._is_initialized_op = apply("VarIsInitializedOp", None, {"resource": self._handle})
            self._initializer_op = apply("AssignVariableOp", "Assign", {"resource": self._handle, "value": first})
            with name_scope("Read"), graph.colocate_with(self._handle.op):
                self._graph_element = self._read(None)
        self._collect(collections, self._trainable)

    name = property(lambda self: self._handle_name)
    op = property(lambda self: self._handle.op)
    handle = property(lambda self: self._handle)
    dtype = property(lambda self: self._dtype)
    device = property(lambda self: self._handle.device)
    _unique_id = property(lambda self: self._handle_name)

    def _ref(self):
        return self.value()

    def _snapshot_name(self):
        return self._graph_element.name

    def _as_graph_element(self):
        return self._graph_element

    def _read(self, name=None):
        result = apply("ReadVariableOp", name, {"resource": self._handle, "dtype": self._dtype})
        if result.shape.ndims is None and self._shape_known.ndims is not None:
            result.set_shape(self._shape_known)
        return result

    def value(self):
        if self._caching_device is not None:
            if self._cached is None:
                with get_default_graph().device(None), get_default_graph().device(self._caching_device):
                    self._cached = self._read()
            return self._cached
        return self._read()

    def read_value(self):
        with name_scope("Read"):
            return apply("Identity", None, {"input": self._read()})

    def sparse_read(self, indices, name=None):
        with name_scope("Gather" if name is None else name):
            value = apply("ResourceGather", None, {"resource": self._handle, "indices": indices, "dtype": self._dtype})
            return apply("Identity", None, {"input": value})

    def is_initialized(self, name=None):
        return apply("VarIsInitializedOp", name, {"resource": self._handle})

    def _changed(self, op, key, value, name, read_value):
        done = apply(op, name, {"resource": self._handle, key: convert_to_tensor(value, self._dtype)})
        return _Unread(done, self) if read_value else done

    def assign(self, value, use_locking=None, name=None, read_value=True):
        value = convert_to_tensor(value, self._dtype)
        self._shape_known.assert_is_compatible_with(value.shape)
        return self._changed("AssignVariableOp", "value", value, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._changed("AssignAddVariableOp", "value", delta, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._changed("AssignSubVariableOp", "value", delta, name, read_value)

    def count_up_to(self, limit):
        return apply("ResourceCountUpTo", None, {"resource": self._handle, "limit": limit, "T": self._dtype})

    def _scatter(self, op, sparse_delta, use_locking, name):
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError("sparse_delta is not IndexedSlices: %s" % (sparse_delta,))
        done = apply("Resource" + op, name, {"resource": self._handle, "indices": sparse_delta.indices, "updates":
                                             convert_to_tensor(sparse_delta.values, self._dtype)})
        return _Unread(done, self)

    def _strided_slice_assign(self, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                              shrink_axis_mask, name):
        done = apply("ResourceStridedSliceAssign", name, {
            "ref": self._handle, "begin": begin, "end": end, "strides": strides,
            "value": convert_to_tensor(value, self._dtype), "begin_mask": begin_mask, "end_mask": end_mask,
            "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask})
        return _Unread(done, self)

    def __repr__(self):
        return "<tf.Variable '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)


for _name in ("scatter_sub", "scatter_add", "scatter_update", "scatter_max", "scatter_min", "scatter_mul",
              "scatter_div"):
    setattr(ResourceVariable, _name, lambda self, sparse_delta, use_locking=False, name=None, _op="".join(
        w.title() for w in _name.split("_")): self._scatter(_op, sparse_delta, use_locking, name))


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class PartitionedVariable:
    """A variable in parts along one dimension; as a tensor, all of them joined."""
    __array_priority__ = 100

    def __init__(self, name, shape, dtype, variable_list, partitions):
        self._name, self._shape, self._dtype = name, tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)
        self._joined = None

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: self._shape)
    graph = property(lambda self: self._variable_list[0].graph)
    get_shape = lambda self: self._shape

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self):
        return len(self._variable_list)

    def _partition_axes(self):
        axes = [i for i, p in enumerate(self._partitions) if p > 1]
        return axes or [0]

    def as_tensor(self):
        from .array_ops import concat
        if self._joined is None:
            with name_scope(None), control_dependencies(None), name_scope(self._name + "/ConcatPartitions/"):
                parts = [v.value() for v in self._variable_list]
                self._joined = parts[0] if len(parts) == 1 else concat(parts, self._partition_axes()[0])
            with name_scope(None):
                self._joined = apply("Identity", self._name, {"input": self._joined})
        return self._joined

    value = as_tensor

    def _as_graph_tensor(self, dtype=None, name=None, as_ref=False):
        return self.as_tensor()

    def _as_graph_element(self):
        return self.as_tensor()

    def _get_variable_list(self):
        return self._variable_list

    def _get_partitions(self):
        return self._partitions

    def __getitem__(self, key):
        return self.as_tensor()[key]

    def assign(self, value, use_locking=False, name=None, read_value=True):
        from .array_ops import split
        axis = self._partition_axes()[0]
        parts = split(value, [v.shape[axis].value for v in self._variable_list], axis) if len(
            self._variable_list) > 1 else [value]
        return [v.assign(p, use_locking=use_locking) for v, p in zip(self._variable_list, parts)]


for _name in OPERATORS:
    setattr(PartitionedVariable, "__%s__" % _name, _forward(_name, False))
    setattr(PartitionedVariable, "__r%s__" % _name, _forward(_name, True))


# ---------------------------------------- functions over variables

def _collection(key, doc):
    def function(scope=None):
        return get_default_graph().get_collection(key, scope)
    function.__doc__ = doc
    return function


global_variables = _collection(GraphKeys.GLOBAL_VARIABLES, "Variables that programs share and save.")
local_variables = _collection(GraphKeys.LOCAL_VARIABLES, "Variables of this process alone.")
model_variables = _collection(GraphKeys.MODEL_VARIABLES, "Variables that inference needs.")
trainable_variables = _collection(GraphKeys.TRAINABLE_VARIABLES, "Variables that optimizers change.")
moving_average_variables = _collection(GraphKeys.MOVING_AVERAGE_VARIABLES, "Variables with a moving average.")


def _all_saveable_objects(scope=None):
    graph = get_default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS,
                                                                                          scope)


def all_variables():
    return global_variables()


def variables_initializer(var_list, name="init"):
    """An operation that gives the variables their initial values."""
    from .control_flow import group, no_op
    if var_list:
        return group(*[v.initializer for v in var_list], name=name)
    return no_op(name=name)


initialize_variables = variables_initializer


def global_variables_initializer():
    return variables_initializer(global_variables())


def local_variables_initializer():
    return variables_initializer(local_variables())


def initialize_all_variables():
    return global_variables_initializer()


def initialize_local_variables():
    return local_variables_initializer()


def is_variable_initialized(variable):
    if getattr(variable, "_is_resource", False):
        return variable.is_initialized()
    ref = variable._ref() if hasattr(variable, "_ref") else variable
    return apply("IsVariableInitialized", None, {"ref": ref})


def assert_variables_initialized(var_list=None):
    from .control_flow import no_op
    var_list = global_variables() + local_variables() if var_list is None else var_list
    if not var_list:
        return None
    ranks = [apply("Rank", None, {"input": v}) for v in var_list]
    return ranks[0] if len(ranks) == 1 else apply("Pack", None, {"values": ranks, "axis": 0})


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of variables that are not initialized, a string tensor [n]."""
    from .array_ops import boolean_mask, constant
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name):
        if not var_list:
            return constant([], dtypes.string)
        with get_default_graph().device("/cpu:0"):
            mask = ~apply("Pack", None, {"values": [is_variable_initialized(v) for v in var_list], "axis": 0})
            return boolean_mask(constant([v.op.name for v in var_list]), mask)


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    if isinstance(ref, Tensor) and ref.dtype._is_ref_dtype or isinstance(ref, RefVariable):
        target = ref._variable if isinstance(ref, RefVariable) else ref
        return apply("Assign", name, {"ref": target, "value": value, "use_locking": True if use_locking is None else
                                      use_locking, "validate_shape": True if validate_shape is None else validate_shape})
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    if isinstance(ref, Tensor):
        return apply("AssignAdd", name, {"ref": ref, "value": value})
    return ref.assign_add(value, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    if isinstance(ref, Tensor):
        return apply("AssignSub", name, {"ref": ref, "value": value})
    return ref.assign_sub(value, name=name)


def count_up_to(ref, limit, name=None):
    return ref.count_up_to(limit)


def _scatter(op):
    def function(ref, indices, updates, use_locking=True, name=None):
        if getattr(ref, "_is_resource", False):
            done = apply("Resource" + op, name, {"resource": ref.handle, "indices": indices,
                                                 "updates": convert_to_tensor(updates, ref.dtype)})
            return _Unread(done, ref)
        return apply(op, name, {"ref": ref._variable if isinstance(ref, RefVariable) else ref, "indices": indices,
                                "updates": updates, "use_locking": use_locking})
    return function


scatter_update, scatter_add, scatter_sub = _scatter("ScatterUpdate"), _scatter("ScatterAdd"), _scatter("ScatterSub")
scatter_mul, scatter_div = _scatter("ScatterMul"), _scatter("ScatterDiv")
scatter_min, scatter_max = _scatter("ScatterMin"), _scatter("ScatterMax")


def _scatter_nd(op):
    def function(ref, indices, updates, use_locking=True, name=None):
        if getattr(ref, "_is_resource", False):
            return _Unread(apply("Resource" + op, name, {"ref": ref.handle, "indices": indices,
                                                         "updates": convert_to_tensor(updates, ref.dtype)}), ref)
        return apply(op, name, {"ref": ref._variable if isinstance(ref, RefVariable) else ref, "indices": indices,
                                "updates": updates, "use_locking": use_locking})
    return function


scatter_nd_update, scatter_nd_add = _scatter_nd("ScatterNdUpdate"), _scatter_nd("ScatterNdAdd")
scatter_nd_sub = _scatter_nd("ScatterNdSub")


VariableV1 = Variable
