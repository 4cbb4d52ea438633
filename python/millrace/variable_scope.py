"""variable_scope — get_variable and the scopes that name, share and configure what it makes."""
import contextlib
import enum
import functools

from . import dtypes, init_ops, tensor_shape, variables
from .convert import convert_to_tensor
from .graph import GraphKeys, Tensor, get_default_graph, name_scope
from .variables import (PartitionedVariable, RefVariable, ResourceVariable, Variable, VariableAggregation,
                        VariableSynchronization)


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
_STORE, _SCOPE = ("__variable_store",), ("__varscope",)
_default_use_resource = False
_PROPERTIES = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource",
               "constraint")


def enable_resource_variables():
    """Makes variables resources from now on, where no scope says otherwise."""
    global _default_use_resource
    _default_use_resource = True


def disable_resource_variables():
    global _default_use_resource
    _default_use_resource = False


def resource_variables_enabled():
    return _default_use_resource


class _PartitionInfo:
    """Which part of a partitioned variable an initializer makes."""

    def __init__(self, full_shape, var_offset):
        self.full_shape, self.var_offset = list(full_shape), list(var_offset)

    def single_offset(self, shape):
        return self.var_offset[self.single_slice_dim(shape) or 0]

    def single_slice_dim(self, shape):
        for i, (a, b) in enumerate(zip(shape, self.full_shape)):
            if a != b:
                return i
        return None


