"""with_function — Python functions over elements as functions of the graph, for the dataset ops that call them."""
from .. import func_graph
from ..array_ops import identity
from ..convert import convert_to_tensor
from ..graph import Operation, get_default_graph
from . import structure as st


class ElementFunction:
    """A traced function: `name` for the attribute, `captured` for the other arguments, `structure` of what it gives."""

    def __init__(self, function, structure, what, state=None):
        types = st.flat_types(structure) if structure is not None else []
        shapes = st.flat_shapes(structure) if structure is not None else []
        before = st.flat_types(state) if state is not None else []
        before_shapes = st.flat_shapes(state) if state is not None else []
        self.state = None

        def body(*arguments):
            arguments = list(arguments)
            first = [st.build(state, arguments[:len(before)])] if state is not None else []
            if structure is not None:
                first += _spread(st.build(structure, arguments[len(before):]), state is not None)
            result = function(*first)
            if state is not None and what != "reduce":
                next_state, result = result
                next_state = st.tensors_of(next_state)
                self.state = st.structure_of(next_state)
                lead = st.flat_tensors(self.state, next_state)
            else:
                lead = []
            if result is None or isinstance(result, Operation):
                raise TypeError("Unsupported return value from function passed to Dataset.%s(): %s." % (what, result))
            result = st.tensors_of(result)
            self.structure = st.structure_of(result)
            return lead + st.flat_tensors(self.structure, result)
        graph, outputs = func_graph.trace(body, before + types, before_shapes + shapes, "Dataset_%s" % what)
        with graph.as_default():
            outputs = [graph.capture(convert_to_tensor(o)) for o in outputs]
            # An argument that comes back as it went in is fed and fetched where the function is called.
            outputs = [identity(o) if any(o is i for i in graph.inputs) else o for o in outputs]
        self._function = func_graph.GraphFunction(graph, outputs, func_graph.unique_name("Dataset_" + what))
        self.name, self.captured = self._function.name, self._function.captured
        self._function.add_to_graph(get_default_graph())


def _spread(element, after_state):
    """A tuple becomes the function's arguments."""
    return list(element) if isinstance(element, tuple) and not after_state else [element]
