"""attention — contrib.seq2seq's attention: mechanisms that score a memory, and the wrapper of a cell that looks at it."""
import collections
import functools
import math

import numpy as np

from .. import dtypes, init_ops, layers, nest, tensor_shape, variable_scope
from ..array_ops import concat, expand_dims, identity, one_hot, ones_like, reshape, sequence_mask, shape, squeeze, where, zeros
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..math_ops import argmax, cast, clip_by_value, cumprod, cumsum, log, matmul, reduce_sum, rsqrt, sigmoid, square, tanh
from ..nn import softmax
from ..random_ops import random_normal
from ..rnn_cell import RNNCell
from ..tensor_array import TensorArray
from .seq2seq import _rows


class AttentionMechanism:
    """Scores of a memory for a query."""

    alignments_size = state_size = property(lambda self: (_ for _ in ()).throw(NotImplementedError("a mechanism's own")))


def _prepared_memory(memory, lengths, check_inner_dims_defined):
    """The memory with zeros where its sequences have ended."""
    memory = nest.map_structure(lambda m: convert_to_tensor(m, name="memory"), memory)
    first = nest.flatten(memory)[0]
    if check_inner_dims_defined:
        for m in nest.flatten(memory):
            if not m.shape[2:].is_fully_defined():
                raise ValueError("Expected memory %s to have fully defined inner dims, but saw shape: %s" % (m.name, m.shape))
    if lengths is None:
        return memory
    mask = sequence_mask(convert_to_tensor(lengths), maxlen=shape(first)[1], dtype=first.dtype)

    def masked(m):
        return m * reshape(mask, concat([shape(mask), [1] * (m.shape.ndims - 2)], 0))
    return nest.map_structure(masked, memory)


def _masked_score(score, lengths, value):
    if lengths is None:
        return score
    mask = sequence_mask(convert_to_tensor(lengths), maxlen=shape(score)[1])
    return where(mask, score, ones_like(score) * value)


class _BaseAttentionMechanism(AttentionMechanism):
    """A memory with keys, and a function from scores to probabilities."""

    def __init__(self, query_layer, memory, probability_fn, memory_sequence_length=None, memory_layer=None,
                 check_inner_dims_defined=True, score_mask_value=None, custom_key_value_fn=None, name=None):
        for what, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, layers.Layer):
                raise TypeError("%s is not a Layer: %s" % (what, type(layer).__name__))
        self._query_layer, self._memory_layer = query_layer, memory_layer
        if not callable(probability_fn):
            raise TypeError("probability_fn must be callable, saw type: %s" % type(probability_fn).__name__)
        self.dtype = memory_layer.dtype if memory_layer is not None else nest.flatten(memory)[0].dtype
        if isinstance(self.dtype, str):
            self.dtype = dtypes.as_dtype(self.dtype)
        if score_mask_value is None:
            score_mask_value = dtypes.as_dtype(nest.flatten(memory)[0].dtype).as_numpy_dtype(-np.inf)
        self._probability_fn = lambda score, previous: probability_fn(
            _masked_score(score, memory_sequence_length, score_mask_value), previous)
        with name_scope(name or "BaseAttentionMechanismInit"):
            self._values = _prepared_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = memory_layer(self._values) if memory_layer is not None else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = _rows(self._keys)
            known = self._keys.shape.dims[1].value
            self._alignments_size = known if known is not None else shape(self._keys)[1]

    query_layer, memory_layer = property(lambda self: self._query_layer), property(lambda self: self._memory_layer)
    keys, values = property(lambda self: self._keys), property(lambda self: self._values)
    batch_size, alignments_size = property(lambda self: self._batch_size), property(lambda self: self._alignments_size)
    state_size = alignments_size

    def initial_alignments(self, batch_size, dtype):
        return zeros([batch_size, self._alignments_size], dtype)

    def initial_state(self, batch_size, dtype):
        return self.initial_alignments(batch_size, dtype)

    def _query(self, query):
        return self._query_layer(query) if self._query_layer is not None else query

    def _scored(self, score, state):
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _softmax(probability_fn):
    chosen = probability_fn or softmax
    return lambda score, _: chosen(score)


