"""rnn — contrib.rnn: further cells, wrappers of cells, and stacks of bidirectional networks."""
import math

from .. import dtypes, init_ops, nest, rnn, variable_scope as vs
from ..array_ops import concat, expand_dims, gather_nd, reshape, shape, split, stack, zeros
from ..math_ops import cast, matmul, range as range_, reduce_max, reduce_sum, sigmoid, tanh
from ..nn import bias_add, dropout, embedding_lookup, moments, batch_normalization, softmax
from ..convert import convert_to_tensor
from ..ops_apply import apply
from ..rnn import _transpose_batch_time as transpose_batch_time  # noqa: F401
from ..rnn_cell import LayerRNNCell, LSTMStateTuple, RNNCell


def _linear(inputs, size, bias, bias_initializer=None, kernel_initializer=None):
    """[inputs] * kernel + bias, with variables of the open scope."""
    inputs = inputs if nest.is_sequence(inputs) else [inputs]
    width = sum(i.shape.dims[1].value for i in inputs)
    kernel = vs.get_variable("kernel", [width, size], dtype=inputs[0].dtype, initializer=kernel_initializer)
    product = matmul(inputs[0] if len(inputs) == 1 else concat(inputs, 1), kernel)
    if not bias:
        return product
    with vs.variable_scope(vs.get_variable_scope()) as inner:
        inner.set_partitioner(None)
        nought = init_ops.Constant(0.0, dtype=inputs[0].dtype) if bias_initializer is None else bias_initializer
        return bias_add(product, vs.get_variable("bias", [size], dtype=inputs[0].dtype, initializer=nought))


# ---------------------------------------- wrappers

class OutputProjectionWrapper(RNNCell):
    """A linear layer over a cell's output."""

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._cell, self._output_size, self._activation = cell, output_size, activation

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        output, state = self._cell(inputs, state)
        projected = _linear(output, self._output_size, True)
        return (self._activation(projected) if self._activation else projected), state


class InputProjectionWrapper(RNNCell):
    """A linear layer over a cell's input."""

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._cell, self._num_proj, self._activation = cell, num_proj, activation

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        projected = _linear(inputs, self._num_proj, True)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class EmbeddingWrapper(RNNCell):
    """Rows of a table in the place of a cell's input, which is indices."""

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(_reuse=reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError("Both embedding_classes and embedding_size must be > 0: %d, %d." % (embedding_classes,
                                                                                              embedding_size))
        self._cell, self._classes, self._size, self._initializer = cell, embedding_classes, embedding_size, initializer

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        initializer = self._initializer or vs.get_variable_scope().initializer or init_ops.RandomUniform(
            -math.sqrt(3), math.sqrt(3))
        kind = nest.flatten(state)[0].dtype
        table = vs.get_variable("embedding", [self._classes, self._size], initializer=initializer, dtype=kind)
        return self._cell(embedding_lookup(table, reshape(inputs, [-1])), state)


class HighwayWrapper(RNNCell):
    """Some of the input beside a cell's output, as a gate says."""

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__()
        self._cell, self._couple, self._bias = cell, couple_carry_transform_gates, carry_bias_init

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def _gated(self, inputs, output):
        size = inputs.shape[1].value
        weight = lambda name: vs.get_variable(name + "_w", [size, size])
        bias = lambda name, value: vs.get_variable(name + "_b", [size], initializer=init_ops.Constant(value))
        carry = sigmoid(bias_add(matmul(inputs, weight("carry")), bias("carry", self._bias)))
        if self._couple:
            through = 1 - carry
        else:
            through = sigmoid(bias_add(matmul(inputs, weight("transform")), bias("transform", -self._bias)))
        return inputs * carry + output * through

    def __call__(self, inputs, state, scope=None):
        output, state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, output)
        return nest.map_structure(self._gated, inputs, output), state


class CompiledWrapper(RNNCell):
    """A cell as it is: what would be compiled is run by the machine."""

    def __init__(self, cell, compile_stateful=False):
        super().__init__()
        self._cell = cell

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        return self._cell(inputs, state, scope)


