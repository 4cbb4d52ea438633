"""Residual blocks with batch norm, trained, then run with its averages: two modes over the same variables."""
import numpy as np


def main(tf):
    random = np.random.RandomState(10)
    pictures, labels = random.uniform(size=(8, 8, 8, 3)).astype(np.float32), random.randint(3, size=8)
    made = {}

    def variable(name, shape, value=None, trainable=True):
        values = (np.random.RandomState(sum(shape)).standard_normal(shape) * 0.3 if value is None else np.full(shape, value))
        return tf.get_variable(name, shape, initializer=tf.constant_initializer(values.astype(np.float32)), trainable=trainable)

    def conv(x, n, name, training, stride=1):
        with tf.variable_scope(name):
            x = tf.nn.conv2d(x, variable("w", (3, 3, int(x.shape[3]), n)), [1, stride, stride, 1], "SAME")
            gamma, beta = variable("gamma", (n,), 1.0), variable("beta", (n,), 0.0)
            mean, variance = variable("mean", (n,), 0.0, False), variable("variance", (n,), 1.0, False)
            if not training:
                return tf.nn.fused_batch_norm(x, gamma, beta, mean, variance, is_training=False)[0]
            x, m, v = tf.nn.fused_batch_norm(x, gamma, beta, is_training=True)
            for old, new in ((mean, m), (variance, v)):
                tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(old, 0.1 * (old - new)))
            return x

    def network(x, training):
        x = tf.nn.relu(conv(x, 6, "stem", training))
        for i, (n, stride) in enumerate(((6, 1), (8, 2))):
            with tf.variable_scope("block%d" % i):
                inner = conv(tf.nn.relu(conv(x, n, "first", training, stride)), n, "second", training)
                if stride > 1:
                    x = tf.pad(tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [[0, 0]] * 3 + [[0, n - int(x.shape[3])]])
                x = tf.nn.relu(x + inner)
        return tf.matmul(tf.reduce_mean(x, [1, 2]), variable("out", (8, 3)))
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("net"):
            logits = network(tf.constant(pictures), True)
        with tf.variable_scope("net", reuse=True):
            scores = tf.nn.softmax(network(tf.constant(pictures), False))
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        decay = 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if v.name.endswith("w:0")])
        step = tf.train.get_or_create_global_step()
        rate = tf.train.piecewise_constant(step, [3, 6], [0.1, 0.05, 0.01])
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True).minimize(loss + decay, global_step=step)
        session.run(tf.global_variables_initializer())
        made["losses"] = [session.run([loss, train])[0] for _ in range(8)]
        made["scores"] = session.run(scores)
    return made
