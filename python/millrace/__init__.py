"""Millrace: TensorFlow's dataflow machine. `import millrace as tf` gives the graph mode of TensorFlow 1.15.

>>> import millrace as tf
>>> x = tf.placeholder(tf.float32, [None])
>>> with tf.Session() as s: s.run(x * 2, {x: [1.0, 2.0]})
array([2., 4.], dtype=float32)
"""
from . import compat  # noqa: F401


def install_as_tensorflow(force=False):
    """Makes `import tensorflow` find Millrace in this process, `tensorflow.python...` too. ImportError where the real one
    is installed and `force` is not set."""
    from .tf1 import install
    install(force)


def __getattr__(name):
    if name.startswith("__") and name not in ("__version__", "__git_version__"):
        raise AttributeError(name)
    import importlib
    v1 = importlib.import_module("millrace.compat.v1")
    try:
        return getattr(v1, name)
    except AttributeError:
        raise AttributeError("module 'millrace' has no attribute %r" % name) from None


def __dir__():
    import importlib
    return sorted(dir(importlib.import_module("millrace.compat.v1")) + ["compat", "install_as_tensorflow"])