class AttentionCellWrapper(RNNCell):
    """A cell that looks back at the last `attn_length` outputs."""

    def __init__(self, cell, attn_length, attn_size=None, attn_vec_size=None, input_size=None, state_is_tuple=True,
                 reuse=None):
        super().__init__(_reuse=reuse)
        if attn_length <= 0:
            raise ValueError("attn_length should be greater than zero, got %s" % attn_length)
        self._cell, self._length, self._tuple = cell, attn_length, state_is_tuple
        self._size = attn_size or cell.output_size
        self._vector, self._input_size = attn_vec_size or self._size, input_size

    @property
    def state_size(self):
        sizes = self._cell.state_size, self._size, self._size * self._length
        return sizes if self._tuple else sum(sizes)

    output_size = property(lambda self: self._size)

    def call(self, inputs, state):
        if self._tuple:
            state, attentions, history = state
        else:
            n = self._cell.state_size
            attentions, history = state[:, n:n + self._size], state[:, n + self._size:]
            state = state[:, :n]
        history = reshape(history, [-1, self._length, self._size])
        inputs = _linear([inputs, attentions], self._input_size or inputs.shape[1].value, True)
        output, new = self._cell(inputs, state)
        query = concat(nest.flatten(new), 1) if self._tuple else new
        attended, rest = self._attention(query, history)
        with vs.variable_scope("attn_output_projection"):
            output = _linear([output, attended], self._size, True)
        rest = reshape(concat([rest, reshape(output, [-1, 1, self._size])], 1), [-1, self._size * self._length])
        parts = new, attended, rest
        return output, parts if self._tuple else concat(list(parts), 1)

    def _attention(self, query, history):
        from ..nn import conv2d
        with vs.variable_scope("attention"):
            kernel = vs.get_variable("attn_w", [1, 1, self._size, self._vector])
            v = vs.get_variable("attn_v", [self._vector])
            hidden = reshape(history, [-1, self._length, 1, self._size])
            features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            y = reshape(_linear(query, self._vector, True), [-1, 1, 1, self._vector])
            weights = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
            seen = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return reshape(seen, [-1, self._size]), history[:, 1:]


# ---------------------------------------- cells

