"""crf — contrib.crf: linear chains: likelihood of tags, and the best tags."""
import numpy as np

from .. import dtypes
from ..array_ops import expand_dims, gather, gather_nd, one_hot, reshape, sequence_mask, shape as shape_of, \
    transpose, where, zeros_like
from ..control_flow import while_loop
from ..convert import convert_to_tensor
from ..math_ops import argmax, cast, maximum, range as range_, reduce_logsumexp, reduce_max, reduce_sum
from ..tensor_array import TensorArray
from .. import variable_scope as vs


def _mask(lengths, steps, dtype=dtypes.float32):
    return sequence_mask(lengths, maxlen=steps, dtype=dtype)


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """The scores of the tags at their places, summed, [batch]."""
    tags = inputs.shape.dims[2].value
    chosen = reduce_sum(inputs * one_hot(tag_indices, tags, dtype=inputs.dtype), 2)
    return reduce_sum(chosen * _mask(sequence_lengths, shape_of(tag_indices)[1], inputs.dtype), 1)


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """The scores of the steps from tag to tag, summed."""
    tags = transition_params.get_shape().dims[0].value
    steps = shape_of(tag_indices)[1] - 1
    before, after = tag_indices[:, :-1], tag_indices[:, 1:]
    scores = gather(reshape(convert_to_tensor(transition_params), [-1]), before * tags + after)
    return reduce_sum(scores * _mask(sequence_lengths, steps + 1, scores.dtype)[:, 1:], 1)


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """The score of a sequence of tags, without normalization; 0 where the length is 0."""
    tag_indices = convert_to_tensor(tag_indices)
    score = crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(tag_indices, sequence_lengths,
                                                                                    transition_params)
    return where(convert_to_tensor(sequence_lengths) <= 0, zeros_like(score), score)


def _over_time(inputs, lengths, step, first):
    """state = step(state, inputs[:, t]) for t from 1 on, held where the sequence has ended."""
    n = shape_of(inputs)[1]
    major = transpose(inputs, [1, 0, 2])
    lengths = convert_to_tensor(lengths)

    def body(t, state):
        new = step(state, gather(major, t))
        keep = cast(t, lengths.dtype) < lengths
        return t + 1, where(keep, new, state)
    return while_loop(lambda t, _: t < n, body, (convert_to_tensor(1), first))[1]


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """The logarithm of the sum over all sequences of tags."""
    first = inputs[:, 0]
    pairs = expand_dims(convert_to_tensor(transition_params), 0)
    alphas = _over_time(inputs, sequence_lengths, lambda a, x: x + reduce_logsumexp(expand_dims(a, 2) + pairs, [1]), first)
    found = reduce_logsumexp(alphas, [1])
    return where(convert_to_tensor(sequence_lengths) <= 0, zeros_like(found), found)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """(log likelihood of the tags [batch], the transitions' parameters)."""
    inputs = convert_to_tensor(inputs)
    tags = inputs.shape.dims[2].value
    if transition_params is None:
        transition_params = vs.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def viterbi_decode(score, transition_params):
    """(best tags, their score) of one sequence, of arrays."""
    score, transition_params = np.asarray(score), np.asarray(transition_params)
    trellis, back = np.zeros_like(score), np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        v = np.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t], back[t] = score[t] + np.max(v, 0), np.argmax(v, 0)
    found = [int(np.argmax(trellis[-1]))]
    for pointer in reversed(back[1:]):
        found.append(int(pointer[found[-1]]))
    return found[::-1], np.max(trellis[-1])


def crf_decode(potentials, transition_params, sequence_length):
    """(best tags [batch, steps], their scores [batch])."""
    potentials = convert_to_tensor(potentials)
    steps, batch = shape_of(potentials)[1], shape_of(potentials)[0]
    tags = potentials.shape.dims[2].value
    lengths = maximum(cast(sequence_length, dtypes.int32), 1)
    pairs = expand_dims(convert_to_tensor(transition_params), 0)
    major = transpose(potentials, [1, 0, 2])
    same = expand_dims(range_(tags), 0) + zeros_like(cast(potentials[:, 0], dtypes.int32))
    pointers = TensorArray(dtypes.int32, size=steps, element_shape=[None, tags], clear_after_read=False)

    def forward(t, state, pointers):
        v = expand_dims(state, 2) + pairs
        new = gather(major, t) + reduce_max(v, [1])
        go = t < lengths
        # A sequence that has ended points from each tag to itself.
        back = where(go, cast(argmax(v, 1), dtypes.int32), same)
        return t + 1, where(go, new, state), pointers.write(t, back)
    pointers = pointers.write(0, same)
    _, last, pointers = while_loop(lambda t, *_: t < steps, forward, (convert_to_tensor(1), potentials[:, 0], pointers))
    best = cast(argmax(last, 1), dtypes.int32)
    rows = range_(batch)
    found = TensorArray(dtypes.int32, size=steps, element_shape=[None])

    def backward(t, tag, found):
        found = found.write(t, tag)
        from ..array_ops import stack
        return t - 1, gather_nd(pointers.read(t), stack([rows, tag], 1)), found
    _, _, found = while_loop(lambda t, *_: t >= 0, backward, (steps - 1, best, found))
    decoded = transpose(found.stack(), [1, 0])
    decoded = decoded * _mask(lengths, steps, dtypes.int32)
    decoded.set_shape(potentials.shape[:2])
    return decoded, reduce_max(last, 1)
