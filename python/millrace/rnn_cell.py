"""rnn_cell — recurrent cells: one step of a network with a state."""
import collections

from . import init_ops, layers, nest, tensor_shape, variable_scope
from .array_ops import concat, split, zeros
from .convert import convert_to_tensor
from .graph import Tensor, get_default_graph, name_scope
from .math_ops import add, matmul, multiply, sigmoid, tanh
from .nn import bias_add, dropout

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ["c", "h"])


class _StateTuple(LSTMStateTuple):
    """(c, h) of an LSTM."""
    __slots__ = ()

    @property
    def dtype(self):
        if self.c.dtype != self.h.dtype:
            raise TypeError("Inconsistent internal state: %s vs %s" % (self.c.dtype, self.h.dtype))
        return self.c.dtype


LSTMStateTuple = _StateTuple
LSTMStateTuple.__name__ = LSTMStateTuple.__qualname__ = "LSTMStateTuple"


def _concat(batch, size):
    """[batch] + size, as a tensor where the batch is one."""
    sizes = tensor_shape.as_shape(size).as_list()
    if isinstance(batch, Tensor) and batch.shape.ndims == 0:
        return concat([[batch], sizes], 0)
    return [int(batch)] + sizes


class RNNCell(layers.Layer):
    """One step: `cell(inputs, state)` gives (output, new state); `state_size`, `output_size`, `zero_state`."""

    def __call__(self, inputs, state, scope=None):
        if scope is not None:
            with variable_scope.variable_scope(scope, custom_getter=self._remember) as opened:
                return super().__call__(inputs, state, scope=opened)
        name = "rnncell_scope"
        opened = getattr(self, name, None)
        if opened is None:
            opened = variable_scope.variable_scope(variable_scope.get_variable_scope(), custom_getter=self._remember)
            setattr(self, name, opened)
        with opened:
            return super().__call__(inputs, state)

    def _remember(self, getter, *args, **kwargs):
        variable = getter(*args, **kwargs)
        if not any(variable is v for v in self._trainable_weights + self._non_trainable_weights):
            (self._trainable_weights if kwargs.get("trainable", True) is not False else
             self._non_trainable_weights).append(variable)
        return variable

    def add_weight(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=None, **kwargs):
        before = list(self._trainable_weights), list(self._non_trainable_weights)
        made = super().add_weight(name, shape, dtype, initializer, regularizer, trainable, **kwargs)
        for now, then in zip((self._trainable_weights, self._non_trainable_weights), before):
            kept = list(then) + [v for v in now if not any(v is t for t in then)]
            now[:] = list(dict.fromkeys(kept))
        return made

    add_variable = add_weight

    @property
    def state_size(self):
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        raise NotImplementedError("Abstract method")

    def build(self, _):
        self.built = True

    def zero_state(self, batch_size, dtype):
        """Zeros [batch_size, size] in the structure of the state."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []):
            def make(size):
                value = zeros(_concat(batch_size, size), dtype)
                if isinstance(batch_size, Tensor):
                    value.set_shape([None] + tensor_shape.as_shape(size).as_list())
                return value
            size = self.state_size
            return nest.map_structure(make, size) if nest.is_sequence(size) else make(size)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            from .array_ops import shape
            batch_size, dtype = shape(inputs)[0], inputs.dtype
        return self.zero_state(batch_size, dtype)


class _LayerCell(RNNCell):
    def _width(self, input_shape):
        shape = tensor_shape.as_shape(input_shape if isinstance(input_shape, tensor_shape.TensorShape) else input_shape)
        if shape[-1].value is None:
            raise ValueError("Expected inputs.shape[-1] to be known, saw shape: %s" % shape)
        return shape[-1].value


LayerRNNCell = _LayerCell


class BasicRNNCell(_LayerCell):
    """activation([inputs, state] * kernel + bias)."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh

    state_size = output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        n = self._num_units
        self._kernel = self.add_variable("kernel", [self._width(input_shape) + n, n])
        self._bias = self.add_variable("bias", [n], initializer=init_ops.Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs, state):
        output = self._activation(bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias))
        return output, output


class GRUCell(_LayerCell):
    """A gated recurrent unit."""

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None,
                 dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        n, depth = self._num_units, self._width(input_shape)
        ones = self._bias_initializer if self._bias_initializer is not None else init_ops.Constant(1.0, dtype=self.dtype)
        nought = self._bias_initializer if self._bias_initializer is not None else init_ops.Zeros(dtype=self.dtype)
        self._gate_kernel = self.add_variable("gates/kernel", [depth + n, 2 * n], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", [2 * n], initializer=ones)
        self._candidate_kernel = self.add_variable("candidate/kernel", [depth + n, n],
                                                   initializer=self._kernel_initializer)
        self._candidate_bias = self.add_variable("candidate/bias", [n], initializer=nought)
        self.built = True

    def call(self, inputs, state):
        value = sigmoid(bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias))
        r, u = split(value, 2, 1)
        candidate = bias_add(matmul(concat([inputs, r * state], 1), self._candidate_kernel), self._candidate_bias)
        new = u * state + (1 - u) * self._activation(candidate)
        return new, new


