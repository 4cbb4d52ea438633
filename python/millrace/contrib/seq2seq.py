"""seq2seq — contrib.seq2seq: decoders that run step by step, what feeds them, and the loss of sequences."""
import collections

from .. import dtypes, layers, nest, tensor_shape, variable_scope
from ..array_ops import concat, gather_nd, reshape, shape, tile, where, zeros, zeros_like
from ..constant import constant_value
from ..control_flow import cond, while_loop
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..math_ops import argmax, cast, equal, reduce_all, reduce_any, reduce_sum
from ..nn import embedding_lookup, sparse_softmax_cross_entropy_with_logits
from ..op_table import function as op
from ..random_ops import multinomial, random_uniform
from ..rnn import _time_major
from ..tensor_array import TensorArray

logical_not, logical_or, scatter_nd = op("LogicalNot"), op("LogicalOr"), op("ScatterNd")
BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ["rnn_output", "sample_id"])


def _rows(tensor):
    known = tensor.shape.dims[0].value if tensor.shape.dims else None
    return known if known is not None else shape(tensor)[0]


# ---------------------------------------- helpers: what the next step gets

class Helper:
    """Chooses the samples of a step and the inputs of the next one."""

    batch_size = sample_ids_shape = sample_ids_dtype = property(
        lambda self: (_ for _ in ()).throw(NotImplementedError("a helper's own")))

    def initialize(self, name=None):
        """(finished [batch], the first inputs)."""
        raise NotImplementedError

    def sample(self, time, outputs, state, name=None):
        raise NotImplementedError

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """(finished, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper of three functions."""

    def __init__(self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None):
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._shape, self._dtype, self._batch = tensor_shape.as_shape(sample_ids_shape or []), sample_ids_dtype or \
            dtypes.int32, None

    @property
    def batch_size(self):
        if self._batch is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch

    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name=None):
        finished, inputs = self._initialize()
        if self._batch is None:
            self._batch = _rows(finished)
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """The inputs as they are, whatever was sampled."""

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(_time_major, inputs)
        self._inputs = inputs
        self._arrays = nest.map_structure(lambda i: TensorArray(
            i.dtype, size=shape(i)[0], element_shape=i.shape[1:]).unstack(i), inputs)
        self._sequence_length = cast(convert_to_tensor(sequence_length), dtypes.int32)
        if self._sequence_length.shape.ndims != 1:
            raise ValueError("Expected sequence_length to be a vector, but received shape: %s" % self._sequence_length.shape)
        self._zero = nest.map_structure(lambda i: zeros_like(i[0, :]), inputs)
        self._batch = _rows(self._sequence_length)

    inputs = property(lambda self: self._inputs)
    sequence_length = property(lambda self: self._sequence_length)
    batch_size = property(lambda self: self._batch)
    sample_ids_shape = property(lambda self: tensor_shape.TensorShape([]))
    sample_ids_dtype = property(lambda self: dtypes.int32)

    def _read(self, time, nothing_left):
        return cond(nothing_left, lambda: self._zero, lambda: nest.map_structure(lambda a: a.read(time), self._arrays))

    def initialize(self, name=None):
        with name_scope(name or "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            return finished, self._read(0, reduce_all(finished))

    def sample(self, time, outputs, state, name=None):
        return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time, outputs, state, name=None, **unused):
        with name_scope(name or "TrainingHelperNextInputs"):
            finished = time + 1 >= self._sequence_length
            return finished, self._read(time + 1, reduce_all(finished)), state


