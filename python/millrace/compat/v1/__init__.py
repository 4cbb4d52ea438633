"""v1 — TensorFlow 1.15 by its names: `import millrace.compat.v1 as tf`."""
from millrace import array_ops, math_ops, variables  # operators on tensors and variables stand from the beginning
from millrace import graph as _graph
from millrace.api import namespace as _namespace

_root = _namespace("")


def __getattr__(name):
    _graph.decide_eager(False)
    value = getattr(_root, name)
    if name not in ("contrib",):
        globals()[name] = value
    return value


def __dir__():
    return dir(_root)


del array_ops, math_ops, variables
