"""seq2seq_test — decoders, attention and beams: figures are TensorFlow 1.15's."""
import numpy as np

import millrace.compat.v1 as tf

seq2seq = tf.contrib.seq2seq


def run(build):
    with tf.Graph().as_default(), tf.Session() as session:
        found = build()
        session.run(tf.global_variables_initializer())
        for i, variable in enumerate(sorted(tf.trainable_variables(), key=lambda v: v.name)):
            value = np.random.RandomState(i).standard_normal(variable.shape.as_list())
            session.run(variable.assign(np.asarray(value, np.float32)))
        return session.run(found)


def test_gather_tree_follows_parents():
    found = run(lambda: seq2seq.gather_tree([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]],
                                            [3], 10))
    assert found.tolist() == [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]]


def test_monotonic_attention():
    p, previous = [[.1, .5, .9], [.3, .3, .2]], [[1., 0, 0], [.2, .5, .3]]
    for mode in ("parallel", "recursive"):
        found = run(lambda: seq2seq.monotonic_attention(tf.constant(p), tf.constant(previous), mode))
        assert np.allclose(found, [[.1, .45, .405], [.06, .192, .1496]], atol=1e-5)


def memory():
    return tf.constant(np.random.RandomState(0).standard_normal((2, 4, 3)).astype(np.float32)), tf.constant([4, 2])


def test_attention_sees_no_further_than_its_memory():
    def build():
        values, lengths = memory()
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(5), seq2seq.BahdanauAttention(4, values, lengths),
                                        attention_layer_size=4, alignment_history=True)
        inputs = tf.constant(np.random.RandomState(1).standard_normal((2, 6, 3)).astype(np.float32))
        decoder = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(inputs, [6, 3]), cell.zero_state(2, tf.float32),
                                       output_layer=tf.layers.Dense(7))
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
        return outputs.rnn_output, lengths, state.alignment_history.stack()
    outputs, lengths, history = run(build)
    assert outputs.shape == (2, 6, 7) and lengths.tolist() == [6, 3] and not outputs[1, 3:].any()
    assert np.allclose(history.sum(2), 1, atol=1e-5) and not history[:, 1, 2:].any()


def test_a_beam_of_one_is_greedy():
    def build():
        table = tf.get_variable("table", [7, 3])
        cell, layer = tf.nn.rnn_cell.GRUCell(5), tf.layers.Dense(7)
        greedy = seq2seq.BasicDecoder(cell, seq2seq.GreedyEmbeddingHelper(table, [1, 3], 2), cell.zero_state(2, tf.float32), layer)
        beam = seq2seq.BeamSearchDecoder(cell, table, [1, 3], 2, cell.zero_state(2, tf.float32), 1, layer)
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE) as scope:
            one = seq2seq.dynamic_decode(greedy, maximum_iterations=9, scope=scope)[0].sample_id
            other = seq2seq.dynamic_decode(beam, maximum_iterations=9, scope=scope)[0].predicted_ids
        return one, other
    one, other = run(build)
    steps = min(one.shape[1], other.shape[1])
    for row in range(2):
        ended = np.cumsum(one[row] == 2)[:steps] > 0
        assert np.array_equal(one[row, :steps][~ended], other[row, :steps, 0][~ended])


def test_sequence_loss_averages_by_weight():
    logits = np.random.RandomState(2).standard_normal((2, 3, 4)).astype(np.float32)
    targets, weights = np.array([[0, 1, 2], [3, 2, 1]]), np.array([[1, 1, 0], [1, 0, 0]], np.float32)
    found = run(lambda: seq2seq.sequence_loss(tf.constant(logits), tf.constant(targets), tf.constant(weights)))
    each = np.log(np.exp(logits).sum(2)) - np.take_along_axis(logits, targets[..., None], 2)[..., 0]
    assert np.isclose(found, (each * weights).sum() / weights.sum(), atol=1e-5)
