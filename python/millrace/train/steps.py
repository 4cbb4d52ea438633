"""steps — the global step: how often a program has trained, one variable of a graph."""
from .. import dtypes, variable_scope
from ..graph import GraphKeys, Tensor, get_default_graph
from ..init_ops import Zeros


def global_step(sess, global_step_tensor):
    return int(sess.run(global_step_tensor))


def get_global_step(graph=None):
    """The graph's global step, or None."""
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise TypeError("Multiple tensors in global_step collection.")
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph=None):
    """Makes it. ValueError where there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError("\"global_step\" already exists.")
    with graph.as_default(), graph.name_scope(None):
        return variable_scope.get_variable(GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(),
                                           trainable=False,
                                           collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph=None):
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor):
    if not (hasattr(global_step_tensor, "dtype") and global_step_tensor.dtype.base_dtype.is_integer):
        raise TypeError("Existing \"global_step\" does not have integer type: %s" % global_step_tensor.dtype)
    if global_step_tensor.get_shape().ndims != 0 and global_step_tensor.get_shape().is_fully_defined():
        raise TypeError("Existing \"global_step\" is not scalar: %s" % global_step_tensor.get_shape())


def _get_or_create_global_step_read(graph=None):
    step = get_or_create_global_step(graph)
    return step if isinstance(step, Tensor) else step.value()