class BasicLSTMCell(_LayerCell):
    """A long short-term memory without peepholes, clipping or projection."""

    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None,
                 input_size=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = activation or tanh

    output_size = property(lambda self: self._num_units)

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    def build(self, input_shape):
        n = self._num_units
        self._kernel = self.add_variable("kernel", [self._width(input_shape) + n, 4 * n])
        self._bias = self.add_variable("bias", [4 * n], initializer=init_ops.Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs, state):
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        forget = convert_to_tensor(self._forget_bias, f.dtype)
        new_c = add(multiply(c, sigmoid(add(f, forget))), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class LSTMCell(_LayerCell):
    """The same with peepholes, clipping and projection where they are asked for."""

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
                 num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None,
                 reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._use_peepholes, self._cell_clip, self._initializer = num_units, use_peepholes, cell_clip, \
            initializer
        self._num_proj, self._proj_clip, self._forget_bias = num_proj, proj_clip, forget_bias
        self._state_is_tuple, self._activation = state_is_tuple, activation or tanh

    output_size = property(lambda self: self._num_proj or self._num_units)

    @property
    def state_size(self):
        n, out = self._num_units, self._num_proj or self._num_units
        return LSTMStateTuple(n, out) if self._state_is_tuple else n + out

    def build(self, input_shape):
        n, out = self._num_units, self._num_proj or self._num_units
        make = lambda name, dims: self.add_variable(name, dims, initializer=self._initializer)
        self._kernel = make("kernel", [self._width(input_shape) + out, 4 * n])
        self._bias = self.add_variable("bias", [4 * n], initializer=init_ops.Zeros(dtype=self.dtype))
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = [make("w_%s_diag" % g, [n]) for g in "fio"]
        if self._num_proj is not None:
            self._proj_kernel = make("projection/kernel", [n, self._num_proj])
        self.built = True

    def call(self, inputs, state):
        from .math_ops import clip_by_value
        out = self._num_proj or self._num_units
        c, m = state if self._state_is_tuple else split(state, [self._num_units, out], 1)
        gates = bias_add(matmul(concat([inputs, m], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c, i + self._w_i_diag * c
        new_c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        o = sigmoid(o + self._w_o_diag * new_c) if self._use_peepholes else sigmoid(o)
        new_m = o * self._activation(new_c)
        if self._num_proj is not None:
            new_m = matmul(new_m, self._proj_kernel)
            if self._proj_clip is not None:
                new_m = clip_by_value(new_m, -self._proj_clip, self._proj_clip)
        return new_m, LSTMStateTuple(new_c, new_m) if self._state_is_tuple else concat([new_c, new_m], 1)


class MultiRNNCell(RNNCell):
    """Cells one on top of the other."""

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError("cells must be a list or tuple, but saw: %s." % cells)
        self._cells, self._state_is_tuple = list(cells), state_is_tuple

    output_size = property(lambda self: self._cells[-1].output_size)

    @property
    def state_size(self):
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def trainable_weights(self):
        return [w for c in self._cells for w in c.trainable_weights]

    @property
    def weights(self):
        return [w for c in self._cells for w in c.weights]

    variables = weights

    def zero_state(self, batch_size, dtype):
        with name_scope(type(self).__name__ + "ZeroState"):
            if self._state_is_tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
            return super().zero_state(batch_size, dtype)

    def call(self, inputs, state):
        if self._state_is_tuple and not nest.is_sequence(state):
            raise ValueError("Expected state to be a tuple of length %d, but received: %s" % (len(self.state_size), state))
        at, new_states, x = 0, [], inputs
        for i, cell in enumerate(self._cells):
            with variable_scope.variable_scope("cell_%d" % i):
                if self._state_is_tuple:
                    one = state[i]
                else:
                    one = state[:, at:at + cell.state_size]
                    at += cell.state_size
                x, new = cell(x, one)
                new_states.append(new)
        return x, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)


class _Wrapper(RNNCell):
    def __init__(self, cell):
        super().__init__()
        self._cell = cell

    state_size, output_size = property(lambda self: self._cell.state_size), property(lambda self: self._cell.output_size)
    trainable_weights = property(lambda self: self._cell.trainable_weights)
    weights = variables = property(lambda self: self._cell.weights)

    def zero_state(self, batch_size, dtype):
        with name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class DropoutWrapper(_Wrapper):
    """Drops out of a cell's inputs, states and outputs."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
                 input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None):
        super().__init__(cell)
        if variational_recurrent:
            raise NotImplementedError("variational_recurrent")
        self._input, self._output, self._state, self._seed = input_keep_prob, output_keep_prob, state_keep_prob, seed

    wrapped_cell = property(lambda self: self._cell)

    @staticmethod
    def _needed(keep):
        return isinstance(keep, Tensor) or keep < 1

    def __call__(self, inputs, state, scope=None):
        if self._needed(self._input):
            inputs = dropout(inputs, keep_prob=self._input, seed=self._seed)
        output, new = self._cell(inputs, state, scope=scope)
        if self._needed(self._state):
            if isinstance(new, LSTMStateTuple):
                new = LSTMStateTuple(new.c, dropout(new.h, keep_prob=self._state, seed=self._seed))
            else:
                new = nest.map_structure(lambda s: dropout(s, keep_prob=self._state, seed=self._seed), new)
        if self._needed(self._output):
            output = nest.map_structure(lambda o: dropout(o, keep_prob=self._output, seed=self._seed), output)
        return output, new


class ResidualWrapper(_Wrapper):
    """Adds a cell's inputs to its outputs."""

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs, state, scope=None):
        output, new = self._cell(inputs, state, scope=scope)
        return (self._residual_fn or (lambda i, o: nest.map_structure(lambda a, b: a + b, i, o)))(inputs, output), new


class DeviceWrapper(_Wrapper):
    """Puts a cell on a device."""

    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs, state, scope=None):
        with get_default_graph().device(self._device):
            return self._cell(inputs, state, scope=scope)