class _VariableStore:
    """The variables of a graph that get_variable has made, by name."""

    def __init__(self):
        self._vars, self._partitioned_vars, self._opened = {}, {}, {}

    # ---- names of scopes, to uniquify defaults

    def open_scope(self, name):
        self._opened[name] = self._opened.get(name, 0) + 1

    def close_below(self, name):
        for key in list(self._opened):
            if name is None or key.startswith(name + "/"):
                self._opened[key] = 0

    def count(self, name):
        return self._opened.get(name, 0)

    # ---- getting

    def get_variable(self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, custom_getter=None, constraint=None,
                     synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError("Passed a custom_getter which is not callable: %s" % custom_getter)
        dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else dtypes.float32
        arguments = dict(shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, reuse=reuse,
                         trainable=trainable, collections=collections, caching_device=caching_device,
                         partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource,
                         constraint=constraint, synchronization=synchronization, aggregation=aggregation)
        if custom_getter is not None:
            return custom_getter(getter=self._true_getter, name=name, **arguments)
        return self._true_getter(name, **arguments)

    def _true_getter(self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, constraint=None, synchronization=VariableSynchronization.AUTO,
                     aggregation=VariableAggregation.NONE):
        is_scalar = shape is not None and not isinstance(shape, Tensor) and tensor_shape.as_shape(shape).ndims == 0
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError("Partitioner must be callable, but received: %s" % partitioner)
            return self._partitioned(name, shape, dtype, initializer, regularizer, reuse, trainable, collections,
                                     caching_device, partitioner, validate_shape, use_resource, constraint,
                                     synchronization, aggregation)
        if "%s/part_0" % name in self._vars:
            if reuse is True or reuse is AUTO_REUSE:
                return self._partitioned_vars[name]
            raise ValueError("No partitioner was provided, but a partitioned version of the variable was found: "
                             "%s/part_0. Perhaps a variable of the same name was already created with partitioning?"
                             % name)
        return self._single(name, shape, dtype, initializer, regularizer, None, reuse, trainable, collections,
                            caching_device, validate_shape, use_resource, constraint, synchronization, aggregation)

    def _partitioned(self, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, caching_device,
                     partitioner, validate_shape, use_resource, constraint, synchronization, aggregation):
        given = initializer is not None and not callable(initializer)
        if given:
            initializer = convert_to_tensor(initializer)
            shape = initializer.shape if shape is None else shape
        if name in self._partitioned_vars:
            if reuse is False or reuse is None:
                raise ValueError("Partitioned variable with name %s already exists. Did you mean to set reuse=True or "
                                 "reuse=tf.AUTO_REUSE in VarScope?" % name)
            return self._partitioned_vars[name]
        if reuse is True:
            raise ValueError("PartitionedVariable %s does not exist, or was not created with tf.get_variable(). Did you "
                             "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?" % name)
        shape = tensor_shape.as_shape(shape)
        shape.assert_is_fully_defined()
        partitions = partitioner(shape=shape, dtype=dtype)
        dims = shape.as_list()
        axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
        count = partitions[axis]
        base, extra = divmod(dims[axis], count)
        parts, at = [], 0
        if initializer is None:
            initializer = _default_initializer(name, shape, dtype)
        for i in range(count):
            size = base + (1 if i < extra else 0)
            part_shape, offset = list(dims), [0] * len(dims)
            part_shape[axis], offset[axis] = size, at
            if given:
                from .array_ops import slice as slice_
                make, its_shape = slice_(initializer, offset, part_shape), None
            else:
                make, its_shape = initializer, part_shape
            part = self._single("%s/part_%d" % (name, i), its_shape, dtype, make, None, _PartitionInfo(dims, offset),
                                reuse, trainable, collections, caching_device, validate_shape, use_resource, constraint,
                                synchronization, aggregation)
            part._set_save_slice_info(Variable.SaveSliceInfo(name, dims, offset, part_shape))
            parts.append(part)
            at += size
        found = PartitionedVariable(name, dims, dtype, parts, partitions)
        self._partitioned_vars[name] = found
        if regularizer is not None:
            with name_scope(name + "/Regularizer/"):
                loss = regularizer(found.as_tensor() if not hasattr(regularizer, "_per_part") else found)
            if loss is not None:
                get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return found

    def _single(self, name, shape, dtype, initializer, regularizer, partition_info, reuse, trainable, collections,
                caching_device, validate_shape, use_resource, constraint, synchronization, aggregation):
        given = initializer is not None and not callable(initializer)
        if given and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        known = tensor_shape.as_shape(shape)
        if name in self._vars:
            return self._existing(name, known, dtype, reuse)
        if reuse is True:
            raise ValueError("Variable %s does not exist, or was not created with tf.get_variable(). Did you mean to set "
                             "reuse=tf.AUTO_REUSE in VarScope?" % name)
        if initializer is None:
            if not known.is_fully_defined() and shape is not None:
                raise ValueError("Shape of a new variable (%s) must be fully defined, but instead was %s." % (name, known))
            if shape is None:
                raise ValueError("Variable %s did not get an initializer, so its `shape` argument must be specified."
                                 % name)
            initializer = _default_initializer(name, known, dtype)
        if given:
            first = lambda: convert_to_tensor(initializer, dtype if not isinstance(initializer, Tensor) else None)
            variable_dtype = None if isinstance(initializer, Tensor) else dtype
        else:
            if isinstance(initializer, type):
                initializer = initializer()
            if shape is not None and known.is_fully_defined():
                first = functools.partial(_call_initializer, initializer, known.as_list(), dtype, partition_info)
            elif shape is None and _takes_nothing(initializer):
                first = initializer
            else:
                raise ValueError("The initializer passed is not valid. It should be a callable with no arguments and the "
                                 "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
                                 "should be fully defined. Shape of a new variable (%s) must be fully defined, but "
                                 "instead was %s." % (name, known))
            variable_dtype = dtype
        made = _make_variable(first, name=name, trainable=trainable, collections=collections,
                              caching_device=caching_device, dtype=variable_dtype, validate_shape=validate_shape,
                              constraint=constraint, use_resource=bool(use_resource) if use_resource is not None else None,
                              synchronization=synchronization, aggregation=aggregation)
        self._vars[name] = made
        if regularizer is not None:
            with get_default_graph().colocate_with(made.op), name_scope(name + "/Regularizer/"):
                loss = regularizer(made)
            if loss is not None:
                get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return made

    def _existing(self, name, known, dtype, reuse):
        found = self._vars[name]
        if reuse is False or reuse is None:
            where = found.op.traceback[-1:] if found.op.traceback else []
            raise ValueError("Variable %s already exists, disallowed. Did you mean to set reuse=True or "
                             "reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n%s" % (
                                 name, "".join('  File "%s", line %s, in %s\n' % f[:3] for f in where)))
        if not known.is_compatible_with(found.shape):
            raise ValueError("Trying to share variable %s, but specified shape %s and found shape %s." % (
                name, known, found.shape))
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError("Trying to share variable %s, but specified dtype %s and found dtype %s." % (
                name, dtype.name, found.dtype.name))
        return found


def _takes_nothing(function):
    import inspect
    try:
        return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
                   for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return True


def _call_initializer(initializer, shape, dtype, partition_info):
    if partition_info is not None:
        return initializer(shape, dtype=dtype, partition_info=partition_info)
    return initializer(shape, dtype=dtype)


def _default_initializer(name, shape, dtype):
    if dtype.is_floating:
        return init_ops.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
        return init_ops.Zeros()
    raise ValueError("An initializer for variable %s of %s is required" % (name, dtype))


class VariableScope:
    """What a variable scope says: name, reuse, and defaults for the variables made in it."""

    def __init__(self, reuse, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None,
                 custom_getter=None, name_scope="", dtype=dtypes.float32, use_resource=None, constraint=None):
        self._name, self._reuse, self._name_scope = name, reuse, name_scope
        self._initializer, self._regularizer, self._caching_device = initializer, regularizer, caching_device
        self._partitioner, self._custom_getter, self._dtype = partitioner, custom_getter, dtypes.as_dtype(dtype)
        self._use_resource, self._constraint = use_resource, constraint

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)

    def reuse_variables(self):
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def set_dtype(self, dtype):
        self._dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource):
        self._use_resource = use_resource

    def set_constraint(self, constraint):
        self._constraint = constraint

    def get_collection(self, name):
        scope = self._name + "/" if self._name else self._name
        return get_default_graph().get_collection(name, scope)

    def trainable_variables(self):
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, custom_getter=None, constraint=None,
                     synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
        if regularizer is None:
            regularizer = self._regularizer
        if caching_device is None:
            caching_device = self._caching_device
        if partitioner is None:
            partitioner = self._partitioner
        if custom_getter is None:
            custom_getter = self._custom_getter
        if reuse is None:
            reuse = self._reuse
        full = self._name + "/" + name if self._name else name
        with name_scope(None):
            if initializer is None:
                initializer = self._initializer
            if constraint is None:
                constraint = self._constraint
            if dtype is not None and initializer is not None and not callable(initializer) and \
                    isinstance(initializer, Tensor) and dtypes.as_dtype(dtype).base_dtype != initializer.dtype.base_dtype:
                raise ValueError("Initializer type '%s' and explicit dtype '%s' don't match." % (
                    initializer.dtype.base_dtype, dtypes.as_dtype(dtype)))
            if dtype is None:
                dtype = self._dtype
                if initializer is not None and not callable(initializer):
                    dtype = convert_to_tensor(initializer).dtype.base_dtype
            if use_resource is None:
                use_resource = self._use_resource
            return var_store.get_variable(full, shape=shape, dtype=dtype, initializer=initializer,
                                          regularizer=regularizer, reuse=reuse, trainable=trainable,
                                          collections=collections, caching_device=caching_device,
                                          partitioner=partitioner, validate_shape=validate_shape,
                                          use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
                                          synchronization=synchronization, aggregation=aggregation)


