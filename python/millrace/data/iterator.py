"""iterator — Iterator: elements of a dataset, one a step."""
from .. import dtypes
from ..convert import convert_to_tensor
from ..graph import add_to_collection, get_default_graph
from ..ops_apply import apply, apply_op
from . import structure as st


class Iterator:
    """`get_next()` gives tensors that stand for the next element; at the end a run raises OutOfRangeError."""

    def __init__(self, iterator_resource, initializer, structure):
        self._iterator_resource, self._initializer, self._structure = iterator_resource, initializer, structure
        self._string_handle = None
        self._calls = 0

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """An iterator without a dataset: `make_initializer(dataset)` gives it one."""
        structure = st.from_types(output_types, output_shapes, output_classes)
        return Iterator(_new(structure, shared_name), None, structure)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        """The iterator whose string handle is fed."""
        structure = st.from_types(output_types, output_shapes, output_classes)
        string_handle = convert_to_tensor(string_handle, dtypes.string)
        resource = apply("IteratorFromStringHandleV2", None, {
            "string_handle": string_handle, "output_types": st.flat_types(structure),
            "output_shapes": st.flat_shapes(structure)})
        return Iterator(resource, None, structure)

    @property
    def initializer(self):
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    output_types = property(lambda self: st.map_structure(lambda c: c.dtype, self._structure))
    output_shapes = property(lambda self: st.map_structure(lambda c: c.shape, self._structure))
    output_classes = property(lambda self: st.map_structure(lambda c: c.kind, self._structure))
    element_spec = property(lambda self: self._structure)

    def make_initializer(self, dataset, name=None):
        """The operation that begins with a dataset. TypeError where its elements are others."""
        mine, theirs = st.flat_types(self._structure), st.flat_types(dataset._structure)
        if mine != theirs:
            raise TypeError("Expected output types %r but got dataset with output types %r." % (
                self.output_types, dataset.output_types))
        for a, b in zip(st.flat_shapes(self._structure), st.flat_shapes(dataset._structure)):
            if not a.is_compatible_with(b):
                raise TypeError("Expected output shapes compatible with %r but got dataset with output shapes %r." % (
                    self.output_shapes, dataset.output_shapes))
        return apply_op("MakeIterator", name, {"dataset": dataset._variant_tensor, "iterator": self._iterator_resource})

    def get_next(self, name=None):
        """The next element, of tensors."""
        self._calls += 1
        op = apply_op("IteratorGetNext", name or "IteratorGetNext", {
            "iterator": self._iterator_resource, "output_types": st.flat_types(self._structure),
            "output_shapes": st.flat_shapes(self._structure)})
        return st.build(self._structure, op.outputs)

    def string_handle(self, name=None):
        """What to feed for from_string_handle."""
        if name is None and self._string_handle is not None:
            return self._string_handle
        handle = apply("IteratorToStringHandle", name, {"resource_handle": self._iterator_resource})
        if name is None:
            self._string_handle = handle
        return handle


def _new(structure, shared_name=None):
    return apply("IteratorV2", None, {"shared_name": shared_name or "", "container": "",
                                      "output_types": st.flat_types(structure),
                                      "output_shapes": st.flat_shapes(structure)})


def initializable(dataset, shared_name=None):
    """An iterator with an initializer."""
    resource = _new(dataset._structure, shared_name)
    with get_default_graph().colocate_with(resource):
        initializer = apply_op("MakeIterator", None, {"dataset": dataset._variant_tensor, "iterator": resource})
    iterator = Iterator(resource, initializer, dataset._structure)
    add_to_collection("iterators", resource)
    return iterator


def one_shot(dataset):
    """An iterator that begins by itself: the dataset is made by a function, so it may depend on nothing that is fed."""
    from .. import func_graph
    graph = func_graph.FuncGraph("make_dataset", by_value=True)
    try:
        with graph.as_default():
            made = graph.capture(dataset._variant_tensor)
    except ValueError as error:
        raise ValueError("Failed to create a one-shot iterator for a dataset. `Dataset.make_initializable_iterator()` is "
                         "often a better choice: it can take what is fed and variables. Original error: %s" % error) from None
    function = func_graph.GraphFunction(graph, [made], func_graph.unique_name("make_dataset"))
    function.add_to_graph(get_default_graph())
    resource = apply("OneShotIterator", None, {
        "dataset_factory": function, "output_types": st.flat_types(dataset._structure),
        "output_shapes": st.flat_shapes(dataset._structure), "container": "", "shared_name": ""})
    return Iterator(resource, None, dataset._structure)
