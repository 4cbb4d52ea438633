"""shims — names inside of tensorflow.python that programs import for their own plumbing: decorators, inspection, modes."""
import collections
import contextlib
import functools
import inspect

from . import test

# ---------------------------------------- decorators


def _decorator(*args, **kwargs):
    return lambda function: function


deprecated = deprecated_args = deprecated_arg_values = deprecated_alias_decorator = keras_export = tf_export = \
    estimator_export = do_not_doc_inheritable = _decorator
tf_export.__doc__ = "A decorator with arguments that gives the function back."


def deprecated_alias(deprecated_name, name, func_or_class, warn_once=True):
    return func_or_class


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    if old_value is not None:
        if new_value is not None:
            raise ValueError("Cannot specify both '%s' and '%s'" % (old_name, new_name))
        return old_value
    return new_value


@contextlib.contextmanager
def silence():
    yield


_PRINT_DEPRECATION_WARNINGS = False


def make_decorator(target, decorator_func, decorator_name=None, decorator_doc="", decorator_argspec=None):
    functools.update_wrapper(decorator_func, target)
    return decorator_func


tf_decorator = make_decorator


def unwrap(maybe_tf_decorator):
    return [], inspect.unwrap(maybe_tf_decorator) if callable(maybe_tf_decorator) else maybe_tf_decorator


def contextmanager(target):
    return contextlib.contextmanager(target)


def remove_undocumented(*args, **kwargs):
    """Every name stays."""


def make_all(module_name, doc_string_modules=None):
    import sys
    return [n for n in dir(sys.modules[module_name]) if not n.startswith("_")]


def do_not_convert(func=None, *args, **kwargs):
    """Python's own control flow is never converted here: the function as it is."""
    return func if callable(func) else lambda function: function


# ---------------------------------------- inspection

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
FullArgSpec = inspect.FullArgSpec


def getfullargspec(obj):
    return inspect.getfullargspec(obj)


def getargspec(obj):
    spec = inspect.getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def fn_args(fn):
    """The names of a function's arguments, without self."""
    if isinstance(fn, functools.partial):
        bound = set(fn.keywords or {})
        return tuple(a for a in fn_args(fn.func)[len(fn.args):] if a not in bound)
    if not inspect.isroutine(fn) and hasattr(fn, "__call__") and not inspect.isclass(fn):
        fn = fn.__call__
    names = inspect.getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(fn) or names[:1] == ["self"] else names)


def has_kwargs(fn):
    return inspect.getfullargspec(fn).varkw is not None


isclass, isfunction, ismethod, ismodule, isroutine, getdoc, getmro, getfile, getsource, getmembers, currentframe, \
    getmodule, isbuiltin, stack = (inspect.isclass, inspect.isfunction, inspect.ismethod, inspect.ismodule,
                                   inspect.isroutine, inspect.getdoc, inspect.getmro, inspect.getfile, inspect.getsource,
                                   inspect.getmembers, inspect.currentframe, inspect.getmodule, inspect.isbuiltin,
                                   inspect.stack)

# ---------------------------------------- modes: this is the machine of graphs


def executing_eagerly():
    return False


in_eager_mode = executing_eagerly


def in_graph_mode():
    return True


@contextlib.contextmanager
def graph_mode():
    yield


def eager_mode():
    raise NotImplementedError("eager mode is not part of millrace.compat.v1's graphs")


def num_gpus():
    return 0


def enabled():
    """Whether this is TensorFlow 2: no."""
    return False


# ---------------------------------------- test_util

TensorFlowTestCase = test.TestCase


def _same(function=None, **kwargs):
    return function if function is not None else _decorator()


run_in_graph_and_eager_modes = run_all_in_graph_and_eager_modes = run_v1_only = run_deprecated_v1 = enable_c_shapes = \
    run_all_without_tensor_float_32 = disable_xla = enable_control_flow_v2 = with_control_flow_v2 = \
    run_all_tests_in_graph_and_eager_modes = run_test_in_graph_and_eager_modes = assert_no_new_tensors = \
    assert_no_garbage_created = run_gpu_only = deprecated_graph_mode_only = build_as_function_and_v1_graph = _same


def run_v1_only_with(reason):
    return _decorator()


def IsMklEnabled():
    return False


is_xla_enabled = IsBuiltWithROCm = IsMklEnabled


def InstallStackTraceHandler():
    """Nothing to install."""


# ---------------------------------------- distribution: one replica


class ReplicaContext:
    """The only replica."""
    replica_id_in_sync_group, num_replicas_in_sync = 0, 1

    def merge_call(self, merge_fn, args=(), kwargs=None):
        return merge_fn(get_strategy(), *args, **(kwargs or {}))

    @property
    def strategy(self):
        return get_strategy()

    def all_reduce(self, reduce_op, value, options=None):
        return value


class ReduceOp:
    SUM, MEAN = "SUM", "MEAN"