class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM whose gates are normalized over their units, and whose new values may be dropped out."""

    def __init__(self, num_units, forget_bias=1.0, input_size=None, activation=None, layer_norm=True, norm_gain=1.0,
                 norm_shift=0.0, dropout_keep_prob=1.0, dropout_prob_seed=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._units, self._forget, self._activation = num_units, forget_bias, activation or tanh
        self._norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep, self._seed = dropout_keep_prob, dropout_prob_seed

    state_size = property(lambda self: LSTMStateTuple(self._units, self._units))
    output_size = property(lambda self: self._units)

    def _normal(self, x, scope, dtype):
        with vs.variable_scope(scope):
            gamma = vs.get_variable("gamma", [self._units], initializer=init_ops.Constant(self._gain), dtype=dtype)
            beta = vs.get_variable("beta", [self._units], initializer=init_ops.Constant(self._shift), dtype=dtype)
        mean, variance = moments(x, [1], keep_dims=True)
        return batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs, state):
        c, h = state
        joined = concat([inputs, h], 1)
        kernel = vs.get_variable("kernel", [joined.shape[-1].value, 4 * self._units], dtype=joined.dtype)
        gates = matmul(joined, kernel)
        if not self._norm:
            gates = bias_add(gates, vs.get_variable("bias", [4 * self._units], dtype=joined.dtype))
        i, j, f, o = split(gates, 4, 1)
        if self._norm:
            i, j, f, o = [self._normal(g, n, joined.dtype) for g, n in ((i, "input"), (j, "transform"), (f, "forget"),
                                                                        (o, "output"))]
        g = self._activation(j)
        if not isinstance(self._keep, float) or self._keep < 1:
            g = dropout(g, self._keep, seed=self._seed)
        new_c = c * sigmoid(f + self._forget) + sigmoid(i) * g
        if self._norm:
            new_c = self._normal(new_c, "state", joined.dtype)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class LSTMBlockCell(LayerRNNCell):
    """An LSTM as one op."""

    def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, dtype=None, reuse=None,
                 name="lstm_cell"):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._units, self._forget, self._peephole = num_units, forget_bias, use_peephole
        self._clip = cell_clip if cell_clip is not None else -1

    state_size = property(lambda self: LSTMStateTuple(self._units, self._units))
    output_size = property(lambda self: self._units)

    def build(self, input_shape):
        n = self._units
        self._kernel = self.add_variable("kernel", [self._width(input_shape) + n, 4 * n])
        self._bias = self.add_variable("bias", [4 * n], initializer=init_ops.Constant(0.0))
        if self._peephole:
            self._diagonals = [self.add_variable("w_%s_diag" % g, [n]) for g in "ifo"]
        self.built = True

    def call(self, inputs, state):
        c, h = state
        wci, wcf, wco = self._diagonals if self._peephole else [zeros([self._units], self._kernel.dtype.base_dtype)] * 3
        made = apply("LSTMBlockCell", None, {
            "x": inputs, "cs_prev": c, "h_prev": h, "w": self._kernel, "wci": wci, "wcf": wcf, "wco": wco,
            "b": self._bias, "forget_bias": self._forget, "cell_clip": self._clip, "use_peephole": self._peephole})
        return made.h, LSTMStateTuple(made.cs, made.h)


class GRUBlockCellV2(LayerRNNCell):
    """A GRU as one op, with a bias for gates and one for candidates."""

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell"):
        super().__init__(_reuse=reuse, name=name)
        if num_units is None and cell_size is None:
            raise ValueError("Must specify num_units")
        self._units = num_units if num_units is not None else cell_size

    state_size = output_size = property(lambda self: self._units)

    def build(self, input_shape):
        n, width = self._units, self._width(input_shape)
        self._gate_kernel = self.add_variable("gates/kernel", [width + n, 2 * n])
        self._gate_bias = self.add_variable("gates/bias", [2 * n], initializer=init_ops.Constant(1.0))
        self._candidate_kernel = self.add_variable("candidate/kernel", [width + n, n])
        self._candidate_bias = self.add_variable("candidate/bias", [n], initializer=init_ops.Constant(0.0))
        self.built = True

    def call(self, inputs, state):
        new = apply("GRUBlockCell", None, {"x": inputs, "h_prev": state, "w_ru": self._gate_kernel, "w_c":
                                           self._candidate_kernel, "b_ru": self._gate_bias, "b_c": self._candidate_bias}).h
        return new, new


GRUBlockCell = GRUBlockCellV2


class LSTMBlockFusedCell:
    """All steps of an LSTM, [time, batch, depth], as one op."""

    def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, reuse=None, dtype=None,
                 name="lstm_fused_cell"):
        self._units, self._forget, self._peephole, self._reuse, self._name = num_units, forget_bias, use_peephole, reuse, name
        self._clip = cell_clip if cell_clip is not None else -1

    num_units = property(lambda self: self._units)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        inputs = stack(inputs) if isinstance(inputs, (list, tuple)) else convert_to_tensor(inputs)
        n, width, kind = self._units, inputs.shape[2].value, inputs.dtype
        with vs.variable_scope(scope or self._name, reuse=self._reuse):
            kernel = vs.get_variable("kernel", [width + n, 4 * n], dtype=kind)
            bias = vs.get_variable("bias", [4 * n], initializer=init_ops.Constant(0.0), dtype=kind)
            none = zeros([n], kind)
            wci, wcf, wco = [vs.get_variable("w_%s_diag" % g, [n], dtype=kind) for g in "ifo"] if self._peephole else [none] * 3
            steps, batch = shape(inputs)[0], shape(inputs)[1]
            c, h = initial_state if initial_state is not None else [zeros([batch, n], kind)] * 2
            longest = cast(steps if sequence_length is None else reduce_max(sequence_length), dtypes.int64)
            made = apply("BlockLSTM", None, {
                "seq_len_max": longest, "x": inputs, "cs_prev": c, "h_prev": h, "w": kernel, "wci": wci, "wcf": wcf,
                "wco": wco, "b": bias, "forget_bias": self._forget, "cell_clip": self._clip,
                "use_peephole": self._peephole})
        outputs, cells = made.h, made.cs
        if sequence_length is None:
            return outputs, LSTMStateTuple(cells[-1], outputs[-1])
        # A row's last state is where its sequence ends; before the first step it is the one it began with.
        at = stack([cast(sequence_length, dtypes.int32), range_(batch)], 1)
        last = [gather_nd(concat([[first], values], 0), at) for first, values in ((c, cells), (h, outputs))]
        live = cast(expand_dims(range_(steps), 1) < expand_dims(cast(sequence_length, dtypes.int32), 0), kind)
        return outputs * expand_dims(live, 2), LSTMStateTuple(*last)


class UGRNNCell(RNNCell):
    """A recurrent network with one gate for its update."""

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=tanh, reuse=None):
        super().__init__(_reuse=reuse)
        self._units, self._initializer, self._forget, self._activation = num_units, initializer, forget_bias, activation

    state_size = output_size = property(lambda self: self._units)

    def call(self, inputs, state):
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            g, c = split(_linear([inputs, state], 2 * self._units, True), 2, 1)
            gate = sigmoid(g + self._forget)
            new = gate * state + (1 - gate) * self._activation(c)
        return new, new


class NASCell(LayerRNNCell):
    """The cell that neural architecture search found."""

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._units, self._projection, self._bias_used = num_units, num_proj, use_bias

    output_size = property(lambda self: self._projection or self._units)
    state_size = property(lambda self: LSTMStateTuple(self._units, self.output_size))

    def build(self, inputs_shape):
        n, out = self._units, self.output_size
        self.recurrent_kernel = self.add_variable("recurrent_kernel", [out, 8 * n])
        self.kernel = self.add_variable("kernel", [self._width(inputs_shape), 8 * n])
        if self._bias_used:
            self.bias = self.add_variable("bias", [8 * n], initializer=init_ops.Zeros())
        if self._projection is not None:
            self.projection_weights = self.add_variable("projection_weights", [n, out])
        self.built = True

    def call(self, inputs, state):
        from ..nn import relu
        c, m = state
        seen, kept = matmul(inputs, self.kernel), matmul(m, self.recurrent_kernel)
        if self._bias_used:
            kept = bias_add(kept, self.bias)
        x, h = split(seen, 8, 1), split(kept, 8, 1)
        first = [sigmoid(x[0] + h[0]), relu(x[1] + h[1]), sigmoid(x[2] + h[2]), relu(x[3] * h[3]), tanh(x[4] + h[4]),
                 sigmoid(x[5] + h[5]), tanh(x[6] + h[6]), sigmoid(x[7] + h[7])]
        second = [tanh(first[0] * first[1]), tanh(first[2] + first[3]), tanh(first[4] * first[5]),
                  sigmoid(first[6] + first[7])]
        new_c = tanh(second[0] + c) * second[1]
        out = tanh(new_c * tanh(second[2] + second[3]))
        if self._projection is not None:
            out = matmul(out, self.projection_weights)
        return out, LSTMStateTuple(new_c, out)


# ---------------------------------------- stacks

def _stacked(cells_fw, cells_bw, states_fw, states_bw):
    for cells, what in ((cells_fw, "cells_fw"), (cells_bw, "cells_bw")):
        if not isinstance(cells, list) or not cells:
            raise ValueError("Must specify at least one %s cell for BidirectionalRNN." % what[6:])
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, n in ((states_fw, len(cells_fw)), (states_bw, len(cells_bw))):
        if states is not None and (not isinstance(states, list) or len(states) != n):
            raise ValueError("initial states must be a list of the same size as the cells.")


def stack_bidirectional_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                            sequence_length=None, scope=None):
    """Bidirectional networks over a list of inputs, each over the outputs of the one before."""
    _stacked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    found_fw, found_bw, x = [], [], inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with vs.variable_scope("cell_%d" % i) as opened:
                x, state_fw, state_bw = rnn.static_bidirectional_rnn(
                    fw, bw, x, initial_states_fw and initial_states_fw[i], initial_states_bw and initial_states_bw[i],
                    sequence_length=sequence_length, dtype=dtype, scope=opened)
                found_fw.append(state_fw)
                found_bw.append(state_bw)
    return x, tuple(found_fw), tuple(found_bw)


def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                                    sequence_length=None, parallel_iterations=None, time_major=False, scope=None,
                                    swap_memory=False):
    """The same over [batch, time, depth]; the outputs of both directions are joined."""
    _stacked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    found_fw, found_bw, x = [], [], inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with vs.variable_scope("cell_%d" % i):
                outputs, (state_fw, state_bw) = rnn.bidirectional_dynamic_rnn(
                    fw, bw, x, sequence_length, initial_states_fw and initial_states_fw[i],
                    initial_states_bw and initial_states_bw[i], dtype, parallel_iterations, swap_memory, time_major)
                x = concat(list(outputs), 2)
                found_fw.append(state_fw)
                found_bw.append(state_bw)
    return x, tuple(found_fw), tuple(found_bw)