for _name in _PROPERTIES:
    setattr(VariableScope, _name, property(lambda self, _key="_" + _name: getattr(self, _key)))


# ---------------------------------------- the current scope

def _get_default_variable_store():
    stores = get_default_graph().get_collection_ref(_STORE)
    if not stores:
        stores.append(_VariableStore())
    return stores[0]


def get_variable_scope():
    """The current scope."""
    import threading
    stack = get_default_graph().get_collection_ref(_SCOPE)
    if not stack:
        stack.append({})
    scopes, thread = stack[0], threading.get_ident()
    if thread not in scopes:
        scopes[thread] = VariableScope(False)
    return scopes[thread]


def _set_scope(scope):
    import threading
    get_variable_scope()
    get_default_graph().get_collection_ref(_SCOPE)[0][threading.get_ident()] = scope


def _chain(inner, outer):
    """A getter that asks the outer scope's getter for what the inner one wants made."""
    if outer is None:
        return inner

    def getter(getter, *args, **kwargs):
        return inner(functools.partial(outer, getter), *args, **kwargs)
    return getter


class _PureScope:
    """Enters a variable scope without touching names of operations."""

    def __init__(self, name_or_scope, reuse=None, old_name_scope=None, **properties):
        self._target, self._reuse, self._old_name_scope = name_or_scope, reuse, old_name_scope
        self._properties = properties

    def __enter__(self):
        store, old = _get_default_variable_store(), get_variable_scope()
        self._old = old
        if isinstance(self._target, VariableScope):
            new = self._of_scope(self._target, old)
        else:
            new = self._of_name(old)
        for key, value in self._properties.items():
            if value is None:
                continue
            if key == "custom_getter":
                value = _chain(value, new._custom_getter)
            setattr(new, "_" + key, dtypes.as_dtype(value) if key == "dtype" else value)
        self._store, self._subscopes = store, dict(store._opened)
        store.open_scope(new._name)
        self._new = new
        _set_scope(new)
        return new

    def _of_scope(self, scope, old):
        reuse = scope._reuse if self._reuse is None else self._reuse
        name_scope_ = scope._name_scope if self._old_name_scope is None else self._old_name_scope
        return VariableScope(reuse, name=scope._name, name_scope=name_scope_,
                             **{p: getattr(scope, "_" + p) for p in _PROPERTIES})

    def _of_name(self, old):
        name = old._name + "/" + self._target if old._name else self._target
        reuse = self._reuse or old._reuse
        return VariableScope(reuse, name=name, name_scope=self._old_name_scope or self._target,
                             **{p: getattr(old, "_" + p) for p in _PROPERTIES})

    def __exit__(self, *exc):
        self._store.close_below(self._new._name)
        if isinstance(self._target, VariableScope):
            self._store._opened = self._subscopes
        _set_scope(self._old)