class Strategy:
    """What runs a program on one replica."""

    def __init__(self, *args, **kwargs):
        self.num_replicas_in_sync = 1

    extended = property(lambda self: self)

    @contextlib.contextmanager
    def scope(self):
        yield self

    def reduce(self, reduce_op, value, axis=None):
        return value

    reduce_to = batch_reduce_to = lambda self, reduce_op, value, destinations=None: value

    def update(self, var, fn, args=(), kwargs=None, group=True):
        return fn(var, *args, **(kwargs or {}))

    def experimental_run_v2(self, fn, args=(), kwargs=None):
        return fn(*args, **(kwargs or {}))

    run = call_for_each_replica = experimental_run_v2

    def experimental_local_results(self, value):
        return (value,)

    unwrap = experimental_local_results

    def make_dataset_iterator(self, dataset):
        return dataset.make_initializable_iterator()

    def experimental_distribute_dataset(self, dataset):
        return dataset

    def colocate_vars_with(self, colocate_with_variable):
        from .graph import get_default_graph
        return get_default_graph().colocate_with(colocate_with_variable)

    worker_devices = property(lambda self: ("/device:CPU:0",))
    parameter_devices = worker_devices


OneDeviceStrategy = Strategy


class MirroredStrategy(Strategy):
    """Copies on several devices: here there is one."""

    def __init__(self, devices=None, cross_device_ops=None, **kwargs):
        super().__init__()
        if devices is not None and len(devices) > 1:
            raise NotImplementedError("tf.distribute.MirroredStrategy over %d devices is not part of Millrace" % len(
                devices))


_strategy = Strategy()


def get_strategy():
    return _strategy


get_distribution_strategy = get_strategy


def has_strategy():
    return False


def get_replica_context():
    return _replica


get_tower_context = get_replica_context


def in_cross_replica_context():
    return False


_replica = ReplicaContext()


# ---------------------------------------- small pieces

def all_reduce_sum(value):
    return value


def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors, all_tensor_names=False, count_exclude_pattern=""):
    """Prints a checkpoint's tensors."""
    from .train.saver import CheckpointReader
    reader = CheckpointReader(file_name)
    if not (tensor_name or all_tensors or all_tensor_names):
        print(reader.debug_string().decode("utf-8"))
        return
    names = [tensor_name] if tensor_name else sorted(reader.get_variable_to_shape_map())
    for name in names:
        print("tensor_name: ", name)
        if all_tensors or tensor_name:
            print(reader.get_tensor(name))


def conv_output_length(input_length, filter_size, padding, stride, dilation=1):
    if input_length is None:
        return None
    size = filter_size + (filter_size - 1) * (dilation - 1)
    length = input_length if padding in ("same", "causal") else input_length - size + 1 if padding == "valid" else \
        input_length + size - 1
    return (length + stride - 1) // stride


def deconv_output_length(input_length, filter_size, padding, stride):
    if input_length is None:
        return None
    length = input_length * stride
    if padding == "valid":
        return length + max(filter_size - stride, 0)
    return length - (stride + filter_size - 2) if padding == "full" else length


def normalize_tuple(value, n, name):
    from .layers import _n
    return _n(value, n, name)


def normalize_data_format(value):
    if value.lower() not in ("channels_first", "channels_last"):
        raise ValueError("The `data_format` argument must be one of \"channels_first\", \"channels_last\". Received: %s" %
                         value)
    return value.lower()


def normalize_padding(value):
    if value.lower() not in ("valid", "same"):
        raise ValueError("The `padding` argument must be one of \"valid\", \"same\". Received: %s" % value)
    return value.lower()


def convert_data_format(data_format, ndim):
    last = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
    first = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
    return (last if data_format == "channels_last" else first)[ndim]


def convert_padding(padding, expected_rank=4):
    return padding.upper()


def GraphOrParentsInXlaContext(graph=None):
    return False


def GetContainingXLAContext(ctxt):
    return None


def GetContainingWhileContext(ctxt, stop_ctxt=None):
    while ctxt:
        if ctxt.IsWhileContext() or ctxt is stop_ctxt:
            return ctxt
        ctxt = ctxt.outer_context
    return None


def uid():
    return next(_uids)


_uids = iter(range(1, 1 << 62))


def shared_resources():
    from .graph import GraphKeys, get_collection
    return get_collection(GraphKeys.RESOURCES)


def local_resources():
    from .graph import GraphKeys, get_collection
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resource_list, name="init"):
    from .control_flow import group
    return group(*[r.create for r in resource_list], name=name)


def summary_scope(name, family=None, default_name=None, values=None):
    from .summary import _Scope

    @contextlib.contextmanager
    def opened():
        with _Scope(name or default_name, family, values) as found:
            yield found
    return opened()


def collect(val, collections, default_collections):
    from .graph import add_to_collection
    for key in default_collections if collections is None else collections:
        add_to_collection(key, val)


def get_registered_ops():
    from . import op_table
    return {n: op_table.find(n) for n in op_table.names()}


def sync():
    """All ops are known at all times."""


def RegisterShape(op_type):
    """A decorator that older programs use: shapes are inferred by the library."""
    return _decorator()


def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=None):
    raise NotImplementedError("tf.profiler.profile is not part of Millrace")


def register_symbolic_tensor_type(cls):
    """Nothing asks which types stand for tensors."""


def is_symbolic_tensor(tensor):
    from .nodes import Tensor
    return isinstance(tensor, Tensor) or hasattr(tensor, "_as_graph_tensor")
