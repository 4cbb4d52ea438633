"""tf1 — the name `tensorflow` for unmodified programs: `python -m millrace.tf1 script.py arguments`.

A finder answers imports of `tensorflow` and everything below with namespaces of this package; paths inside of
`tensorflow.python` are looked up by the names that they give. It is asked for, never installed.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from . import api

# Where names of tensorflow.python.* modules are looked for: modules of the package, then public namespaces.
_INSIDE = {
    "framework.ops": ["graph", "convert", "indexed", "session", "gradients", "constant"],
    "framework.dtypes": ["dtypes"], "framework.tensor_shape": ["tensor_shape"], "framework.errors": ["errors"],
    "framework.errors_impl": ["errors"], "framework.tensor_util": ["constant"], "framework.constant_op": ["constant"],
    "framework.sparse_tensor": ["indexed"], "framework.random_seed": ["graph"], "framework.device": ["device"],
    "framework.function": ["function"], "framework.importer": ["train.meta_graph"], "framework.meta_graph":
    ["train.meta_graph"], "framework.graph_util": ["graph_util"], "framework.graph_util_impl": ["graph_util"],
    "framework.smart_cond": ["control_flow"], "framework.common_shapes": ["array_ops"],
    "ops.array_ops": ["array_ops"], "ops.math_ops": ["math_ops"], "ops.nn_ops": ["nn"], "ops.nn": ["nn"],
    "ops.nn_impl": ["nn"], "ops.random_ops": ["random_ops"], "ops.init_ops": ["init_ops"],
    "ops.control_flow_ops": ["control_flow"], "ops.variables": ["variables"], "ops.state_ops": ["variables"],
    "ops.variable_scope": ["variable_scope"], "ops.tensor_array_ops": ["tensor_array"],
    "ops.functional_ops": ["functional_ops"], "ops.gradients_impl": ["gradients"], "ops.gradients": ["gradients"],
    "ops.clip_ops": ["math_ops"], "ops.check_ops": ["checks"], "ops.logging_ops": ["checks", "summary"],
    "ops.script_ops": ["py_func"], "ops.sparse_ops": ["sparse_ops"], "ops.string_ops": ["string_ops"],
    "ops.linalg_ops": ["linalg"], "ops.embedding_ops": ["nn"], "ops.candidate_sampling_ops": ["nn"],
    "ops.resource_variable_ops": ["variables"], "ops.data_flow_ops": ["data_flow"], "ops.lookup_ops": ["lookup_ops"],
    "ops.rnn": ["rnn"], "ops.rnn_cell": ["rnn_cell"], "ops.rnn_cell_impl": ["rnn_cell"], "ops.losses.losses": ["losses"],
    "ops.losses.util": ["losses"], "ops.metrics": ["metrics"], "ops.metrics_impl": ["metrics"],
    "ops.numerics": ["checks"], "ops.standard_ops": [], "ops.template": ["variable_scope"],
    "ops.partitioned_variables": ["variable_scope"], "ops.image_ops": ["image_ops"], "ops.parsing_ops": ["parsing"],
    "ops.io_ops": ["file_io", "readers"], "ops.clustering_ops": [], "ops.weights_broadcast_ops": ["losses"],
    "ops.math_grad": ["gradients"], "ops.array_grad": ["gradients"], "ops.nn_grad": ["gradients"],
    "training.moving_averages": ["train.schedules"], "training.optimizer": ["train.optimizer"],
    "training.training_ops": [], "training.slot_creator": ["train.optimizer"], "training.saver": ["train.saver"],
    "training.training_util": ["train.steps"], "training.session_run_hook": ["train.hooks"],
    "training.basic_session_run_hooks": ["train.hooks"], "training.monitored_session": ["train.monitored"],
    "training.queue_runner": ["train.queue_runner"], "training.queue_runner_impl": ["train.queue_runner"],
    "training.coordinator": ["train.coordinator"], "training.learning_rate_decay": ["train.schedules"],
    "training.checkpoint_utils": ["train.saver"], "training.checkpoint_management": ["train.saver"],
    "training.training": [], "training.adam": ["train.optimizer"], "training.gradient_descent": ["train.optimizer"],
    "training.momentum": ["train.optimizer"], "training.rmsprop": ["train.optimizer"],
    "training.adagrad": ["train.optimizer"], "training.device_setter": ["train.server"],
    "training.session_manager": ["train.monitored"], "training.supervisor": ["train.monitored"],
    "training.server_lib": ["train.server"], "training.sync_replicas_optimizer": ["train.server"],
    "training.summary_io": ["train.files", "summary"], "training.py_checkpoint_reader": ["train.saver"],
    "client.session": ["session"], "client.timeline": ["timeline"], "client.device_lib": ["config"],
    "util.nest": ["nest"], "util.compat": ["compat_strings"], "util.tf_inspect": [], "util.tf_export": ["shims"],
    "util.deprecation": ["shims"], "util.tf_decorator": ["shims"], "util.tf_contextlib": ["shims"],
    "platform.tf_logging": ["logging"], "platform.gfile": ["file_io"], "platform.app": ["platform"],
    "platform.flags": ["flags"], "platform.test": ["test"], "platform.googletest": ["test"],
    "platform.resource_loader": ["platform"], "lib.io.file_io": ["file_io"], "lib.io.tf_record": ["file_io"],
    "layers.base": ["layers"], "layers.core": ["layers"], "layers.convolutional": ["layers"],
    "layers.pooling": ["layers"], "layers.normalization": ["layers"], "layers.layers": ["layers"],
    "layers.utils": ["shims", "control_flow"], "eager.context": ["shims"], "summary.summary": ["summary"],
    "saved_model.signature_constants": ["saved_model"], "saved_model.tag_constants": ["saved_model"],
    "tools.freeze_graph": ["graph_util"], "distribute.distribution_strategy_context": ["shims"],
    "pywrap_tensorflow": ["train.saver"], "tools.inspect_checkpoint": ["shims"],
}
_SEARCHED = ("", "nn", "math", "train", "layers", "losses", "metrics", "summary", "linalg", "random", "image", "io",
             "errors", "sparse", "strings", "nn.rnn_cell", "saved_model", "test", "debugging", "lookup")


class _Inside(types.ModuleType):
    """tensorflow.python.* and the like: names by where they are here, else by what the public namespaces have."""

    def __init__(self, name, modules):
        super().__init__(name)
        self.__dict__["__path__"] = []
        self.__dict__["_modules"] = modules

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._find(name)
        self.__dict__[name] = value
        return value

    def _find(self, name):
        full = "%s.%s" % (self.__name__, name)
        below = full.split("tensorflow.python.", 1)[-1]
        if below in _INSIDE or any(k.startswith(below + ".") for k in _INSIDE):
            return importlib.import_module(full)
        for module in self._modules:
            try:
                found = importlib.import_module("millrace." + module)
            except ModuleNotFoundError:
                continue
            if hasattr(found, name):
                return getattr(found, name)
        if name.endswith("_pb2"):
            return importlib.import_module(full)
        if self.__name__.rpartition(".")[2].startswith("gen_") or not self._modules:
            value = api.op_function(name)
            if value is not None:
                return value
        for space in _SEARCHED:
            try:
                value = getattr(api.namespace(space), name)
            except AttributeError:
                continue
            if not isinstance(value, api.Missing):
                return value
        return api.Missing(full.split(".", 1)[-1])


class _Messages(types.ModuleType):
    """tensorflow.core.*_pb2: message classes by their names."""

    def __getattr__(self, name):
        from . import messages
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(messages, name)


class _Loader(importlib.abc.Loader):
    def __init__(self, module):
        self._module = module

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        pass


def _module_for(name):
    parts = name.split(".")[1:]
    below = ".".join(parts)
    if parts[:1] == ["_api"]:
        parts = [p for p in parts[1:] if p not in ("v1", "v2", "compat")]
        below = ".".join(parts)
    if parts[:2] == ["compat", "v1"]:
        below = ".".join(parts[2:])
        parts = parts[2:]
    if parts and parts[-1].endswith("_pb2"):
        return _Messages(name)
    if parts[:1] in (["python"], ["core"]):
        inside = ".".join(parts[1:])
        return _Inside(name, _INSIDE.get(inside, []))
    if below == "" or below in api.TABLE or any(k.startswith(below + ".") for k in api.TABLE):
        space = api.namespace(below)
        module = api.Namespace(below, name)
        module.__dict__["_shared"] = space
        return module
    if parts[:1] == ["contrib"]:
        return _contrib(name, parts)
    found = api.namespace("")
    for part in parts:
        try:
            found = getattr(found, part)
        except AttributeError:
            return None
    if isinstance(found, types.ModuleType):
        module = types.ModuleType(name)
        module.__dict__.update({k: v for k, v in vars(found).items() if not k.startswith("__")})
        module.__path__ = []
        return module
    return None


def _contrib(name, parts):
    """tensorflow.contrib.X.python...: the nearest namespace above that is there, then what the search finds."""
    for n in range(len(parts), 1, -1):
        space = ".".join(parts[:n])
        if space in api.TABLE:
            modules = list(api.TABLE[space])
            return _Inside(name, modules)
    return api.Namespace(".".join(parts), name)


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for `tensorflow` and what is below it."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "tensorflow" and not fullname.startswith("tensorflow."):
            return None
        module = _module_for(fullname)
        if module is None:
            return None
        module.__path__ = []
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=True)
        spec.origin = __file__
        return spec


_finder = _Finder()


def install(force=False):
    """Puts the finder in front. ImportError where a real TensorFlow is there and `force` is not set."""
    if _finder in sys.meta_path:
        return
    if not force:
        loaded = sys.modules.get("tensorflow")
        if loaded is not None or importlib.util.find_spec("tensorflow") is not None:
            raise ImportError("tensorflow is installed here: Millrace does not take its place unless force=True")
    from . import array_ops, math_ops, variables  # noqa: F401
    sys.meta_path.insert(0, _finder)


def main(argv):
    """Runs a script, or a module with -m, as if it had been started by itself."""
    import os
    import runpy
    force = argv[:1] == ["--force"]
    argv = argv[1:] if force else argv
    if not argv:
        sys.exit("python -m millrace.tf1 [--force] script.py [arguments]\n"
                 "python -m millrace.tf1 [--force] -m module [arguments]")
    install(force)
    if argv[0] == "-m":
        sys.argv = argv[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = argv
        sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
        runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    # The module as imported is the one that others see: not a second copy under the name __main__.
    from millrace.tf1 import main as _main
    _main(sys.argv[1:])