def _dot_score(query, keys, scale):
    if query.shape[-1].value != keys.shape[-1].value:
        raise ValueError("Incompatible or unknown inner dimensions between query and keys.  Query (%s) has units: %s.  "
                         "Keys (%s) have units: %s.  Perhaps you need to set num_units to the keys' dimension (%s)?" % (
                             query, query.shape[-1], keys, keys.shape[-1], keys.shape[-1]))
    score = squeeze(matmul(expand_dims(query, 1), keys, transpose_b=True), [1])
    if scale:
        score = variable_scope.get_variable("attention_g", dtype=query.dtype, initializer=init_ops.Ones(),
                                            shape=()) * score
    return score


def _sum_score(query, keys, normalize):
    units = keys.shape[2].value
    v = variable_scope.get_variable("attention_v", [units], dtype=query.dtype)
    query = expand_dims(query, 1)
    if not normalize:
        return reduce_sum(v * tanh(keys + query), [2])
    g = variable_scope.get_variable("attention_g", dtype=query.dtype, initializer=init_ops.Constant(math.sqrt(1. / units)),
                                    shape=())
    b = variable_scope.get_variable("attention_b", [units], dtype=query.dtype, initializer=init_ops.Zeros())
    return reduce_sum(g * v * rsqrt(reduce_sum(square(v))) * tanh(keys + query + b), [2])


def _memory_layer(num_units, dtype):
    return layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype)


def _query_layer(num_units, dtype):
    return layers.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype)


class LuongAttention(_BaseAttentionMechanism):
    """The dot product of query and keys, with a learned factor where `scale` is set."""

    def __init__(self, num_units, memory, memory_sequence_length=None, scale=False, probability_fn=None,
                 score_mask_value=None, dtype=None, custom_key_value_fn=None, name="LuongAttention"):
        super().__init__(None, memory, _softmax(probability_fn), memory_sequence_length,
                         _memory_layer(num_units, dtype or dtypes.float32), score_mask_value=score_mask_value,
                         custom_key_value_fn=custom_key_value_fn, name=name)
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "luong_attention", [query]):
            return self._scored(_dot_score(query, self._keys, self._scale), state)


class BahdanauAttention(_BaseAttentionMechanism):
    """v tanh(query + keys), with normalized v where `normalize` is set."""

    def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False, probability_fn=None,
                 score_mask_value=None, dtype=None, custom_key_value_fn=None, name="BahdanauAttention"):
        dtype = dtype or dtypes.float32
        super().__init__(_query_layer(num_units, dtype), memory, _softmax(probability_fn), memory_sequence_length,
                         _memory_layer(num_units, dtype), score_mask_value=score_mask_value,
                         custom_key_value_fn=custom_key_value_fn, name=name)
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "bahdanau_attention", [query]):
            return self._scored(_sum_score(self._query(query), self._keys, self._normalize), state)


# ---------------------------------------- monotonic attention

