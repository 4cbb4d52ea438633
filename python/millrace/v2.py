"""v2 — the public names of `import millrace as tf`: those of TensorFlow 2 where they differ from 1.15's, which stand behind."""
import importlib

from . import api

# As api.TABLE: namespace: {module: names}.
TABLE = {
    "": {
        "eager.tape": "GradientTape", "eager.function": "function", "tensor_spec": "TensorSpec", "variables": "Variable",
        "eager.module": "Module", "array_ops": "where=where_v2", "graph": "name_scope",
    },
    "random": {"random_ops": "normal=random_normal uniform=random_uniform shuffle=random_shuffle gamma=random_gamma "
                             "truncated_normal categorical poisson=random_poisson",
               "graph": "set_seed=set_random_seed"},
    "nn": {"nn": "softmax_cross_entropy_with_logits=softmax_cross_entropy_with_logits_v2 dropout=dropout_v2 "
                 "conv2d=conv2d_v2"},
    "experimental": {}, "experimental.dlpack": {"eager.tensor": "from_dlpack to_dlpack"},
    "config": {"eager.function": "run_functions_eagerly functions_run_eagerly",
               "eager.devices": "list_physical_devices list_logical_devices set_visible_devices"},
    "config.experimental": {"eager.devices": "list_physical_devices list_logical_devices set_memory_growth"},
    "math": {"math_ops": "*"},
    "types": {}, "types.experimental": {"nodes": "TensorLike=Tensor"},
}
_KERAS = ("keras", "losses", "metrics", "optimizers", "initializers", "regularizers")
_made = {}


class Namespace(api.Namespace):
    """A namespace whose names are this table's first, then TensorFlow 1.15's."""

    def __init__(self, space):
        super().__init__(space, "millrace" + ("." + space if space else ""))
        self.__dict__["_names"], self.__dict__["_whole"] = {}, []
        for module, names in TABLE.get(space, {}).items():
            if names == "*":
                self._whole.append(module)
            for word in names.split() if names != "*" else ():
                new, _, old = word.partition("=")
                self._names[new] = module, old or new

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__version__", "__git_version__"):
            raise AttributeError(name)
        if name in self._names:
            module, old = self._names[name]
            value = getattr(importlib.import_module("millrace." + module), old)
            self.__dict__[name] = value
            return value
        space = self._space
        inner = space + "." + name if space else name
        if not space and name in _KERAS:
            return importlib.import_module("millrace.keras" if name == "keras" else "millrace.keras." + name)
        if inner in TABLE or inner in api.TABLE:
            return namespace(inner)
        return getattr(api.namespace(space), name)

    def __dir__(self):
        names = set(self._names) | set(dir(api.namespace(self._space)))
        prefix = self._space + "." if self._space else ""
        names |= {k[len(prefix):].partition(".")[0] for k in TABLE if k.startswith(prefix) and k != self._space}
        return sorted(n for n in names | (set(_KERAS) if not self._space else set()) if n)


def namespace(space):
    if space not in _made:
        _made[space] = Namespace(space)
    return _made[space]


def root():
    """The names of `millrace` itself."""
    from . import array_ops, math_ops, variables  # noqa: F401  (operators stand from the beginning)
    from .eager import tensor  # noqa: F401
    return namespace("")
