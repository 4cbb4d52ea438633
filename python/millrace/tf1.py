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
    "client.device_lib": ["config"], "client.session": ["session"], "client.timeline": ["timeline"],
    "data.experimental.ops.interleave_ops": ["data.experimental"], "data.ops.dataset_ops": ["data.dataset"],
    "data.ops.iterator_ops": ["data.iterator"], "data.ops.readers": ["data.dataset"],
    "data.util.nest": ["data.structure"], "debug": [], "distribute.distribution_strategy_context": ["shims"],
    "eager.context": ["shims"], "estimator.estimator": ["estimator.estimator"],
    "estimator.export.export": ["estimator.export"], "estimator.export.export_output": ["estimator.export"],
    "estimator.inputs.numpy_io": ["estimator.inputs"], "estimator.model_fn": ["estimator.spec"],
    "estimator.run_config": ["estimator.spec"], "estimator.util": ["estimator.spec"],
    "feature_column": ["feature_column"], "feature_column.feature_column": ["feature_column"],
    "feature_column.feature_column_v2": ["feature_column"], "framework.common_shapes": ["array_ops"],
    "framework.constant_op": ["constant"], "framework.device": ["device"], "framework.device_spec": ["device"], "framework.dtypes": ["dtypes"],
    "framework.errors": ["errors"], "framework.errors_impl": ["errors"], "framework.function": ["defun"],
    "framework.graph_util": ["frozen"], "framework.graph_util_impl": ["frozen"],
    "framework.importer": ["train.meta_graph"], "framework.indexed_slices": ["indexed"],
    "framework.meta_graph": ["train.meta_graph"], "framework.op_def_registry": ["shims"],
    "framework.ops": ["graph", "convert", "indexed", "session", "gradients", "constant"],
    "framework.random_seed": ["graph"], "framework.smart_cond": ["control_flow"],
    "framework.sparse_tensor": ["indexed"], "framework.tensor": ["nodes"], "framework.tensor_shape": ["tensor_shape"],
    "framework.tensor_util": ["constant"], "framework.test_util": ["shims", "test"], "keras": ["keras"],
    "layers.base": ["layers"], "layers.convolutional": ["layers"], "layers.core": ["layers"],
    "layers.layers": ["layers"], "layers.normalization": ["layers"], "layers.pooling": ["layers"],
    "layers.utils": ["shims", "control_flow"], "lib.io.file_io": ["file_io"], "lib.io.tf_record": ["file_io"],
    "ops.array_grad": ["gradients"], "ops.array_ops": ["array_ops"], "ops.array_ops_stack": ["array_ops"],
    "ops.candidate_sampling_ops": ["nn"], "ops.check_ops": ["checks"], "ops.clip_ops": ["math_ops"],
    "ops.clustering_ops": [], "ops.cond": ["control_flow"], "ops.confusion_matrix": ["metrics"],
    "ops.control_flow_ops": ["control_flow"], "ops.control_flow_util": ["shims", "control_flow"],
    "ops.custom_gradient": ["gradients"], "ops.data_flow_ops": ["data_flow"],
    "ops.distributions": ["contrib.distributions"], "ops.distributions.distributions": ["contrib.distributions"],
    "ops.embedding_ops": ["nn"], "ops.functional_ops": ["functional_ops"], "ops.gradient_checker": ["test"],
    "ops.gradients": ["gradients"], "ops.gradients_impl": ["gradients"], "ops.gradients_util": ["gradients"],
    "ops.image_ops": ["image_ops", "image_boxes"], "ops.image_ops_impl": ["image_ops", "image_boxes"],
    "ops.init_ops": ["init_ops"], "ops.init_ops_v2": ["init_ops"], "ops.inplace_ops": [],
    "ops.io_ops": ["file_io", "readers"], "ops.linalg_ops": ["linalg"], "ops.list_ops": [],
    "ops.logging_ops": ["checks", "summary"], "ops.lookup_ops": ["lookup_ops"], "ops.losses.losses": ["losses"],
    "ops.losses.util": ["losses"], "ops.math_grad": ["gradients"], "ops.math_ops": ["math_ops"],
    "ops.metrics": ["metrics"], "ops.metrics_impl": ["metrics"], "ops.nn": ["nn"], "ops.nn_grad": ["gradients"],
    "ops.nn_impl": ["nn"], "ops.nn_ops": ["nn"], "ops.numerics": ["checks"], "ops.parsing_ops": ["parsing"],
    "ops.partitioned_variables": ["variable_scope"], "ops.random_ops": ["random_ops"],
    "ops.resource_variable_ops": ["variables"], "ops.resource_variables_toggle": ["variable_scope"],
    "ops.resources": ["shims"], "ops.rnn": ["rnn"], "ops.rnn_cell": ["rnn_cell"], "ops.rnn_cell_impl": ["rnn_cell"],
    "ops.script_ops": ["py_func"], "ops.sets": ["sets"], "ops.sets_impl": ["sets"], "ops.sparse_ops": ["sparse_ops"],
    "ops.standard_ops": [], "ops.state_ops": ["variables"], "ops.string_ops": ["string_ops"],
    "ops.summary_op_util": ["shims"], "ops.template": ["variable_scope"], "ops.tensor_array_ops": ["tensor_array"],
    "ops.variable_scope": ["variable_scope"], "ops.variable_v1": ["variables"], "ops.variables": ["variables"],
    "ops.weights_broadcast_ops": ["weights"], "ops.while_loop": ["control_flow"], "platform.app": ["platform"],
    "platform.flags": ["flags"], "platform.gfile": ["file_io"], "platform.googletest": ["test"],
    "platform.resource_loader": ["platform"], "platform.test": ["test"], "platform.tf_logging": ["logging"],
    "pywrap_tensorflow": ["train.saver"], "saved_model.signature_constants": ["saved_model"],
    "saved_model.tag_constants": ["saved_model"], "summary.summary": ["summary"], "tf2": ["shims"],
    "tools.freeze_graph": ["frozen"], "tools.inspect_checkpoint": ["shims"],
    "tools.optimize_for_inference_lib": ["frozen"], "training.adagrad": ["train.optimizer"],
    "training.adam": ["train.optimizer"], "training.basic_session_run_hooks": ["train.hooks"],
    "training.checkpoint_management": ["train.saver"], "training.checkpoint_utils": ["train.saver"],
    "training.coordinator": ["train.coordinator"], "training.device_setter": ["train.server"],
    "training.evaluation": ["train.evaluation"], "training.gradient_descent": ["train.optimizer"],
    "training.input": ["train.inputs"], "training.learning_rate_decay": ["train.schedules"],
    "training.momentum": ["train.optimizer"], "training.monitored_session": ["train.monitored"],
    "training.moving_averages": ["train.schedules"], "training.optimizer": ["train.optimizer"],
    "training.py_checkpoint_reader": ["train.saver"], "training.queue_runner": ["train.queue_runner"],
    "training.queue_runner_impl": ["train.queue_runner"], "training.rmsprop": ["train.optimizer"],
    "training.saver": ["train.saver"], "training.saving.saveable_object": ["train.saver"],
    "training.server_lib": ["train.server"], "training.session_manager": ["train.ready_session"],
    "training.session_run_hook": ["train.session_hooks"], "training.slot_creator": ["train.optimizer"],
    "training.summary_io": ["train.files", "summary"], "training.supervisor": ["train.supervisor"],
    "training.sync_replicas_optimizer": ["train.sync_replicas"], "training.training": [], "training.training_ops": [],
    "training.training_util": ["train.steps"], "util.all_util": ["shims"], "util.compat": ["compat_strings"],
    "util.deprecation": ["shims"], "util.function_utils": ["shims"], "util.nest": ["nest"],
    "util.tf_contextlib": ["shims"], "util.tf_decorator": ["shims"], "util.tf_export": ["shims"],
    "keras.utils.tf_utils": ["shims"], "summary.summary_iterator": ["train.files"], "util.tf_inspect": ["shims"],
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
        other = next((k for k in _INSIDE if k.rpartition(".")[2] == name), None)
        if other is not None:  # modules there import each other, and programs take them from where they find them
            return importlib.import_module("tensorflow.python." + other)
        parts = full.split(".")[1:]
        return api.Missing(".".join(parts), ".".join(parts[:2]) if parts[0] == "contrib" else None)


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
    if parts[:2] == ["compat", "v2"]:
        from .compat import v2
        return v2._V2(".".join(parts[2:]))
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
