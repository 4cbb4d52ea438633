"""recurrent — SimpleRNN, LSTM, GRU, cells of one's own, both directions."""
from ... import array_ops, math_ops, nest
from ...control_flow import while_loop
from ...convert import convert_to_tensor
from ...ops_apply import apply
from ...tensor_array import TensorArray
from .. import activations, constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["RNN", "SimpleRNN", "LSTM", "GRU", "SimpleRNNCell", "LSTMCell", "GRUCell", "StackedRNNCells", "Bidirectional"]

_UNROLLED = 0    # steps up to which a loop is written out; more make graphs that take longer to make than they save


class _Cell(Layer):
    """What the cells share: a kernel for inputs, one for the state, a bias; `gates` parts of `units` each."""
    _gates = 1

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
                 recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if units <= 0:
            raise ValueError("Received an invalid value for argument `units`, expected a positive integer, got %s" % (units,))
        self.units, self.activation = int(units), activations.get(activation)
        self.recurrent_activation, self.use_bias = activations.get(recurrent_activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer, self.bias_initializer = initializers.get(recurrent_initializer), initializers.get(
            bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = regularizers.get(kernel_regularizer), regularizers.get(bias_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.kernel_constraint, self.bias_constraint = constraints.get(kernel_constraint), constraints.get(bias_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.dropout, self.recurrent_dropout, self.seed = dropout, recurrent_dropout, seed

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)

    def build(self, input_shape):
        n = self.units * self._gates
        self.kernel = self.add_weight((input_shape[-1], n), self.kernel_initializer, name="kernel",
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.recurrent_kernel = self.add_weight((self.units, n), self.recurrent_initializer, name="recurrent_kernel",
                                                regularizer=self.recurrent_regularizer, constraint=self.recurrent_constraint)
        self.bias = self._make_bias(n) if self.use_bias else None
        self.built = True

    def _make_bias(self, n):
        return self.add_weight((n,), self.bias_initializer, name="bias", regularizer=self.bias_regularizer,
                               constraint=self.bias_constraint)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        batch = batch_size if batch_size is not None else array_ops.shape(inputs)[0]
        return [array_ops.zeros(array_ops.stack([batch, n]), self.dtype) for n in nest.flatten(self.state_size)]

    def _dropped(self, x, rate, training):
        if not training or not rate:
            return x
        from ... import nn
        return nn.dropout(x, rate=rate, seed=self.seed)


class SimpleRNNCell(_Cell):
    def call(self, inputs, states, training=None):
        h = self._dropped(states[0], self.recurrent_dropout, training)
        out = math_ops.matmul(self._dropped(inputs, self.dropout, training), self.kernel)
        if self.bias is not None:
            out = out + self.bias
        out = self.activation(out + math_ops.matmul(h, self.recurrent_kernel))
        return out, [out]


class LSTMCell(_Cell):
    """Gates in the order input, forget, candidate, output."""
    _gates = 4

    def __init__(self, units, unit_forget_bias=True, **kwargs):
        super().__init__(units, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    state_size = property(lambda self: [self.units, self.units])

    def _make_bias(self, n):
        make = self.bias_initializer
        if self.unit_forget_bias:
            def initializer(shape, dtype=None):
                u = self.units
                return array_ops.concat([make([u], dtype), array_ops.ones([u], dtype), make([2 * u], dtype)], 0)
        else:
            initializer = make
        return self.add_weight((n,), initializer, name="bias", regularizer=self.bias_regularizer,
                               constraint=self.bias_constraint)

    def call(self, inputs, states, training=None):
        h, c = states
        z = math_ops.matmul(self._dropped(inputs, self.dropout, training), self.kernel)
        z = z + math_ops.matmul(self._dropped(h, self.recurrent_dropout, training), self.recurrent_kernel)
        if self.bias is not None:
            z = z + self.bias
        i, f, g, o = array_ops.split(z, 4, axis=1)
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]


class GRUCell(_Cell):
    """Gates in the order update, reset, candidate; `reset_after` the product with the state, as in cuDNN."""
    _gates = 3

    def __init__(self, units, reset_after=True, **kwargs):
        super().__init__(units, **kwargs)
        self.reset_after = reset_after

    def _make_bias(self, n):
        return self.add_weight((2, n) if self.reset_after else (n,), self.bias_initializer, name="bias",
                               regularizer=self.bias_regularizer, constraint=self.bias_constraint)

    def call(self, inputs, states, training=None):
        h, u = states[0], self.units
        x = math_ops.matmul(self._dropped(inputs, self.dropout, training), self.kernel)
        state = self._dropped(h, self.recurrent_dropout, training)
        if self.bias is not None:
            x = x + (self.bias[0] if self.reset_after else self.bias)
        xz, xr, xh = array_ops.split(x, 3, axis=1)
        if self.reset_after:
            inner = math_ops.matmul(state, self.recurrent_kernel)
            if self.bias is not None:
                inner = inner + self.bias[1]
            rz, rr, rh = array_ops.split(inner, 3, axis=1)
            z, r = self.recurrent_activation(xz + rz), self.recurrent_activation(xr + rr)
            candidate = self.activation(xh + r * rh)
        else:
            kernel = convert_to_tensor(self.recurrent_kernel)
            rz, rr = array_ops.split(math_ops.matmul(state, kernel[:, :2 * u]), 2, axis=1)
            z, r = self.recurrent_activation(xz + rz), self.recurrent_activation(xr + rr)
            candidate = self.activation(xh + math_ops.matmul(r * state, kernel[:, 2 * u:]))
        h = z * h + (1.0 - z) * candidate
        return h, [h]


class StackedRNNCells(Layer):
    """Cells one on top of the other."""

    def __init__(self, cells, **kwargs):
        super().__init__(**kwargs)
        self.cells = list(cells)

    state_size = property(lambda self: [n for c in self.cells for n in nest.flatten(c.state_size)])
    output_size = property(lambda self: self.cells[-1].output_size)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return [s for c in self.cells for s in c.get_initial_state(inputs, batch_size, dtype)]

    def call(self, inputs, states, training=None):
        new, at = [], 0
        for cell in self.cells:
            n = len(nest.flatten(cell.state_size))
            given = {"training": training} if cell._takes("training") else {}
            inputs, own = cell(inputs, list(states[at:at + n]), **given)
            new += nest.flatten(own)
            at += n
        return inputs, new


class RNN(Layer):
    """A cell over the steps of [batch, steps, features]: the last output, or all of them."""

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 time_major=False, zero_output_for_mask=False, **kwargs):
        super().__init__(**kwargs)
        self.cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.zero_output_for_mask = stateful, unroll, zero_output_for_mask
        self.supports_masking = True
        self._states = None

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        if not self.cell.built:
            self.cell.build((shape[0], shape[2])) if not isinstance(self.cell, StackedRNNCells) else None
        if self.stateful:
            if shape[0] is None:
                raise ValueError("a stateful RNN needs to know its batch size: give batch_shape to the Input")
            from ...variables import Variable
            self._states = [Variable(array_ops.zeros([shape[0], n]), trainable=False, name="state")
                            for n in nest.flatten(self.cell.state_size)]
        self.built = True

    def reset_states(self, states=None):
        for i, v in enumerate(self._states or ()):
            v.assign(array_ops.zeros(v.shape, v.dtype) if states is None else states[i])

    reset_state = reset_states

    def compute_mask(self, inputs, mask=None):
        mask = mask[0] if isinstance(mask, list) else mask
        return mask if self.return_sequences and not self.return_state else None

    def call(self, inputs, initial_state=None, mask=None, training=None):
        if isinstance(inputs, (list, tuple)):
            inputs, initial_state = inputs[0], list(inputs[1:])
        mask = mask[0] if isinstance(mask, list) else mask
        if initial_state is None:
            states = [convert_to_tensor(v) for v in self._states] if self._states else self.cell.get_initial_state(inputs)
        else:
            states = [convert_to_tensor(s) for s in nest.flatten(initial_state)]
        last, outputs, states = self._run(inputs, states, mask, training)
        for variable, state in zip(self._states or (), states):
            variable.assign(state)
        result = outputs if self.return_sequences else last
        return [result] + list(states) if self.return_state else result

    def _step(self, x, states, training):
        given = {"training": training} if self.cell._takes("training") else {}
        out, new = self.cell(x, list(states), **given)
        return out, nest.flatten(new)

    def _run(self, inputs, states, mask, training):
        """(last output, all outputs or None, last states)"""
        if self.go_backwards:
            inputs = array_ops.reverse(inputs, [1])
            mask = None if mask is None else array_ops.reverse(mask, [1])
        steps = array_ops.transpose(inputs, [1, 0] + list(range(2, inputs.shape.ndims)))
        mask = None if mask is None else array_ops.transpose(mask, [1, 0])
        if (self.unroll or inputs.shape[1] is not None and inputs.shape[1] <= _UNROLLED) and inputs.shape[1] is not None:
            return self._written_out(steps, inputs.shape[1], states, mask, training)
        return self._looped(steps, inputs, states, mask, training)

    def _masked(self, m, out, new, previous, states):
        """Where the mask is off, what was before."""
        m = array_ops.expand_dims(m, 1)
        keep = lambda a, b: array_ops.where_v2(m, a, b)
        other = array_ops.zeros_like(out) if self.zero_output_for_mask or previous is None else previous
        return keep(out, other), [keep(a, b) for a, b in zip(new, states)]

    def _written_out(self, steps, n, states, mask, training):
        outputs, previous = [], None
        for t in range(n):
            out, new = self._step(steps[t], states, training)
            if mask is not None:
                out, new = self._masked(mask[t], out, new, previous, states)
            outputs.append(out)
            previous, states = out, new
        return previous, array_ops.stack(outputs, 1) if self.return_sequences else None, states

    def _looped(self, steps, inputs, states, mask, training):
        n = inputs.shape[1] if inputs.shape[1] is not None else array_ops.shape(steps)[0]
        source = TensorArray(steps.dtype, size=n).unstack(steps)
        masks = None if mask is None else TensorArray(mask.dtype, size=n).unstack(mask)
        size = self.cell.output_size if not isinstance(self.cell, StackedRNNCells) else self.cell.output_size
        first = array_ops.zeros(array_ops.stack([array_ops.shape(inputs)[0], size]), states[0].dtype)
        target = TensorArray(states[0].dtype, size=n if self.return_sequences else 1)

        def body(t, last, target, *states):
            out, new = self._step(source.read(t), states, training)
            if masks is not None:
                out, new = self._masked(masks.read(t), out, new, last, states)
            if self.return_sequences:
                target = target.write(t, out)
            out.set_shape(last.shape)
            for a, b in zip(new, states):
                a.set_shape(b.shape)
            return [t + 1, out, target] + list(new)
        found = while_loop(lambda t, *rest: t < n, body, [convert_to_tensor(0), first, target] + list(states))
        outputs = None
        if self.return_sequences:
            outputs = found[2].stack()
            outputs = array_ops.transpose(outputs, [1, 0, 2])
            outputs.set_shape([inputs.shape[0], inputs.shape[1], size])
        return found[1], outputs, list(found[3:])


class _Whole(RNN):
    """RNN over one kind of cell, with the cell's arguments."""
    _cell = None
    _own = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major", "zero_output_for_mask",
            "name", "trainable", "input_shape", "batch_input_shape", "batch_size", "input_dim", "activity_regularizer")

    def __init__(self, units, *args, **kwargs):
        kwargs.pop("implementation", None)
        kwargs.pop("use_cudnn", None)
        own = {k: kwargs.pop(k) for k in self._own if k in kwargs}
        if args:
            kwargs["activation"] = args[0]
        dtype = kwargs.get("dtype")
        super().__init__(type(self)._cell(units, **kwargs), dtype=dtype, **own)

    def __getattr__(self, name):
        cell = self.__dict__.get("cell")
        if cell is None or name.startswith("_"):
            raise AttributeError(name)
        return getattr(cell, name)

    def get_config(self):
        cell = self.cell.get_config()
        cell.pop("name", None)
        own = {"name": self.name, "trainable": self._trainable, "return_sequences": self.return_sequences,
               "return_state": self.return_state, "go_backwards": self.go_backwards, "stateful": self.stateful,
               "unroll": self.unroll}
        names = ("units", "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer",
                 "bias_initializer", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "dropout",
                 "recurrent_dropout", "seed", "unit_forget_bias", "reset_after")
        from ..layer import plain
        own.update({n: plain(getattr(self.cell, n)) for n in names if hasattr(self.cell, n)})
        return own


class SimpleRNN(_Whole):
    _cell = SimpleRNNCell


class LSTM(_Whole):
    """Long short-term memory. Without a mask, with the usual activations, the library's own op runs all steps."""
    _cell = LSTMCell

    def _run(self, inputs, states, mask, training):
        cell = self.cell
        usual = cell.activation is activations.tanh and cell.recurrent_activation is activations.sigmoid
        drops = training and (cell.dropout or cell.recurrent_dropout)
        if not usual or drops or mask is not None or self.unroll or inputs.dtype.name != "float32":
            return super()._run(inputs, states, mask, training)
        if self.go_backwards:
            inputs = array_ops.reverse(inputs, [1])
        steps = array_ops.transpose(inputs, [1, 0, 2])
        h, c = states
        units = cell.units
        n = inputs.shape[1] if inputs.shape[1] is not None else array_ops.shape(steps)[0]
        weights = array_ops.concat([cell.kernel, cell.recurrent_kernel], 0)
        bias = convert_to_tensor(cell.bias) if cell.bias is not None else array_ops.zeros([4 * units])
        # The op's gates stand in the order input, candidate, forget, output.
        weights, bias = _as_block(weights, 1), _as_block(bias, 0)
        none = array_ops.zeros([units])
        r = apply("BlockLSTM", None, {"seq_len_max": math_ops.cast(n, "int64"), "x": steps, "cs_prev": c, "h_prev": h,
                                      "w": weights, "wci": none, "wcf": none, "wco": none, "b": bias, "forget_bias": 0.0,
                                      "cell_clip": -1.0, "use_peephole": False})
        last, state = r.h[-1], r.cs[-1]
        outputs = None
        if self.return_sequences:
            outputs = array_ops.transpose(r.h, [1, 0, 2])
            outputs.set_shape([inputs.shape[0], inputs.shape[1], units])
        last.set_shape([inputs.shape[0], units])
        state.set_shape([inputs.shape[0], units])
        return last, outputs, [last, state]


def _as_block(weights, axis):
    i, f, g, o = array_ops.split(weights, 4, axis=axis)
    return array_ops.concat([i, g, f, o], axis)


class GRU(_Whole):
    _cell = GRUCell


class Bidirectional(Layer):
    """A layer of steps, run forwards and backwards."""

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        super().__init__(**kwargs)
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError("Invalid merge mode. Received: %s. Merge mode should be one of {\"sum\", \"mul\", \"ave\", "
                             "\"concat\", None}" % merge_mode)
        config = layer.get_config()
        name = config.pop("name")
        config.pop("go_backwards", None)
        layer.name = "forward_" + name
        if backward_layer is None:
            backward_layer = type(layer)(**dict(config, name="backward_" + name, go_backwards=not layer.go_backwards))
        self.forward_layer, self.backward_layer, self.merge_mode = layer, backward_layer, merge_mode
        self.layer = layer
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.supports_masking = True

    def build(self, input_shape):
        for one in (self.forward_layer, self.backward_layer):
            if not one.built:
                one.build(input_shape)
        self.built = True

    def compute_mask(self, inputs, mask=None):
        return mask if self.return_sequences and not self.return_state else None

    def call(self, inputs, initial_state=None, mask=None, training=None):
        one, other = {}, {}
        if initial_state is not None:
            half = len(initial_state) // 2
            one, other = {"initial_state": initial_state[:half]}, {"initial_state": initial_state[half:]}
        there = self.forward_layer(inputs, training=training, mask=mask, **one)
        back = self.backward_layer(inputs, training=training, mask=mask, **other)
        states = []
        if self.return_state:
            states = list(there[1:]) + list(back[1:])
            there, back = there[0], back[0]
        if self.return_sequences:
            back = array_ops.reverse(back, [1])
        merged = {"concat": lambda: array_ops.concat([there, back], -1), "sum": lambda: there + back,
                  "ave": lambda: (there + back) / 2.0, "mul": lambda: there * back, None: lambda: [there, back]}[
                      self.merge_mode]()
        return (list(merged) if isinstance(merged, list) else [merged]) + states if states else merged

    def get_config(self):
        from ..layer import plain
        return {"name": self.name, "layer": plain(self.forward_layer), "merge_mode": self.merge_mode}
