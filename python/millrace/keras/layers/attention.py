"""attention — dot-product attention, additive attention, and many heads of it."""
import math

from ... import array_ops, math_ops, nn
from ...convert import convert_to_tensor
from .. import constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["MultiHeadAttention", "Attention", "AdditiveAttention"]


class Attention(Layer):
    """softmax(query key^T) value, over the steps."""
    _additive = False

    def __init__(self, use_scale=False, score_mode="dot", dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if score_mode != "dot":
            raise ValueError("score_mode must be 'dot' here; got %r" % (score_mode,))
        self.use_scale, self.score_mode, self.dropout, self.seed = use_scale, score_mode, dropout, seed

    def build(self, input_shape):
        self.scale = self.add_weight((), "ones", name="scale") if self.use_scale else None
        self.built = True

    def _scores(self, query, key):
        scores = math_ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def call(self, inputs, mask=None, training=None, return_attention_scores=False, use_causal_mask=False):
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._scores(query, key)
        if isinstance(mask, (list, tuple)) and len(mask) > 1 and mask[1] is not None:
            scores = scores - 1e9 * (1.0 - math_ops.cast(array_ops.expand_dims(mask[1], 1), scores.dtype))
        if use_causal_mask:
            scores = scores - 1e9 * (1.0 - _causal(array_ops.shape(scores)[-2], array_ops.shape(scores)[-1]))
        weights = nn.softmax(scores)
        if training and self.dropout:
            weights = nn.dropout(weights, rate=self.dropout, seed=self.seed)
        result = math_ops.matmul(weights, value)
        if isinstance(mask, (list, tuple)) and mask and mask[0] is not None:
            result = result * math_ops.cast(array_ops.expand_dims(mask[0], -1), result.dtype)
        return (result, weights) if return_attention_scores else result

    def compute_mask(self, inputs, mask=None):
        return None


class AdditiveAttention(Attention):
    """Scores are sum(scale * tanh(query + key))."""

    def __init__(self, use_scale=True, dropout=0.0, **kwargs):
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape):
        self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform", name="scale") if self.use_scale else None
        self.built = True

    def _scores(self, query, key):
        both = math_ops.tanh(array_ops.expand_dims(query, 2) + array_ops.expand_dims(key, 1))
        return math_ops.reduce_sum(both if self.scale is None else both * self.scale, axis=-1)


def _causal(rows, columns):
    from ...math_ops import range as range_
    return math_ops.cast(array_ops.expand_dims(range_(rows), 1) >= array_ops.expand_dims(range_(columns), 0), "float32")


class MultiHeadAttention(Layer):
    """Attention in several heads: projections of query, key and value, and one of what they give."""

    def __init__(self, num_heads, key_dim, value_dim=None, dropout=0.0, use_bias=True, output_shape=None, attention_axes=None,
                 kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim or key_dim
        self.dropout, self.use_bias, self.seed, self.output_dim = dropout, use_bias, seed, output_shape
        if attention_axes not in (None, 1, (1,), [1]):
            raise ValueError("attention is over the steps, axis 1, here; got attention_axes=%s" % (attention_axes,))
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = regularizers.get(kernel_regularizer), regularizers.get(bias_regularizer)
        self.kernel_constraint, self.bias_constraint = constraints.get(kernel_constraint), constraints.get(bias_constraint)
        self.supports_masking = True

    def _weight(self, name, shape, bias_shape):
        kernel = self.add_weight(shape, self.kernel_initializer, name=name + "/kernel", regularizer=self.kernel_regularizer,
                                 constraint=self.kernel_constraint)
        bias = self.add_weight(bias_shape, self.bias_initializer, name=name + "/bias", regularizer=self.bias_regularizer,
                               constraint=self.bias_constraint) if self.use_bias else None
        return kernel, bias

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        heads, n = self.num_heads, self.key_dim
        self._query = self._weight("query", (query_shape[-1], heads, n), (heads, n))
        self._key = self._weight("key", (key_shape[-1], heads, n), (heads, n))
        self._value = self._weight("value", (value_shape[-1], heads, self.value_dim), (heads, self.value_dim))
        out = self.output_dim if self.output_dim is not None else query_shape[-1]
        out = out if isinstance(out, int) else out[-1]
        self._output = self._weight("attention_output", (heads, self.value_dim, out), (out,))
        self.built = True

    def _project(self, x, weights):
        """[batch, steps, features] to [batch, heads, steps, size]."""
        kernel, bias = weights
        features, heads, size = kernel.shape
        s = array_ops.shape(x)
        flat = math_ops.matmul(array_ops.reshape(x, [-1, features]), array_ops.reshape(kernel, [features, heads * size]))
        if bias is not None:
            flat = flat + array_ops.reshape(bias, [heads * size])
        steps = x.shape[1] if x.shape[1] is not None else s[1]
        batch = x.shape[0] if x.shape[0] is not None else s[0]
        return array_ops.transpose(array_ops.reshape(flat, array_ops.stack([batch, steps, heads, size]) if not (
            isinstance(batch, int) and isinstance(steps, int)) else [batch, steps, heads, size]), [0, 2, 1, 3])

    def call(self, query, value=None, key=None, attention_mask=None, return_attention_scores=False, training=None,
             use_causal_mask=False, query_mask=None, value_mask=None, key_mask=None):
        value = query if value is None else convert_to_tensor(value)
        key = value if key is None else convert_to_tensor(key)
        query_mask = getattr(query, "_keras_mask", None) if query_mask is None else query_mask
        value_mask = getattr(value, "_keras_mask", None) if value_mask is None else value_mask
        q, k, v = self._project(query, self._query), self._project(key, self._key), self._project(value, self._value)
        scores = math_ops.matmul(q * (1.0 / math.sqrt(float(self.key_dim))), k, transpose_b=True)
        allowed = None
        if attention_mask is not None:
            allowed = math_ops.cast(attention_mask, scores.dtype)
            while allowed.shape.ndims < 4:
                allowed = array_ops.expand_dims(allowed, 1 if allowed.shape.ndims == 3 else 0)
        for mask, axes in ((value_mask, [1, 1]), (query_mask, [1, 3])):
            if mask is not None:
                m = math_ops.cast(mask, scores.dtype)
                for axis in axes:
                    m = array_ops.expand_dims(m, axis if axis < 3 else -1)
                allowed = m if allowed is None else allowed * m
        if use_causal_mask:
            m = _causal(array_ops.shape(scores)[-2], array_ops.shape(scores)[-1])
            allowed = m if allowed is None else allowed * m
        if allowed is not None:
            scores = scores + (1.0 - allowed) * -1e9
        weights = nn.softmax(scores)
        dropped = nn.dropout(weights, rate=self.dropout, seed=self.seed) if training and self.dropout else weights
        out = array_ops.transpose(math_ops.matmul(dropped, v), [0, 2, 1, 3])
        kernel, bias = self._output
        heads, size, features = kernel.shape
        dims = array_ops.shape(query)
        flat = math_ops.matmul(array_ops.reshape(out, [-1, heads * size]), array_ops.reshape(kernel, [heads * size, features]))
        if bias is not None:
            flat = flat + bias
        result = array_ops.reshape(flat, array_ops.stack([dims[0], dims[1], features]))
        result.set_shape([query.shape[0], query.shape[1], features])
        return (result, weights) if return_attention_scores else result

    def get_config(self):
        config = super().get_config()
        config["output_shape"] = self.output_dim
        return config
