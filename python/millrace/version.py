"""version — what programs ask about the library they run on, and switches between its modes."""
import logging as _logging

from . import _c, graph

__version__ = VERSION = "1.15.5"
__git_version__ = GIT_VERSION = "v1.15.5-millrace-" + _c.mr_version().decode()
__compiler_version__ = COMPILER_VERSION = "gcc"
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER = 134, 0, 0
CXX11_ABI_FLAG = __cxx11_abi_flag__ = 1
MONOLITHIC_BUILD = __monolithic_build__ = 0


def _nothing(*args, **kwargs):
    """There is nothing to switch: graphs are what there is."""


def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    """From now on ops run as they are called."""
    graph.decide_eager(True, anew=True)


def disable_eager_execution():
    graph.decide_eager(False, anew=True)


def enable_v2_behavior():
    enable_eager_execution()


def disable_v2_behavior():
    disable_eager_execution()


disable_v2_tensorshape = _nothing
disable_control_flow_v2 = disable_tensor_equality = _nothing


def _refuse(what):
    def function(*args, **kwargs):
        raise NotImplementedError("%s is not part of Millrace: it runs graphs" % what)
    return function


enable_v2_tensorshape, enable_control_flow_v2 = _refuse("v2 tensor shapes"), _refuse("control flow v2")
enable_tensor_equality = _refuse("tensor equality")
load_file_system_library = _refuse("loading file systems")


def control_flow_v2_enabled():
    return False


def get_logger():
    return _logging.getLogger("tensorflow")


def load_op_library(library_filename):
    """A module with the functions of the ops that a plug-in library registers."""
    import types
    from . import messages, op_table
    handle = _c.call("TF_LoadLibrary", _c.encode(library_filename))
    data = _c.TF_GetOpList(handle)
    import ctypes
    ops = messages.OpList.FromString(ctypes.string_at(data.data, data.length) if data.length else b"")
    module = types.ModuleType("millrace_ops_%x" % handle)
    for op in ops.op:
        setattr(module, op_table.snake(op.name), op_table.function(op.name))
    module.LIB_HANDLE, module.OP_LIST = handle, ops
    return module


load_library = load_op_library


def get_include():
    return ""


def get_lib():
    import os
    return os.path.dirname(_c.path)


def get_compile_flags():
    return []


def get_link_flags():
    return ["-L" + get_lib(), "-lmillrace"]
