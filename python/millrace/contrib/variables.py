"""variables — contrib.framework: variables in the model's collection, found by scope and name, filled from checkpoints."""
import re

from .. import variable_scope as vs
from ..graph import GraphKeys, get_collection, get_default_graph
from ..train.saver import Saver, init_from_checkpoint, list_variables, load_checkpoint, load_variable  # noqa: F401
from ..train.steps import (assert_global_step, create_global_step, get_global_step,  # noqa: F401
                           get_or_create_global_step)
from ..variables import Variable  # noqa: F401
from .arg_scope import add_arg_scope

__all__ = ["variable", "model_variable", "local_variable", "global_variable", "add_model_variable", "get_variables",
           "get_model_variables", "get_trainable_variables", "get_local_variables", "get_variables_by_name",
           "get_variables_by_suffix", "get_unique_variable", "get_variables_to_restore", "get_variable_full_name",
           "filter_variables", "assign_from_values", "assign_from_values_fn", "assign_from_checkpoint",
           "assign_from_checkpoint_fn", "init_from_checkpoint", "list_variables", "load_variable", "load_checkpoint",
           "get_global_step", "get_or_create_global_step", "create_global_step", "assert_global_step",
           "VariableDeviceChooser", "local_variable"]


@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
             caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None, **unused):
    """A variable by get_variable, on a device."""
    collections = list(collections if collections is not None else [GraphKeys.GLOBAL_VARIABLES])
    collections = list(dict.fromkeys(collections))
    getter = vs.get_variable
    if custom_getter is not None:
        getter = lambda *args, **kwargs: custom_getter(vs.get_variable, *args, **kwargs)
    with get_default_graph().device(device or ""):
        return getter(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                      trainable=trainable, collections=collections, caching_device=caching_device,
                      partitioner=partitioner, use_resource=use_resource)


@add_arg_scope
def model_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
                   caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None, **unused):
    """The same, in the collection of model variables."""
    collections = list(collections or []) + [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                    trainable=trainable, collections=collections, caching_device=caching_device, device=device,
                    partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource)


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    return Variable(initial_value, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name=name,
                    validate_shape=validate_shape, use_resource=use_resource)


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    return Variable(initial_value, trainable=False, collections=[GraphKeys.GLOBAL_VARIABLES], name=name,
                    validate_shape=validate_shape, use_resource=use_resource)


def add_model_variable(var):
    if var not in get_collection(GraphKeys.MODEL_VARIABLES):
        get_default_graph().add_to_collection(GraphKeys.MODEL_VARIABLES, var)


def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
    """The variables of a collection below a scope."""
    if isinstance(scope, vs.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + suffix if ":" in suffix else (scope or "") + ".*" + suffix + ".*"
    return get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    return get_variables(scope=scope, suffix="/" + given_name + ":|^" + given_name + ":")


def get_variables_by_suffix(suffix, scope=None):
    return get_variables(scope=scope, suffix=suffix)


def get_unique_variable(var_op_name):
    """The one variable of that name. ValueError."""
    found = get_variables(scope=var_op_name)
    if not found:
        raise ValueError("Couldn't find variable %s" % var_op_name)
    for one in found:
        if one.op.name == var_op_name:
            return one
    raise ValueError("Variable %s does not uniquely identify a variable" % var_op_name)


def get_variables_to_restore(include=None, exclude=None):
    """The variables whose names begin with one of `include` and none of `exclude`."""
    if include is None:
        found = get_variables()
    else:
        if not isinstance(include, (list, tuple)):
            raise TypeError("include is provided but is not a list or a tuple.")
        found = [v for scope in include for v in get_variables(scope)]
    if exclude is None:
        return found
    if not isinstance(exclude, (list, tuple)):
        raise TypeError("exclude is provided but is not a list or a tuple.")
    out = {v for scope in exclude for v in get_variables(scope)}
    return [v for v in found if v not in out]


def get_variable_full_name(var):
    info = getattr(var, "_save_slice_info", None)
    return info.full_name if info else var.op.name


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    match = re.search if reg_search else re.match
    if include_patterns is None:
        kept = list(var_list)
    else:
        kept = [v for v in var_list if any(match(p, v.name) for p in include_patterns)]
    return [v for v in kept if not any(match(p, v.name) for p in exclude_patterns or ())]


# ---------------------------------------- values

def assign_from_values(var_names_to_values):
    """(operation, feeds) that give variables these values."""
    from ..array_ops import placeholder
    from ..control_flow import group
    feeds, ops = {}, []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        place = placeholder(var.dtype.base_dtype, name="value_to_assign", shape=var.get_shape())
        ops.append(var.assign(place))
        feeds[place] = value.reshape(var.get_shape().as_list())
    return group(*ops), feeds


def assign_from_values_fn(var_names_to_values):
    op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(op, feeds)


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """(operation, feeds) that give variables the values of a checkpoint."""
    from ..array_ops import placeholder
    from ..control_flow import group
    named = var_list if isinstance(var_list, dict) else {get_variable_full_name(v): v for v in var_list}
    reader, feeds, ops = load_checkpoint(model_path), {}, []
    for name, var in named.items():
        if not reader.has_tensor(name):
            text = "Checkpoint is missing variable [%s]" % name
            if not ignore_missing_vars:
                raise ValueError(text)
            import millrace.logging as logging
            logging.warning(text)
            continue
        for one in var if isinstance(var, (list, tuple)) else [var]:
            value = reader.get_tensor(name)
            if not one.get_shape().is_compatible_with(value.shape):
                raise ValueError("Total size of new array must be unchanged for %s lh_shape: [%s], rh_shape: [%s]" % (
                    name, str(value.shape), str(one.get_shape())))
            place = placeholder(one.dtype.base_dtype, name=(one.op.name + "/value_to_assign").replace("/", "_"),
                                shape=one.get_shape())
            ops.append(one.assign(place))
            feeds[place] = value
    return group(*ops), feeds


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """A function of a session that restores variables, or None where nothing is left to restore."""
    if ignore_missing_vars:
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        reader = load_checkpoint(model_path)
        var_list = {name: v for name, v in named.items() if reader.has_tensor(name)}
        import millrace.logging as logging
        for name in set(named) - set(var_list):
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
    if not var_list:
        import millrace.logging as logging
        logging.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


class VariableDeviceChooser:
    """A device function: variables go to the parameter servers in turn."""

    def __init__(self, num_tasks=0, job_name="ps", device_type="CPU", device_index=0, replica=None):
        self._num_tasks, self._job, self._type, self._index, self._replica = num_tasks, job_name, device_type, \
            device_index, replica
        self._next = 0

    def __call__(self, op):
        from ..device import DeviceSpec
        spec = DeviceSpec(replica=self._replica, device_type=self._type, device_index=self._index)
        if self._num_tasks > 0:
            spec = spec.replace(job=self._job, task=self._next)
            self._next = (self._next + 1) % self._num_tasks
        return spec.to_string()