def safe_cumprod(x, *args, **kwargs):
    """cumprod by way of logarithms, where x is in [0, 1]."""
    x = convert_to_tensor(x)
    from ..math_ops import exp
    tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
    return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i, previous_attention, mode):
    """The probabilities of attending to each place, where attention only goes forward."""
    p, previous = convert_to_tensor(p_choose_i), convert_to_tensor(previous_attention)
    if mode == "recursive":
        from ..functional_ops import scan
        from ..array_ops import transpose
        shifted = concat([ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        return p * transpose(scan(lambda x, y: reshape(y[0] * x + y[1], [shape(p)[0]]),
                                  [transpose(shifted), transpose(previous)], zeros([shape(p)[0]], p.dtype)))
    if mode == "parallel":
        left = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * left * cumsum(previous / clip_by_value(left, 1e-10, 1.), axis=1)
    if mode == "hard":
        p = p * cumsum(previous, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic(score, previous, sigmoid_noise, mode, seed=None):
    if sigmoid_noise > 0:
        score = score + sigmoid_noise * random_normal(shape(score), dtype=score.dtype, seed=seed)
    p = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
    return monotonic_attention(p, previous, mode)


class _Monotonic(_BaseAttentionMechanism):
    def initial_alignments(self, batch_size, dtype):
        return one_hot(zeros([batch_size], dtypes.int32), self._alignments_size, dtype=dtype)

    def _with_bias(self, score):
        return score + variable_scope.get_variable("attention_score_bias", dtype=score.dtype, initializer=init_ops.Constant(
            self._bias_init), shape=())


def _monotonic_fn(sigmoid_noise, seed, mode):
    return functools.partial(_monotonic, sigmoid_noise=sigmoid_noise, mode=mode, seed=seed)


class LuongMonotonicAttention(_Monotonic):
    """Luong's scores; attention only goes forward."""

    def __init__(self, num_units, memory, memory_sequence_length=None, scale=False, score_mask_value=None, sigmoid_noise=0.,
                 sigmoid_noise_seed=None, score_bias_init=0., mode="parallel", dtype=None, name="LuongMonotonicAttention"):
        super().__init__(None, memory, _monotonic_fn(sigmoid_noise, sigmoid_noise_seed, mode), memory_sequence_length,
                         _memory_layer(num_units, dtype or dtypes.float32), score_mask_value=score_mask_value, name=name)
        self._num_units, self._scale, self._bias_init = num_units, scale, score_bias_init

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "luong_monotonic_attention", [query]):
            return self._scored(self._with_bias(_dot_score(query, self._keys, self._scale)), state)


class BahdanauMonotonicAttention(_Monotonic):
    """Bahdanau's scores; attention only goes forward."""

    def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False, score_mask_value=None,
                 sigmoid_noise=0., sigmoid_noise_seed=None, score_bias_init=0., mode="parallel", dtype=None,
                 name="BahdanauMonotonicAttention"):
        dtype = dtype or dtypes.float32
        super().__init__(_query_layer(num_units, dtype), memory, _monotonic_fn(sigmoid_noise, sigmoid_noise_seed, mode),
                         memory_sequence_length, _memory_layer(num_units, dtype), score_mask_value=score_mask_value, name=name)
        self._num_units, self._normalize, self._bias_init = num_units, normalize, score_bias_init

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "bahdanau_monotonic_attention", [query]):
            return self._scored(self._with_bias(_sum_score(self._query(query), self._keys, self._normalize)), state)


# ---------------------------------------- the wrapper

def hardmax(logits, name=None):
    """One at the largest of each row."""
    with name_scope(name or "Hardmax"):
        logits = convert_to_tensor(logits)
        depth = logits.shape[-1].value
        return one_hot(argmax(logits, -1), shape(logits)[-1] if depth is None else depth, dtype=logits.dtype)


class AttentionWrapperState(collections.namedtuple("AttentionWrapperState", (
        "cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"))):
    """The state of the cell and what was attended to."""

    def clone(self, **kwargs):
        """The same state with other fields; their shapes stay."""
        def kept(old, new):
            from ..graph import Tensor
            if isinstance(old, Tensor) and isinstance(new, Tensor):
                old.shape.assert_is_compatible_with(new.shape)
                new = identity(new)
                new.set_shape(old.shape)
            return new
        return nest.map_structure(kept, self, super()._replace(**kwargs))


