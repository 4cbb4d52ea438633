"""keras — layers, models, losses, metrics and optimizers in the shape that programs of TensorFlow 2 know."""
import importlib

_NAMES = {
    "model": "Model Sequential Input", "layer": "Layer KerasTensor", "layers.basic": "InputLayer", "losses": "Loss",
    "metrics": "Metric", "optimizers": "Optimizer", "initializers": "Initializer", "regularizers": "Regularizer",
    "saving": "load_model save_model",
}
_MODULES = ("layers", "losses", "metrics", "optimizers", "initializers", "regularizers", "constraints", "activations",
            "callbacks")
_SPACES = {
    "models": {"model": "Model Sequential clone_model", "saving": "load_model save_model model_from_json"},
    "utils": {"data": "to_categorical normalize pad_sequences Sequence", "progress": "Progbar",
              "random": "set_random_seed", "saving": "register_keras_serializable get_custom_objects custom_object_scope CustomObjectScope "
                        "get_registered_object get_registered_name serialize_keras_object deserialize_keras_object"},
    "backend": {"data": "clear_session floatx epsilon"},
    "preprocessing": {}, "preprocessing.sequence": {"data": "pad_sequences"}, "datasets": {},
}
_own = {}


class _Space:
    """keras.utils and its like: a few functions by their names."""

    def __init__(self, name):
        self._name = name
        self._names = {n: module for module, names in _SPACES[name].items() for n in names.split()}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._names:
            return getattr(importlib.import_module("millrace.keras." + self._names[name]), name)
        inner = "%s.%s" % (self._name, name)
        if inner in _SPACES:
            return _space(inner)
        return _absent("keras." + self._name, name)

    def __dir__(self):
        return sorted(self._names)


def _absent(space, name):
    """What is public there and not here: it fails when it is called."""
    from .. import api
    return api.absent(space, name)


def _space(name):
    if name not in _own:
        _own[name] = _Space(name)
    return _own[name]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    for module, names in _NAMES.items():
        if name in names.split():
            globals()[name] = getattr(importlib.import_module("millrace.keras." + module), name)
            return globals()[name]
    if name in _MODULES:
        return importlib.import_module("millrace.keras." + name)
    if name in _SPACES:
        return _space(name)
    return _absent("keras", name)


def __dir__():
    return sorted([n for names in _NAMES.values() for n in names.split()] + list(_MODULES) + [
        s for s in _SPACES if "." not in s])
