"""An encoder of self-attention: heads, masks, normalized layers, a learning rate that rises and falls."""
import numpy as np


def main(tf):
    random = np.random.RandomState(8)
    ids, batch, steps, depth, heads = random.randint(1, 11, size=(3, 6)), 3, 6, 8, 2
    ids[1, 4:] = 0
    with tf.Graph().as_default(), tf.Session() as session:
        def variable(name, *shape):
            return tf.get_variable(name, initializer=(random.standard_normal(shape) * 0.3).astype(np.float32))

        def normal(x, name):
            with tf.variable_scope(name):
                mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
                gain, bias = (tf.get_variable(n, [depth], initializer=i) for n, i in (
                    ("gain", tf.ones_initializer()), ("bias", tf.zeros_initializer())))
                return (x - mean) * tf.rsqrt(variance + 1e-6) * gain + bias

        def attention(x, mask):
            q, k, v = [tf.transpose(tf.reshape(p, [batch, steps, heads, -1]), [0, 2, 1, 3]) for p in
                       tf.split(tf.tensordot(x, variable("qkv", depth, 3 * depth), 1), 3, -1)]
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.0 + mask)
            joined = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [batch, steps, depth])
            return tf.tensordot(joined, variable("out", depth, depth), 1), weights
        tokens = tf.constant(ids)
        mask = -1e9 * tf.cast(tf.equal(tokens, 0), tf.float32)[:, None, None, :]
        angle = np.arange(steps)[:, None] / 10.0 ** np.arange(depth // 2)
        table = variable("table", 11, depth)
        x = tf.gather(table, tokens) + np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)
        for layer in range(2):
            with tf.variable_scope("layer%d" % layer):
                found, weights = attention(x, mask)
                x = normal(x + found, "first")
                hidden = tf.nn.relu(tf.tensordot(x, variable("up", depth, 16), 1))
                x = normal(x + tf.tensordot(hidden, variable("down", 16, depth), 1), "second")
        logits = tf.tensordot(x, table, [[2], [1]])
        loss = tf.losses.sparse_softmax_cross_entropy(tokens, logits, weights=tf.cast(tokens > 0, tf.float32))
        step = tf.train.get_or_create_global_step()
        at = tf.cast(step, tf.float32) + 1
        rate = 0.02 * tf.minimum(tf.rsqrt(at), at * 5 ** -1.5)
        train = tf.train.AdamOptimizer(rate, beta2=0.98, epsilon=1e-9).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        found = [session.run([loss, rate, train])[:2] for _ in range(15)]
        return {"found": found, "weights": session.run(weights), "step": session.run(step)}
