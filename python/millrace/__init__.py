"""Millrace: TensorFlow's dataflow machine. `import millrace as tf` is eager mode: tensors with values, tapes, functions, Keras'
layers. `import millrace.compat.v1 as tf` is the graph mode of TensorFlow 1.15.

>>> import millrace as tf
>>> x = tf.constant([1.0, 2.0])
>>> with tf.GradientTape() as tape:
...     tape.watch(x)
...     y = tf.reduce_sum(x * x)
>>> tape.gradient(y, x).numpy()
array([2., 4.], dtype=float32)
"""
import os as _os
import sys as _sys
import types as _types

_MODULES = {_name.partition(".")[0] for _name in _os.listdir(_os.path.dirname(_os.path.abspath(__file__)))}


def install_as_tensorflow(force=False):
    """Makes `import tensorflow` find Millrace in this process, `tensorflow.python...` too. ImportError where the real one
    is installed and `force` is not set."""
    from .tf1 import install
    install(force)


class _Package(_types.ModuleType):
    """This module. Some public names (`nn`, `train`) are also names of the package's own modules: its own code gets these,
    programs the public ones, which are looked up when they are first used."""

    def __setattr__(self, name, value):
        if isinstance(value, _types.ModuleType) and value.__name__ == "millrace." + name and name != "compat":
            return      # a module that was imported: it stays in sys.modules
        super().__setattr__(name, value)

    def __getattr__(self, name):
        if name.startswith("_") and name not in ("__version__", "__git_version__"):
            raise AttributeError("module 'millrace' has no attribute %r" % name)
        if name == "compat":
            import importlib
            importlib.import_module("millrace.compat.v1")
            return _sys.modules["millrace.compat"]
        caller = _sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if caller in ("millrace", "importlib", "_frozen_importlib"):
            found = _sys.modules.get("millrace." + name)
            if found is None or caller != "millrace":
                raise AttributeError(name)
            return found
        from . import graph, v2
        try:
            value = getattr(v2.root(), name)
        except AttributeError:
            if "millrace." + name in _sys.modules:
                return _sys.modules["millrace." + name]
            raise AttributeError("module 'millrace' has no attribute %r" % name) from None
        graph.decide_eager(True)    # a program that uses this door, and not compat.v1 before it
        if name not in _MODULES:
            self.__dict__[name] = value
        return value

    def __dir__(self):
        from . import v2
        return sorted(set(dir(v2.root())) | {"compat", "install_as_tensorflow"})


_sys.modules[__name__].__class__ = _Package
