"""layers — the layers of networks, by their Keras names; each module of this folder holds one family."""
import importlib

_MODULES = ("basic", "activation", "merge", "conv", "pooling", "normalization", "recurrent", "attention", "text")
_REST = {"Layer": "keras.layer", "Input": "keras.model", "InputSpec": "layers", "serialize": "keras.saving",
         "deserialize": "keras.saving"}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _REST:
        return getattr(importlib.import_module("millrace." + _REST[name]), name)
    for module in _MODULES:
        found = importlib.import_module("millrace.keras.layers." + module)
        if name in found.__all__:
            globals()[name] = getattr(found, name)
            return globals()[name]
    from ... import api
    return api.absent("keras.layers", name)


def __dir__():
    return sorted(n for m in _MODULES for n in importlib.import_module("millrace.keras.layers." + m).__all__) + list(_REST)