def _unique_scope(prefix):
    store = _get_default_variable_store()
    current = get_variable_scope()._name
    full = lambda n: current + "/" + n if current else n
    if store.count(full(prefix)) == 0:
        return prefix
    i = 1
    while store.count(full("%s_%d" % (prefix, i))) > 0:
        i += 1
    return "%s_%d" % (prefix, i)


class variable_scope:
    """`with variable_scope("s"):` puts variables made by get_variable under "s/", and shares them where reuse says so."""

    def __init__(self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None,
                 caching_device=None, partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None,
                 constraint=None, auxiliary_name_scope=True):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if reuse not in (None, True, False) and reuse is not AUTO_REUSE:
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError("The auxiliary_name_scope must be `True` or `False`, while get %s" % auxiliary_name_scope)
        if reuse is False:
            reuse = None
        self._target, self._default_name, self._values, self._reuse = name_or_scope, default_name, values, reuse
        self._aux = auxiliary_name_scope
        self._properties = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device,
                                partitioner=partitioner, custom_getter=custom_getter, dtype=dtype,
                                use_resource=use_resource, constraint=constraint)
        self._names = self._pure = self._default = None

    def __enter__(self):
        from .graph import _get_graph_from_inputs
        graph = _get_graph_from_inputs(self._values or ())
        self._default = graph.as_default()
        self._default.__enter__()
        try:
            return self._enter(graph)
        except BaseException as error:
            if self._names is not None:
                self._names.__exit__(type(error), error, None)
            self._default.__exit__(type(error), error, None)
            raise

    def _enter(self, graph):
        target = self._target
        if target is None and self._reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        name = _unique_scope(self._default_name) if target is None else target
        current = graph.get_name_scope()
        current = current + "/" if current else ""
        if self._aux:
            short = name if isinstance(name, str) else name.name.split("/")[-1]
            if short:
                self._names = name_scope(short)
                opened = self._names.__enter__()
            else:
                self._names, opened = None, current
        else:
            opened = current
        old_scope = opened
        if isinstance(name, VariableScope):
            old_scope = name.original_name_scope
        self._pure = _PureScope(name, self._reuse, old_scope, **self._properties)
        return self._pure.__enter__()

    def __exit__(self, *exc):
        self._pure.__exit__(*exc)
        if self._names is not None:
            self._names.__exit__(*exc)
            self._names = None
        self._default.__exit__(*exc)

    def __call__(self, function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            with variable_scope(self._target, self._default_name, self._values, reuse=self._reuse,
                                auxiliary_name_scope=self._aux, **self._properties):
                return function(*args, **kwargs)
        return inner


def _pure_variable_scope(name_or_scope, reuse=None, initializer=None, regularizer=None, caching_device=None,
                         partitioner=None, custom_getter=None, old_name_scope=None, dtype=dtypes.float32,
                         use_resource=None, constraint=None):
    return _PureScope(name_or_scope, reuse, old_name_scope, initializer=initializer, regularizer=regularizer,
                      caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, dtype=dtype,
                      use_resource=use_resource, constraint=constraint)


def variable_op_scope(values, name_or_scope, default_name=None, initializer=None, regularizer=None,
                      caching_device=None, partitioner=None, custom_getter=None, reuse=None, dtype=None,
                      use_resource=None, constraint=None):
    return variable_scope(name_or_scope, default_name=default_name, values=values, initializer=initializer,
                          regularizer=regularizer, caching_device=caching_device, partitioner=partitioner,
                          custom_getter=custom_getter, reuse=reuse, dtype=dtype, use_resource=use_resource,
                          constraint=constraint)


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
                 caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                 constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """A variable by its name in the current scope: made, or shared where the scope reuses. ValueError.

    >>> with tf.variable_scope("s"): tf.get_variable("v", [2]).name
    's/v:0'
    """
    return get_variable_scope().get_variable(
        _get_default_variable_store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
        validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation)


def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False,
                       collections=None, *args, **kwargs):
    collections = list(collections or []) + [GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, collections, *args, **kwargs)


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    """Variables made inside are made by variable_creator(next_creator, **kwargs)."""
    graph = get_default_graph()
    stack = graph.__dict__.setdefault("_creators", [])
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.remove(variable_creator)


