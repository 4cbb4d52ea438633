"""beam_search — contrib.seq2seq's beam search: the likeliest sequences, several of each row at a time."""
import collections

import numpy as np

from .. import dtypes, nest, tensor_shape
from ..array_ops import concat, expand_dims, fill, gather_nd, one_hot, ones_like, reshape, sequence_mask, shape, stack, \
    tile, transpose, where, zeros, zeros_like
from ..constant import constant_value
from ..control_flow import cond, while_loop
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..math_ops import cast, cumsum, equal, log, minimum, range as range_, reduce_all, \
    reduce_max, reduce_sum
from ..nn import embedding_lookup, log_softmax, top_k
from ..tensor_array import TensorArray
from .seq2seq import Decoder, _rows, logical_not, logical_or

BeamSearchDecoderState = collections.namedtuple(
    "BeamSearchDecoderState", ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"))
BeamSearchDecoderOutput = collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
FinalBeamSearchDecoderOutput = collections.namedtuple("FinalBeamDecoderOutput", ["predicted_ids",
                                                                                 "beam_search_decoder_output"])


def tile_batch(t, multiplier, name=None):
    """Each row `multiplier` times, one after the other: [a, a, b, b]."""
    def one(value):
        value = convert_to_tensor(value)
        if value.shape.ndims is None:
            raise ValueError("t must have statically known rank")
        dims = shape(value)
        repeated = tile(expand_dims(value, 1), [1, multiplier] + [1] * (value.shape.ndims - 1))
        repeated = reshape(repeated, concat([[dims[0] * multiplier], dims[1:]], 0))
        rows = value.shape.dims[0].value
        repeated.set_shape(tensor_shape.TensorShape([rows * multiplier if rows is not None and isinstance(multiplier, int)
                                                     else None]).concatenate(value.shape[1:]))
        return repeated
    with name_scope(name or "tile_batch"):
        return nest.map_structure(one, t)


def _pick(values, indices):
    """values[b, indices[b, k]] for values [batch, beams, ...] and indices [batch, k]."""
    rows = tile(expand_dims(range_(shape(indices)[0]), 1), [1, shape(indices)[1]])
    return gather_nd(values, stack([rows, indices], 2))


def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
    """The sequences [steps, batch, beams] that end at the last step, found by way of their parents."""
    with name_scope(name or "GatherTree"):
        step_ids, parent_ids = convert_to_tensor(step_ids), convert_to_tensor(parent_ids)
        steps, batch, beams = [shape(step_ids)[i] for i in range(3)]
        end = cast(convert_to_tensor(end_token), step_ids.dtype)
        lengths = minimum(convert_to_tensor(max_sequence_lengths, dtypes.int32), steps)
        found = TensorArray(step_ids.dtype, size=steps, element_shape=step_ids.shape[1:])
        ended = fill(stack([batch, beams]), end)
        first = tile(expand_dims(range_(beams), 0), stack([batch, 1]))

        def back(t, at, found):
            active = tile(expand_dims(t < lengths, 1), stack([1, beams]))
            ids = where(active, _pick(step_ids[t], at), ended)
            return t - 1, where(active, _pick(parent_ids[t], at), at), found.write(t, ids)
        _, _, found = while_loop(lambda t, *_: t >= 0, back, (steps - 1, first, found))
        ids = found.stack()
        after = cumsum(cast(equal(ids, end), dtypes.int32), axis=0, exclusive=True) > 0
        result = where(after, zeros_like(ids) + end, ids)
        result.set_shape(step_ids.shape)
        return result


def _length_penalty(lengths, weight):
    """Wu et al.'s: ((5 + length) / 6) ** weight."""
    weight = convert_to_tensor(weight, name="penalty_factor")
    if weight.shape.ndims != 0:
        raise ValueError("penalty_weight should be a scalar")
    if constant_value(weight) == 0:
        return 1.0
    return ((5. + cast(lengths, dtypes.float32)) ** weight) / ((5. + 1.) ** weight)


class BeamSearchDecoder(Decoder):
    """The `beam_width` best sequences of each row."""

    tracks_own_finished = True      # beams change places, and their flags with them

    def __init__(self, cell, embedding, start_tokens, end_token, initial_state, beam_width, output_layer=None,
                 length_penalty_weight=0.0, coverage_penalty_weight=0.0, reorder_tensor_arrays=True):
        self._cell, self._output_layer, self._beams = cell, output_layer, beam_width
        self._embed = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
        self._end = convert_to_tensor(end_token, dtypes.int32, name="end_token")
        if self._start.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        if coverage_penalty_weight and not hasattr(initial_state, "alignments"):
            raise ValueError("coverage_penalty_weight needs a cell with attention")
        self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
        self._reorder = reorder_tensor_arrays
        self._batch = _rows(self._start)
        self._initial = nest.map_structure(self._split_state, initial_state)
        self._start_inputs = self._embed(tile(expand_dims(self._start, 1), [1, beam_width]))
        self._finished = one_hot(zeros([self._batch], dtypes.int32), beam_width, on_value=False, off_value=True,
                                 dtype=dtypes.bool)

    batch_size = property(lambda self: self._batch)

    # -- between [batch * beams, ...] and [batch, beams, ...]

    def _split_state(self, value):
        if isinstance(value, TensorArray):
            return value
        value = convert_to_tensor(value)
        return self._split(value) if value.shape.ndims else value

    def _merge_state(self, value):
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        return self._merge(value)

    def _split(self, value):
        parted = reshape(value, concat([[self._batch, self._beams], shape(value)[1:]], 0))
        parted.set_shape(tensor_shape.TensorShape([self._batch if isinstance(self._batch, int) else None, self._beams])
                         .concatenate(value.shape[1:]))
        return parted

    def _merge(self, value):
        joined = reshape(value, concat([[self._batch * self._beams], shape(value)[2:]], 0))
        joined.set_shape(tensor_shape.TensorShape([self._batch * self._beams if isinstance(self._batch, int) else None])
                         .concatenate(value.shape[2:]))
        return joined

    # -- the decoder

    @property
    def output_size(self):
        wide = tensor_shape.TensorShape([self._beams])
        return BeamSearchDecoderOutput(scores=wide, predicted_ids=wide, parent_ids=wide)

    @property
    def output_dtype(self):
        return BeamSearchDecoderOutput(scores=nest.flatten(self._initial)[0].dtype, predicted_ids=dtypes.int32,
                                       parent_ids=dtypes.int32)

    def initialize(self, name=None):
        kind = nest.flatten(self._initial)[0].dtype
        log_probs = one_hot(zeros([self._batch], dtypes.int32), self._beams, on_value=kind.as_numpy_dtype(0),
                            off_value=kind.as_numpy_dtype(-np.inf), dtype=kind)
        attended = ()
        if self._coverage_weight:
            attended = _attention_of(self._initial)
        state = BeamSearchDecoderState(cell_state=self._initial, log_probs=log_probs, finished=self._finished,
                                       lengths=zeros([self._batch, self._beams], dtypes.int64),
                                       accumulated_attention_probs=attended)
        return self._finished, self._start_inputs, state

    def finalize(self, outputs, final_state, sequence_lengths):
        longest = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end)
        if self._reorder:
            final_state = final_state._replace(cell_state=nest.map_structure(
                lambda t: self._array_by_beams(t, outputs.parent_ids, final_state.lengths), final_state.cell_state))
        return FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=ids), final_state

    def _array_by_beams(self, array, parents, lengths):
        """A TensorArray of each step's [batch * beams, ...], as the beams were that lead to the last ones."""
        if not isinstance(array, TensorArray):
            return array
        values = array.stack()
        steps = shape(parents)[0]
        parted = reshape(values, concat([[steps, self._batch, self._beams], shape(values)[2:]], 0))
        places = tile(reshape(range_(self._beams), [1, 1, self._beams]), stack([steps, self._batch, 1]))
        longest = cast(reduce_max(lengths, axis=1), dtypes.int32)
        order = gather_tree(places, parents, longest, self._beams + 1)
        real = transpose(_mask_of(lengths, steps), [2, 0, 1])
        order = where(real, order, places)
        at_time = tile(reshape(range_(steps), [-1, 1, 1]), stack([1, self._batch, self._beams]))
        at_row = tile(reshape(range_(self._batch), [1, -1, 1]), stack([steps, 1, self._beams]))
        chosen = gather_nd(parted, stack([at_time, at_row, order], 3))
        return reshape(chosen, shape(values))

    def step(self, time, inputs, state, name=None):
        with name_scope(name or "BeamSearchDecoderStep"):
            cell_state = nest.map_structure(self._merge_state, state.cell_state)
            outputs, next_cell_state = self._cell(nest.map_structure(self._merge, inputs), cell_state)
            outputs = nest.map_structure(self._split, outputs)
            next_cell_state = nest.map_structure(self._split_state, next_cell_state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            result, new = self._searched(time, outputs, next_cell_state, state)
            ids = result.predicted_ids
            next_inputs = cond(reduce_all(new.finished), lambda: self._start_inputs, lambda: self._embed(ids))
        return result, new, next_inputs, new.finished

    def _searched(self, time, logits, next_cell_state, state):
        """The best continuations of all beams of a row, and the state that they go on with."""
        words = logits.shape[-1].value or shape(logits)[-1]
        finished = state.finished
        step_probs = _only_end(log_softmax(logits), self._end, finished, words)
        total = expand_dims(state.log_probs, 2) + step_probs
        adding = one_hot(fill([self._batch, self._beams], self._end), words, on_value=np.int64(0), off_value=np.int64(1),
                         dtype=dtypes.int64)
        lengths = expand_dims(state.lengths, 2) + adding * expand_dims(cast(logical_not(finished), dtypes.int64), 2)
        attended = state.accumulated_attention_probs
        scores = total / _length_penalty(lengths, self._length_weight)
        if self._coverage_weight:
            now = _attention_of(next_cell_state)
            attended = attended + now * expand_dims(cast(logical_not(finished), now.dtype), 2)
            ones = ones_like(attended)
            covered = reduce_sum(log(minimum(where(equal(attended, 0.), ones, attended), ones)), 2)  # 0: past its end
            covered = covered * cast(finished, covered.dtype)   # what goes on may still attend
            scores = scores + expand_dims(self._coverage_weight * covered, 2)
        flat = reshape(scores, [self._batch, -1])
        known = words if isinstance(words, int) else None
        best, at = top_k(flat, k=self._beams if known is None else min(self._beams, self._beams * known))
        best.set_shape([None, self._beams])
        ids, beams = cast(at % words, dtypes.int32), cast(at // words, dtypes.int32)
        probs = _pick(reshape(total, [self._batch, -1]), at)
        was_finished = _pick(finished, beams)
        now_finished = logical_or(was_finished, equal(ids, self._end))
        now_lengths = _pick(state.lengths, beams) + cast(logical_not(was_finished), dtypes.int64)
        keep = lambda v: v if isinstance(v, TensorArray) or v.shape.ndims is None or v.shape.ndims < 2 else _like(
            _pick(v, beams), v)
        new = BeamSearchDecoderState(
            cell_state=nest.map_structure(keep, next_cell_state), log_probs=_like(probs, state.log_probs),
            finished=_like(now_finished, finished), lengths=_like(now_lengths, state.lengths),
            accumulated_attention_probs=nest.map_structure(keep, attended) if self._coverage_weight else ())
        return BeamSearchDecoderOutput(scores=best, predicted_ids=_like(ids, finished), parent_ids=_like(beams, finished)), new


def _like(value, pattern):
    value.set_shape(pattern.shape)
    return value


def _attention_of(state):
    """What was attended to, the mean of several mechanisms."""
    found = state.alignments
    return sum(found[1:], found[0]) / len(found) if isinstance(found, tuple) else found


def _mask_of(lengths, steps):
    return sequence_mask(cast(lengths, dtypes.int32), maxlen=steps)


def _only_end(log_probs, end, finished, words):
    """Beams that have ended go on with the end token alone, at no cost."""
    kind = log_probs.dtype
    row = one_hot(end, words, on_value=kind.as_numpy_dtype(0), off_value=kind.min, dtype=kind)
    ended = tile(reshape(row, [1, 1, -1]), stack([shape(finished)[0], shape(finished)[1], 1]))
    return where(tile(expand_dims(finished, 2), stack([1, 1, words])), ended, log_probs)
