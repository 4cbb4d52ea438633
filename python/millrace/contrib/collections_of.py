"""collections_of — which collections a layer's variables and outputs go into."""
from ..graph import GraphKeys, get_default_graph



def append_tensor_alias(tensor, alias):
    """Gives the tensor a further name."""
    alias = alias[:-1] if alias and alias.endswith("/") else alias
    aliases = getattr(tensor, "aliases", None)
    if aliases is None:
        tensor.aliases = [alias]
    elif alias not in aliases:
        aliases.append(alias)
    return tensor


def collect_named_outputs(collections, alias, outputs):
    """Adds outputs to collections under an alias, and gives them back."""
    if collections:
        append_tensor_alias(outputs, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def get_tensor_aliases(tensor):
    return getattr(tensor, "aliases", None) or [tensor.name[:-2] if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors):
    return [alias for t in tensors for alias in get_tensor_aliases(t)]


def convert_collection_to_dict(collection, clear_collection=False):
    """{alias: tensor} of a collection."""
    found = {alias: t for t in get_default_graph().get_collection(collection) for alias in get_tensor_aliases(t)}
    if clear_collection:
        get_default_graph().clear_collection(collection)
    return found


def get_variable_collections(variables_collections, name):
    """The collections for the variables called "weights" or "biases"."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name, None)
    return variables_collections


def add_variable(var, collections):
    """A variable into collections, but for those it is in by being a model variable."""
    present = {GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES}
    for one in var if hasattr(var, "_get_variable_list") else [var]:
        for key in collections or ():
            if key not in present:
                get_default_graph().add_to_collection(key, one)


def constant_value(value_or_tensor_or_var, dtype=None):
    from ..control_flow import smart_constant_value
    return smart_constant_value(value_or_tensor_or_var)


def channel_dimension(shape, data_format, min_rank=1):
    return shape[1 if data_format.startswith("NC") else -1].value


def last_dimension(shape, min_rank=1):
    return shape.with_rank_at_least(min_rank)[-1].value


def n_positive_integers(n, value):
    from ..layers import _n
    return _n(value, n, "value")


def two_element_tuple(int_or_tuple):
    return n_positive_integers(2, int_or_tuple)
