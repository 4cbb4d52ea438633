"""activations — functions of one tensor, by name."""
import math

from .. import math_ops, nn
from ..convert import convert_to_tensor
from ..ops_apply import apply


def linear(x):
    return x


def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    x = convert_to_tensor(x)
    if negative_slope == 0.0 and threshold == 0.0:
        if max_value is None:
            return nn.relu(x)
        return nn.relu6(x) if max_value == 6 else math_ops.minimum(nn.relu(x), max_value)
    if threshold == 0.0 and max_value is None:
        return nn.leaky_relu(x, negative_slope)
    above = math_ops.cast(x >= threshold, x.dtype)
    kept = x if max_value is None else math_ops.minimum(x, max_value)
    return above * kept + (1.0 - above) * negative_slope * (x - threshold)


def relu6(x):
    return nn.relu6(x)


def leaky_relu(x, negative_slope=0.2):
    return nn.leaky_relu(x, negative_slope)


def sigmoid(x):
    return math_ops.sigmoid(x)


def hard_sigmoid(x):
    return nn.relu6(convert_to_tensor(x) + 3.0) / 6.0


def tanh(x):
    return math_ops.tanh(x)


def softmax(x, axis=-1):
    return nn.softmax(x, axis)


def log_softmax(x, axis=-1):
    return nn.log_softmax(x, axis)


def softplus(x):
    return apply("Softplus", None, {"features": x})


def softsign(x):
    return apply("Softsign", None, {"features": x})


def elu(x, alpha=1.0):
    y = apply("Elu", None, {"features": x})
    if alpha == 1.0:
        return y
    from ..array_ops import where_v2
    return where_v2(convert_to_tensor(x) > 0, y, alpha * y)


def selu(x):
    return apply("Selu", None, {"features": x})


def silu(x):
    return nn.swish(x)


swish = silu


def gelu(x, approximate=False):
    x = convert_to_tensor(x)
    if approximate:
        return 0.5 * x * (1.0 + math_ops.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + math_ops.erf(x / math.sqrt(2.0)))


def mish(x):
    return x * math_ops.tanh(softplus(x))


def exponential(x):
    return math_ops.exp(x)


_NAMES = {f.__name__: f for f in (linear, relu, relu6, leaky_relu, sigmoid, hard_sigmoid, tanh, softmax, log_softmax, softplus,
                                  softsign, elu, selu, silu, gelu, mish, exponential)}
_NAMES["swish"] = silu


def get(identifier):
    """The function of a name; a function itself; linear for None."""
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return get(identifier.get("config") if isinstance(identifier.get("config"), str) else identifier["class_name"])
    if identifier not in _NAMES:
        raise ValueError("Could not interpret activation function identifier: %s" % (identifier,))
    return _NAMES[identifier]


def serialize(function):
    return getattr(function, "__name__", str(function))


deserialize = get