def _make_variable(initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                   name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                   use_resource=None, synchronization=VariableSynchronization.AUTO,
                   aggregation=VariableAggregation.NONE, shape=None):
    arguments = dict(initial_value=initial_value, trainable=trainable, collections=collections,
                     validate_shape=validate_shape, caching_device=caching_device, name=name, dtype=dtype,
                     constraint=constraint, use_resource=use_resource, synchronization=synchronization,
                     aggregation=aggregation, shape=shape)
    if variable_def is not None:
        return Variable.from_proto(variable_def, import_scope)
    maker = _default_maker
    for creator in get_default_graph().__dict__.get("_creators", []):
        maker = functools.partial(creator, maker)
    return maker(**arguments)


def _default_maker(next_creator=None, use_resource=None, **arguments):
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _default_use_resource
    if arguments.get("caching_device") is None:
        arguments["caching_device"] = get_variable_scope().caching_device
    return (ResourceVariable if use_resource else RefVariable)(**arguments)


default_variable_creator = _default_maker


def variable(*args, **kwargs):
    """A variable of the kind that the scope asks for."""
    return _make_variable(*args, **kwargs)


@contextlib.contextmanager
def no_regularizer():
    yield


# ---------------------------------------- templates

class Template:
    """A function whose variables are made at its first call and shared by the later ones."""

    def __init__(self, name, func, create_scope_now=False, unique_name=None, custom_getter=None):
        self._func = func
        self._name, self._unique_name, self._custom_getter = name, unique_name, custom_getter
        self._made, self._scope = False, None
        if create_scope_now:
            self._open()

    def _open(self):
        if self._unique_name is not None:
            with variable_scope(self._unique_name, custom_getter=self._custom_getter) as scope:
                self._scope = scope
        else:
            with variable_scope(None, default_name=self._name, custom_getter=self._custom_getter) as scope:
                self._scope = scope

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            if self._unique_name is not None:
                context = variable_scope(self._unique_name, custom_getter=self._custom_getter)
            else:
                context = variable_scope(None, default_name=self._name, custom_getter=self._custom_getter)
            with context as scope:
                self._scope = scope
                result = self._func(*args, **kwargs)
            self._made = True
            return result
        with variable_scope(self._scope, reuse=True if self._made else None):
            before = len(get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES))
            result = self._func(*args, **kwargs)
            if self._made and len(get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)) != before:
                raise ValueError("New variable(s) created when calling a template after the first time, perhaps you "
                                 "used tf.Variable when you meant tf.get_variable")
            self._made = True
            return result

    name = property(lambda self: self._name)
    func = property(lambda self: self._func)
    variable_scope = property(lambda self: self._scope)

    @property
    def variable_scope_name(self):
        name = self._scope.name if self._scope is not None else ""
        return name + "/" if name and not name.endswith("/") else name

    var_scope = variable_scope

    @property
    def variables(self):
        return self.global_variables + self.local_variables

    def _of(self, key):
        return get_default_graph().get_collection(key, self.variable_scope_name) if self._scope is not None else []

    trainable_variables = trainable_weights = property(lambda self: self._of(GraphKeys.TRAINABLE_VARIABLES))
    global_variables = property(lambda self: self._of(GraphKeys.GLOBAL_VARIABLES))
    local_variables = property(lambda self: self._of(GraphKeys.LOCAL_VARIABLES))


def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    """A function that shares its variables between calls. It gets `kwargs`, whatever their names, at each call."""
    func = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, func, create_scope_now_, unique_name_, custom_getter_)


# ---------------------------------------- partitioners

def fixed_size_partitioner(num_shards, axis=0):
    def partitioner(shape, **unused):
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, shape[axis].value)
        return parts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be a positive integer.")

    def partitioner(shape, dtype):
        size = bytes_per_string_element if dtype == dtypes.string else dtype.size
        parts = [1] * shape.ndims
        slice_bytes = max(1, size * shape.num_elements() // max(1, shape[axis].value))
        rows = max(1, max_shard_bytes // slice_bytes)
        count = -(-shape[axis].value // rows)
        if max_shards is not None:
            count = min(count, max_shards)
        parts[axis] = max(1, count)
        return parts
    return partitioner


def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16):
    def partitioner(shape, dtype):
        size = bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size
        parts = [1] * shape.ndims
        count = (shape.num_elements() * size) // min_slice_size
        parts[axis] = max(1, min(shape[axis].value, max_partitions, int(count)))
        return parts
    return partitioner