def _lookup(embedding):
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def _mixed(inputs, chosen, new):
    """`inputs` with the rows of `new`, [n, ...], at the rows where `chosen` holds."""
    at = cast(where(chosen), dtypes.int32)
    written = scatter_nd(at, new(at), shape(inputs))
    rows = reshape(chosen, [-1] + [1] * (inputs.shape.ndims - 1))
    found = where(tile(rows, concat([[1], shape(inputs)[1:]], 0)), written, inputs)
    found.set_shape(inputs.shape)
    return found


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Now and then what was sampled, embedded, in the place of the input."""

    def __init__(self, inputs, sequence_length, embedding, sampling_probability, time_major=False, seed=None,
                 scheduling_seed=None, name=None):
        self._embed, self._seed, self._scheduling_seed = _lookup(embedding), seed, scheduling_seed
        self._probability = convert_to_tensor(sampling_probability)
        if self._probability.shape.ndims not in (0, 1):
            raise ValueError("sampling_probability must be either a scalar or a vector. saw shape: %s" %
                             self._probability.shape)
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time, outputs, state, name=None):
        chosen = random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
        ids = reshape(cast(multinomial(outputs, 1, seed=self._seed), dtypes.int32), [-1])
        return where(chosen, ids, zeros_like(ids) - 1)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished, inputs, state = super().next_inputs(time, outputs, state, name)
        chosen = sample_ids > -1
        return finished, cond(reduce_all(finished), lambda: inputs, lambda: _mixed(
            inputs, chosen, lambda at: self._embed(gather_nd(sample_ids, at)))), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Now and then the output in the place of the input."""

    def __init__(self, inputs, sequence_length, sampling_probability, time_major=False, seed=None, next_inputs_fn=None,
                 auxiliary_inputs=None, name=None):
        self._probability, self._seed = convert_to_tensor(sampling_probability), seed
        self._fn = next_inputs_fn or (lambda x: x)
        self._more = None
        if auxiliary_inputs is not None:
            more = convert_to_tensor(auxiliary_inputs)
            inputs = concat([convert_to_tensor(inputs), more], -1)
            more = more if time_major else _time_major(more)
            self._more = TensorArray(more.dtype, size=shape(more)[0], element_shape=more.shape[1:]).unstack(more)
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time, outputs, state, name=None):
        return cast(random_uniform([self.batch_size], seed=self._seed) < self._probability, dtypes.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished, inputs, state = super().next_inputs(time, outputs, state, name)

        def mixed():
            new = self._fn(outputs)
            if self._more is not None:
                new = concat([new, self._more.read(time + 1)], -1)
            return _mixed(inputs, cast(sample_ids, dtypes.bool), lambda at: gather_nd(new, at))
        none = logical_or(reduce_all(finished), logical_not(reduce_any(cast(sample_ids, dtypes.bool))))
        return finished, cond(none, lambda: inputs, mixed), state


class GreedyEmbeddingHelper(Helper):
    """The best token of each step, embedded, until the end token."""

    def __init__(self, embedding, start_tokens, end_token):
        self._embed = _lookup(embedding)
        self._start = convert_to_tensor(start_tokens, dtypes.int32)
        self._end = convert_to_tensor(end_token, dtypes.int32)
        if self._start.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch = _rows(self._start)
        self._first = self._embed(self._start)

    batch_size = property(lambda self: self._batch)
    sample_ids_shape = property(lambda self: tensor_shape.TensorShape([]))
    sample_ids_dtype = property(lambda self: dtypes.int32)

    def initialize(self, name=None):
        return tile([False], [self._batch]), self._first

    def sample(self, time, outputs, state, name=None):
        return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished = equal(sample_ids, self._end)
        return finished, cond(reduce_all(finished), lambda: self._first, lambda: self._embed(sample_ids)), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A token drawn from each step's distribution."""

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        logits = outputs if self._temperature is None else outputs / self._temperature
        return reshape(cast(multinomial(logits, 1, seed=self._seed), dtypes.int32), [-1])


class InferenceHelper(Helper):
    """Samples of a function, until another says that they have ended."""

    def __init__(self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn, next_inputs_fn=None):
        self._sample, self._shape, self._dtype = sample_fn, tensor_shape.as_shape(sample_shape), sample_dtype
        self._end, self._next = end_fn, next_inputs_fn
        self._start = convert_to_tensor(start_inputs)
        self._batch = _rows(self._start)

    batch_size = property(lambda self: self._batch)
    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name=None):
        return tile([False], [self._batch]), self._start

    def sample(self, time, outputs, state, name=None):
        return self._sample(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        return self._end(sample_ids), sample_ids if self._next is None else self._next(sample_ids), state


# ---------------------------------------- decoders

class Decoder:
    """`initialize` gives (finished, inputs, state), `step` (outputs, state, inputs, finished)."""

    tracks_own_finished = False

    def initialize(self, name=None):
        raise NotImplementedError

    def step(self, time, inputs, state, name=None):
        raise NotImplementedError

    def finalize(self, outputs, final_state, sequence_lengths):
        raise NotImplementedError


class BasicDecoder(Decoder):
    """A cell, a helper, and a layer over the outputs."""

    def __init__(self, cell, helper, initial_state, output_layer=None):
        if not isinstance(helper, Helper):
            raise TypeError("helper must be a Helper, received: %s" % type(helper))
        if output_layer is not None and not isinstance(output_layer, layers.Layer):
            raise TypeError("output_layer must be a Layer, received: %s" % type(output_layer))
        self._cell, self._helper, self._initial_state, self._output_layer = cell, helper, initial_state, output_layer

    batch_size = property(lambda self: self._helper.batch_size)

    def _size(self):
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        return nest.map_structure(lambda s: self._output_layer.compute_output_shape(
            tensor_shape.TensorShape([None]).concatenate(tensor_shape.as_shape(s)))[1:], size)

    @property
    def output_size(self):
        return BasicDecoderOutput(self._size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self):
        kind = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(nest.map_structure(lambda _: kind, self._size()), self._helper.sample_ids_dtype)

    def initialize(self, name=None):
        return tuple(self._helper.initialize()) + (self._initial_state,)

    def step(self, time, inputs, state, name=None):
        with name_scope(name or "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(time=time, outputs=outputs, state=state, sample_ids=ids)
        return BasicDecoderOutput(outputs, ids), state, inputs, finished


def _as_sizes(size):
    """A size or a shape, as a list of sizes."""
    return tensor_shape.as_shape(size).as_list()


def dynamic_decode(decoder, output_time_major=False, impute_finished=False, maximum_iterations=None,
                   parallel_iterations=32, swap_memory=False, scope=None, **kwargs):
    """(outputs, last state, lengths) of a decoder that runs until all its rows are finished."""
    if not isinstance(decoder, Decoder):
        raise TypeError("Expected decoder to be type Decoder, but saw: %s" % type(decoder))
    with variable_scope.variable_scope(scope, default_name="decoder") as opened:
        if opened.caching_device is None:
            opened.set_caching_device(lambda op: op.device)
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtypes.int32, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            finished = logical_or(finished, 0 >= maximum_iterations)
        lengths = zeros_like(finished, dtype=dtypes.int32)
        batch, kinds = decoder.batch_size, decoder.output_dtype
        known = constant_value(batch) if not isinstance(batch, int) else batch
        sizes = nest.flatten_up_to(kinds, decoder.output_size)
        zero = nest.pack_sequence_as(kinds, [zeros(
            concat([[batch], _as_sizes(s)], 0) if _as_sizes(s) else [batch], k)
            for s, k in zip(sizes, nest.flatten(kinds))])
        arrays = nest.pack_sequence_as(kinds, [TensorArray(
            k, size=0, dynamic_size=True, element_shape=tensor_shape.TensorShape([known] + _as_sizes(s)))
            for s, k in zip(sizes, nest.flatten(kinds))])

        def step(time, arrays, state, inputs, finished, lengths):
            outputs, new_state, next_inputs, ended = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                ended = logical_or(ended, finished)
            if maximum_iterations is not None:
                ended = logical_or(ended, time + 1 >= maximum_iterations)
            lengths = where(logical_not(finished), zeros_like(lengths) + time + 1, lengths)
            if impute_finished:
                outputs = nest.map_structure(lambda o, z: where(finished, z, o), outputs, zero)
                new_state = _held(finished, state, new_state)
            arrays = nest.map_structure(lambda a, o: a.write(time, o), arrays, outputs)
            return time + 1, arrays, new_state, next_inputs, ended, lengths
        _, arrays, state, _, _, lengths = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: logical_not(reduce_all(finished)), step,
            (convert_to_tensor(0), arrays, state, inputs, finished, lengths), parallel_iterations=parallel_iterations,
            swap_memory=swap_memory)
        outputs = nest.map_structure(lambda a: a.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(_time_major, outputs)
        return outputs, state, lengths


def _held(finished, state, new):
    """The new state, and the old one of rows that have ended; arrays and scalars pass."""
    def one(old, value):
        if isinstance(old, TensorArray) or value.shape.ndims == 0:
            return value
        value.set_shape(old.shape)
        return where(finished, old, value)
    return nest.map_structure(one, state, new)


# ---------------------------------------- the loss

def sequence_loss(logits, targets, weights, average_across_timesteps=True, average_across_batch=True,
                  sum_over_timesteps=False, sum_over_batch=False, softmax_loss_function=None, name=None):
    """The weighted cross entropy of logits [batch, steps, symbols] and targets [batch, steps]."""
    logits, targets, weights = map(convert_to_tensor, (logits, targets, weights))
    if logits.shape.ndims != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if targets.shape.ndims != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if weights.shape.ndims != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError("average_across_timesteps and sum_over_timesteps cannot be set to True at same time.")
    if average_across_batch and sum_over_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be set to True at same time.")
    with name_scope(name or "sequence_loss"):
        flat, wanted = reshape(logits, [-1, shape(logits)[2]]), reshape(targets, [-1])
        if softmax_loss_function is None:
            loss = sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=flat)
        else:
            loss = softmax_loss_function(labels=wanted, logits=flat)
        loss = loss * reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return reduce_sum(loss) / (reduce_sum(weights) + 1e-12)
        if sum_over_timesteps and sum_over_batch:
            count = cast(reduce_sum(cast(weights > 0, dtypes.int32)), loss.dtype)
            return _without_nan(reduce_sum(loss), count)
        loss = reshape(loss, shape(logits)[0:2])
        if average_across_timesteps or sum_over_timesteps:
            total, axis, by = reduce_sum(loss, 1), 1, average_across_timesteps
        elif average_across_batch or sum_over_batch:
            total, axis, by = reduce_sum(loss, 0), 0, average_across_batch
        else:
            return loss
        if by:
            return total / (reduce_sum(weights, axis) + 1e-12)
        return _without_nan(total, cast(reduce_sum(cast(weights > 0, dtypes.int32), axis), loss.dtype))


def _without_nan(total, count):
    from ..math_ops import div_no_nan
    return div_no_nan(total, count)
