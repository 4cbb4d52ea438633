"""Causal convolutions with growing holes over a wave that was quantized, gated, with skips."""
import numpy as np


def main(tf):
    wave = np.sin(np.arange(48) * 0.4).astype(np.float32)
    steps = ((wave + 1) / 2 * 15).round().astype(np.int32)
    random = np.random.RandomState(13)
    value = lambda *s: (random.standard_normal(s) * 0.25).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.one_hot(steps[None, :-1], 16)
        x = tf.nn.conv1d(x, tf.Variable(value(1, 16, 6)), 1, "VALID")
        skips = []
        for dilation in (1, 2, 4):
            padded = tf.pad(x, [[0, 0], [dilation, 0], [0, 0]])
            filters = tf.Variable(value(2, 6, 12))
            both = tf.nn.convolution(padded, filters, "VALID", dilation_rate=[dilation])
            a, b = tf.split(both, 2, 2)
            gated = tf.tanh(a) * tf.sigmoid(b)
            skips.append(tf.nn.conv1d(gated, tf.Variable(value(1, 6, 6)), 1, "SAME"))
            x = x + gated
        out = tf.nn.conv1d(tf.nn.relu(tf.add_n(skips)), tf.Variable(value(1, 6, 16)), 1, "SAME")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=steps[None, 1:], logits=out))
        step = tf.train.MomentumOptimizer(0.3, 0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(15)]
        return {"losses": losses, "next": session.run(tf.nn.softmax(out[0, -1]))}
