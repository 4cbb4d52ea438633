"""pieces — contrib.framework: small pieces."""
from ..checks import assert_same_float_dtype, assert_scalar  # noqa: F401
from ..constant import is_tensor  # noqa: F401
from ..control_flow import smart_cond, smart_constant_value  # noqa: F401
from ..graph import get_name_scope  # noqa: F401
from ..indexed import convert_to_tensor_or_sparse_tensor  # noqa: F401
from ..math_ops import argsort, sort  # noqa: F401
from ..shims import deprecated, deprecated_arg_values, deprecated_args  # noqa: F401
from ..tensor_spec import BoundedTensorSpec, TensorSpec  # noqa: F401


def get_graph_from_inputs(op_input_list, graph=None):
    from ..graph import _get_graph_from_inputs
    return _get_graph_from_inputs(op_input_list, graph)
