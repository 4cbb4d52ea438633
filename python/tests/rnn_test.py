"""Recurrent networks: against NumPy, in a loop against step by step."""
import numpy as np
import pytest

import millrace.compat.v1 as tf

CELLS = {"lstm": lambda: tf.nn.rnn_cell.BasicLSTMCell(6), "gru": lambda: tf.nn.rnn_cell.GRUCell(6),
         "rnn": lambda: tf.nn.rnn_cell.BasicRNNCell(6),
         "peep": lambda: tf.nn.rnn_cell.LSTMCell(6, use_peepholes=True, num_proj=3, cell_clip=1.0),
         "flat": lambda: tf.nn.rnn_cell.BasicLSTMCell(6, state_is_tuple=False),
         "deep": lambda: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(6), tf.nn.rnn_cell.BasicLSTMCell(5)])}
INPUTS = np.random.RandomState(3).randn(3, 5, 4).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_lstm_is_its_formula():
    with tf.Graph().as_default(), tf.Session() as s:
        out, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(2), tf.constant(INPUTS), dtype=tf.float32)
        s.run(tf.global_variables_initializer())
        assert [v.name for v in tf.trainable_variables()] == ["rnn/basic_lstm_cell/kernel:0", "rnn/basic_lstm_cell/bias:0"]
        kernel, got, last = s.run([tf.trainable_variables()[0], out, state])
    c = h = np.zeros((3, 2), np.float32)
    for t in range(5):
        i, j, f, o = np.split(np.concatenate([INPUTS[:, t], h], 1) @ kernel, 4, 1)
        c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * sigmoid(o)
        np.testing.assert_allclose(got[:, t], h, atol=1e-5)
    np.testing.assert_allclose(last.c, c, atol=1e-5)
    assert type(last).__name__ == "LSTMStateTuple"


@pytest.mark.parametrize("name", sorted(CELLS))
def test_loop_and_steps_agree(name):
    lengths = np.array([5, 2, 3])
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [None, 5, 4])
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE, initializer=tf.constant_initializer(0.05)):
            out, state = tf.nn.dynamic_rnn(CELLS[name](), x, sequence_length=lengths, dtype=tf.float32)
            steps, last = tf.nn.static_rnn(CELLS[name](), tf.unstack(x, axis=1), dtype=tf.float32,
                                           sequence_length=lengths)
        both, _ = tf.nn.bidirectional_dynamic_rnn(CELLS[name](), CELLS[name](), x, lengths, dtype=tf.float32)
        one, two = tf.reduce_sum(out ** 2), tf.reduce_sum(tf.stack(steps) ** 2)
        variables = tf.trainable_variables("net")
        s.run(tf.global_variables_initializer())
        feeds = {x: INPUTS}
        a, b, g, h, p, q = s.run([out, steps, tf.gradients(one, variables + [x]), tf.gradients(two, variables + [x]),
                                  tf.contrib.framework.nest.flatten(state), tf.contrib.framework.nest.flatten(last)], feeds)
        s.run(both, feeds)
    np.testing.assert_allclose(a, np.stack(b, 1), atol=1e-6)
    assert (a[1, 2:] == 0).all()
    for u, v in zip(g + p, h + q):
        np.testing.assert_allclose(u, v, atol=2e-5)
