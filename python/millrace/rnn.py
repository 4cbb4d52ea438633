"""rnn — cells over time: in a loop, or written out step by step."""
from . import dtypes, nest, tensor_shape, variable_scope
from .array_ops import concat, identity, reverse, reverse_sequence, shape, stack, transpose, where, zeros
from .constant import constant
from .control_flow import while_loop
from .convert import convert_to_tensor
from .graph import name_scope
from .math_ops import cast
from .tensor_array import TensorArray


def _time_major(x):
    """[batch, time, ...] to [time, batch, ...], and back."""
    x = convert_to_tensor(x)
    n = x.shape.ndims
    if n is None or n < 2:
        raise ValueError("Expected input tensor %s to have rank at least 2, but saw shape: %s" % (x.name, x.shape))
    return transpose(x, [1, 0] + list(range(2, n)))


_transpose_batch_time = _time_major


def _step(cell, x, state, time, lengths, zero_output):
    """One step of rows that are not at their end; the others keep their state and give zeros."""
    output, new = cell(x, state)
    nest.assert_same_structure(state, new)
    if lengths is None:
        return output, new
    ended = time >= lengths
    keep = lambda old, value: value if value.shape.ndims == 0 else where(ended, old, value)
    out = nest.map_structure(keep, zero_output, output)
    kept = [keep(o, v) for o, v in zip(nest.flatten(state), nest.flatten(new))]
    for v, o in zip(kept, nest.flatten(new)):
        v.set_shape(o.shape)
    return out, nest.pack_sequence_as(new, kept)


def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None,
                swap_memory=False, time_major=False, scope=None):
    """(outputs [batch, time, size], last state) of a cell over inputs [batch, time, depth]."""
    with variable_scope.variable_scope(scope or "rnn") as opened:
        if opened.caching_device is None:
            opened.set_caching_device(lambda op: op.device)
        flat = [convert_to_tensor(i) for i in nest.flatten(inputs)]
        if not time_major:
            flat = [_time_major(i) for i in flat]
        if sequence_length is not None:
            sequence_length = cast(convert_to_tensor(sequence_length), dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size, but saw shape: %s"
                                 % sequence_length.shape)
            sequence_length = identity(sequence_length, name="sequence_length")
        batch = flat[0].shape.dims[1].value
        batch = shape(flat[0])[1] if batch is None else batch
        if initial_state is not None:
            state = nest.map_structure(convert_to_tensor, initial_state)
        else:
            if dtype is None:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = cell.zero_state(batch, dtype)
        outputs, final = _loop(cell, inputs, flat, state, batch, sequence_length, parallel_iterations or 32, swap_memory,
                               dtype)
        if not time_major:
            outputs = nest.map_structure(_time_major, outputs)
        return outputs, final


def _loop(cell, inputs, flat, state, batch, lengths, parallel_iterations, swap_memory, dtype):
    known = flat[0].shape.dims[0].value
    steps = known if known is not None else shape(flat[0])[0]
    kind = dtype or nest.flatten(state)[0].dtype.base_dtype
    sizes = cell.output_size
    with name_scope("dynamic_rnn"):
        from .rnn_cell import _concat
        zero = nest.map_structure(lambda s: zeros(_concat(batch, s), kind), sizes) if lengths is not None else None
        time = constant(0, dtypes.int32, name="time")
        arrays_in = [TensorArray(t.dtype, size=steps, element_shape=t.shape[1:]).unstack(t) for t in flat]
        static = flat[0].shape.dims[1].value
        arrays_out = [TensorArray(kind, size=steps, element_shape=tensor_shape.TensorShape([static]).concatenate(
            tensor_shape.as_shape(s))) for s in nest.flatten(sizes)]

        def body(time, arrays, state):
            x = [a.read(time) for a in arrays_in]
            for one, t in zip(x, flat):
                one.set_shape(t.shape[1:])
            output, new = _step(cell, nest.pack_sequence_as(inputs, x), state, time, lengths, zero)
            return time + 1, tuple(a.write(time, o) for a, o in zip(arrays, nest.flatten(output))), new
        _, arrays_out, final = while_loop(lambda time, *_: time < steps, body, (time, tuple(arrays_out), state),
                                          parallel_iterations=parallel_iterations, swap_memory=swap_memory)
        outputs = [a.stack() for a in arrays_out]
        for o, s in zip(outputs, nest.flatten(sizes)):
            o.set_shape(tensor_shape.TensorShape([known, static]).concatenate(tensor_shape.as_shape(s)))
        return nest.pack_sequence_as(sizes, outputs), final


def _reversed(x, lengths, time_axis, batch_axis):
    if lengths is not None:
        return reverse_sequence(x, lengths, time_axis, batch_axis)
    return reverse(x, [time_axis])


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None,
                              dtype=None, parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
    """((forward outputs, backward outputs), (forward state, backward state))."""
    with variable_scope.variable_scope(scope or "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as fw:
            out_fw, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, parallel_iterations,
                                           swap_memory, time_major, fw)
        time_axis, batch_axis = (0, 1) if time_major else (1, 0)
        with variable_scope.variable_scope("bw") as bw:
            backwards = nest.map_structure(lambda i: _reversed(i, sequence_length, time_axis, batch_axis), inputs)
            out_bw, state_bw = dynamic_rnn(cell_bw, backwards, sequence_length, initial_state_bw, dtype,
                                           parallel_iterations, swap_memory, time_major, bw)
        out_bw = nest.map_structure(lambda o: _reversed(o, sequence_length, time_axis, batch_axis), out_bw)
        return (out_fw, out_bw), (state_fw, state_bw)


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """(list of outputs, last state) of a cell over a list of inputs [batch, depth]."""
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope.variable_scope(scope or "rnn") as opened:
        if opened.caching_device is None:
            opened.set_caching_device(lambda op: op.device)
        first = nest.flatten(inputs)[0]
        batch = first.shape.dims[0].value if first.shape.dims and first.shape.dims[0].value is not None else shape(first)[0]
        if initial_state is not None:
            state = initial_state
        else:
            if dtype is None:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = cell.zero_state(batch, dtype)
        zero = None
        if sequence_length is not None:
            from .rnn_cell import _concat
            sequence_length = cast(convert_to_tensor(sequence_length), dtypes.int32)
            kind = nest.flatten(state)[0].dtype
            zero = nest.map_structure(lambda s: zeros(_concat(batch, s), kind), cell.output_size)
        for time, x in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            output, state = _step(cell, x, state, constant(time), sequence_length, zero) \
                if sequence_length is not None else cell(x, state)
            outputs.append(output)
        return outputs, state


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None,
                             sequence_length=None, scope=None):
    """(list of joined outputs, forward state, backward state)."""
    with variable_scope.variable_scope(scope or "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as fw:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, fw)
        with variable_scope.variable_scope("bw") as bw:
            back, state_bw = static_rnn(cell_bw, _reverse_list(inputs, sequence_length), initial_state_bw, dtype,
                                        sequence_length, bw)
        out_bw = _reverse_list(back, sequence_length)
        return [concat([a, b], 1) for a, b in zip(out_fw, out_bw)], state_fw, state_bw


def _reverse_list(values, lengths):
    if lengths is None:
        return list(reversed(values))
    joined = reverse_sequence(stack(list(values)), cast(lengths, dtypes.int64), 0, 1)
    from .array_ops import unstack
    return unstack(joined)
