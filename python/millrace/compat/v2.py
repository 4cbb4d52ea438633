"""v2 — TensorFlow 2's names for what the graph mode has: `tf.compat.v2.reduce_sum` and its like.

What is another thing there (eager execution, its summaries) is missing here, by its name.
"""
import sys
import types

from millrace import api

# names that mean another thing than in v1: (module, name), or None for what is not there
_OTHER = {
    "where": ("array_ops", "where_v2"), "nn.dropout": ("nn", "dropout_v2"),
    "image.resize": ("image_ops", "resize_images_v2"), "image.ResizeMethod": ("image_ops", "ResizeMethodV2"),
    "zeros_initializer": ("init_ops", "Zeros"), "ones_initializer": ("init_ops", "Ones"),
    "constant_initializer": ("init_ops", "Constant"), "print": ("checks", "print_v2"),
    "strings.split": ("string_ops", "string_split_v2"),
    "summary.scalar": None, "summary.histogram": None, "summary.image": None, "summary.text": None, "summary.audio": None,
    "summary.create_file_writer": None, "summary.record_if": None, "summary.experimental": None, "summary.flush": None,
    "summary.should_record_summaries": None, "summary.create_noop_writer": None, "summary.write": None,
    "summary.SummaryWriter": None, "GradientTape": None, "function": None, "saved_model.save": None, "Module": None,
    "saved_model.load": None, "init_scope": ("graph", "init_scope"), "name_scope": ("graph", "name_scope"),
}


class _V2(types.ModuleType):
    def __init__(self, space):
        super().__init__("millrace.compat.v2" + ("." + space if space else ""))
        self.__dict__["__path__"] = []
        self.__dict__["_space"] = space

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = found = find(self._space, name)
        return found


def find(space, name):
    """What v2 has under a name."""
    full = space + "." + name if space else name
    if not space or space == "math":
        from millrace import v2_functions
        own = getattr(v2_functions, name, None)
        if own is not None and getattr(own, "__module__", None) == v2_functions.__name__:
            return own
    if full in _OTHER:
        if _OTHER[full] is None:
            return api.Missing("compat.v2." + full)
        import importlib
        module, own = _OTHER[full]
        try:
            return getattr(importlib.import_module("millrace." + module), own)
        except ImportError:
            pass
    if not space and name in ("v1", "compat"):
        return api.namespace("") if name == "v1" else api.namespace("compat")
    if not space and name in ("optimizers", "losses", "metrics", "initializers", "regularizers", "constraints"):
        import importlib
        return importlib.import_module("millrace.keras." + name)
    try:
        found = getattr(api.namespace(space), name)
    except AttributeError:
        raise AttributeError("module 'tensorflow.compat.v2' has no attribute %r" % full) from None
    if isinstance(found, api.Namespace):
        made = _V2(full)
        sys.modules.setdefault(made.__name__, made)
        return made
    return found


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    found = globals()[name] = find("", name)
    return found