class AttentionWrapper(RNNCell):
    """A cell that gets what its mechanisms attend to beside its input."""

    def __init__(self, cell, attention_mechanism, attention_layer_size=None, alignment_history=False, cell_input_fn=None,
                 output_attention=True, initial_cell_state=None, name=None, attention_layer=None, attention_fn=None,
                 dtype=None):
        super().__init__(name=name)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for one in mechanisms:
            if not isinstance(one, AttentionMechanism):
                raise TypeError("attention_mechanism must be an AttentionMechanism%s, saw type: %s" % (
                    " or list of multiple AttentionMechanism" if not self._is_multi else "", type(one).__name__))
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._attention_layers, self._attention_size = self._layers(mechanisms, attention_layer_size, attention_layer)
        self._cell, self._attention_mechanisms, self._output_attention = cell, mechanisms, output_attention
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._attention_fn = attention_fn or _attended
        self._alignment_history = alignment_history
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with name_scope("AttentionWrapperInit"):
                self._initial_cell_state = nest.map_structure(
                    lambda s: identity(s, name="check_initial_cell_state"), initial_cell_state)

    def _layers(self, mechanisms, sizes, own):
        if sizes is None and own is None:
            return None, sum(m.values.shape[-1].value for m in mechanisms)
        given = sizes if own is None else own
        given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(mechanisms):
            raise ValueError("If provided, attention_layer%s must contain exactly one integer per attention_mechanism, "
                             "saw: %d vs %d" % ("_size" if own is None else "", len(given), len(mechanisms)))
        if own is None:
            return tuple(layers.Dense(n, name="attention_layer", use_bias=False, dtype=m.dtype)
                         for n, m in zip(given, mechanisms)), sum(given)
        # A layer's width is known by its answer for the attended values beside the cell's output.
        sizes = [layer.units if hasattr(layer, "units") else layer.compute_output_shape(
            [None, m.values.shape[-1].value])[-1] for layer, m in zip(given, mechanisms)]
        return given, sum(int(n) for n in sizes)

    def _listed(self, values):
        return values if self._is_multi else values[0]

    @property
    def output_size(self):
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self):
        return AttentionWrapperState(
            cell_state=self._cell.state_size, time=tensor_shape.TensorShape([]), attention=self._attention_size,
            alignments=self._listed(tuple(m.alignments_size for m in self._attention_mechanisms)),
            attention_state=self._listed(tuple(m.state_size for m in self._attention_mechanisms)),
            alignment_history=self._listed(tuple(
                m.alignments_size if self._alignment_history else () for m in self._attention_mechanisms)))

    def zero_state(self, batch_size, dtype):
        with name_scope(type(self).__name__ + "ZeroState"):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            cell_state = nest.map_structure(lambda s: identity(s, name="checked_cell_state"), cell_state)
            first = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
            history = tuple(TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape) if self._alignment_history
                            else () for a in first)
            return AttentionWrapperState(
                cell_state=cell_state, time=zeros([], dtypes.int32),
                attention=_sized(zeros([batch_size, self._attention_size], dtype), self._attention_size),
                alignments=self._listed(tuple(first)), alignment_history=self._listed(history),
                attention_state=self._listed(tuple(m.initial_state(batch_size, dtype)
                                                   for m in self._attention_mechanisms)))

    def call(self, inputs, state):
        if not isinstance(state, AttentionWrapperState):
            raise TypeError("Expected state to be instance of AttentionWrapperState. Received type %s instead." % type(state))
        output, next_cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        before = state.attention_state if self._is_multi else [state.attention_state]
        history = state.alignment_history if self._is_multi else [state.alignment_history]
        attentions, alignments, states, histories = [], [], [], []
        for i, mechanism in enumerate(self._attention_mechanisms):
            attention, alignment, next_state = self._attention_fn(
                mechanism, output, before[i], self._attention_layers[i] if self._attention_layers else None)
            attentions.append(attention)
            alignments.append(alignment)
            states.append(next_state)
            histories.append(history[i].write(state.time, alignment) if self._alignment_history else ())
        attention = concat(attentions, 1)
        new = AttentionWrapperState(
            time=state.time + 1, cell_state=next_cell_state, attention=attention,
            attention_state=self._listed(tuple(states)), alignments=self._listed(tuple(alignments)),
            alignment_history=self._listed(tuple(histories)))
        return (attention if self._output_attention else output), new


def _sized(tensor, width):
    tensor.set_shape([None, width])
    return tensor


def _attended(mechanism, output, state, layer):
    """(attention, alignments, next state): the memory weighted by its alignments."""
    alignments, next_state = mechanism(output, state=state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    attention = layer(concat([output, context], 1)) if layer is not None else context
    return attention, alignments, next_state


_compute_attention = _attended
