"""generator — elements from a Python generator, by GeneratorDataset and functions that call back."""
import threading

import numpy as np

from .. import dtypes, func_graph
from ..convert import convert_to_tensor
from ..graph import get_default_graph
from ..py_func import py_func
from . import structure as st


class _Generators:
    """The generators that run, by number."""

    def __init__(self, make):
        self._make, self._lock, self._running, self._next = make, threading.Lock(), {}, 0

    def begin(self, *args):
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._running[number] = iter(self._make(*args))
        return np.int64(number)

    def get(self, number):
        return self._running[int(number)]

    def end(self, number):
        with self._lock:
            self._running.pop(int(number), None)
        return np.int64(0)


def _function(body, types, shapes, name):
    graph, outputs = func_graph.trace(body, types, shapes, name)
    with graph.as_default():
        outputs = [graph.capture(convert_to_tensor(o)) for o in outputs]
    made = func_graph.GraphFunction(graph, outputs, func_graph.unique_name(name))
    made.add_to_graph(get_default_graph())
    return made


def from_generator(generator, output_types, output_shapes, args):
    from .dataset import Dataset
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    types = st.map_structure(dtypes.as_dtype, output_types)
    structure = st.from_types(types, output_shapes)
    components = st.flatten(structure)
    given = [convert_to_tensor(a) for a in args] if args is not None else []
    running = _Generators(generator)

    def element(number):
        value = next(running.get(number))
        try:
            leaves = _leaves(structure, value)
        except (TypeError, ValueError) as error:
            raise TypeError("`generator` yielded an element that did not match the expected structure. The expected "
                            "structure was %s, but the yielded element was %s. (%s)" % (output_types, value, error)) from None
        return [_checked(leaf, c) for leaf, c in zip(leaves, components)]

    def begin(*captured):
        return [py_func(running.begin, list(captured), dtypes.int64)]

    def follow(number):
        found = py_func(element, [number], [c.dtype for c in components])
        for tensor, c in zip(found, components):
            tensor.set_shape(c.shape)
        return found

    def end(number):
        return [py_func(running.end, [number], dtypes.int64)]
    init = _function(begin, [t.dtype for t in given], [t.shape for t in given], "generator_begin")
    step = _function(follow, [dtypes.int64], [[]], "generator_next")
    final = _function(end, [dtypes.int64], [[]], "generator_end")
    get_default_graph()._kept.append(running)
    return Dataset._make("GeneratorDataset", {
        "init_func_other_args": given, "next_func_other_args": [], "finalize_func_other_args": [], "init_func": init,
        "next_func": step, "finalize_func": final}, structure)


def _leaves(structure, value):
    if not st.is_structure(structure):
        return [value]
    children = st._children(structure)
    values = st._children(value) if st.is_structure(value) else list(value)
    if len(children) != len(values):
        raise ValueError("%d values, not %d" % (len(values), len(children)))
    return [leaf for c, v in zip(children, values) for leaf in _leaves(c, v)]


def _checked(leaf, component):
    kind = component.dtype
    array = np.asarray(leaf, dtype=object if kind == dtypes.string else kind.as_numpy_dtype)
    if not component.shape.is_compatible_with(array.shape):
        raise ValueError("`generator` yielded an element of shape %s where an element of shape %s was expected." % (
            array.shape, component.shape))
    return array
