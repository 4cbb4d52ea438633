"""A convolutional network with batch normalisation: a few steps, its names, its moving averages."""
import numpy as np


def conv(tf, x, name, filters):
    with tf.variable_scope(name):
        k = tf.get_variable("kernel", [3, 3, x.shape[3], filters], initializer=tf.constant_initializer(0.01),
                            regularizer=lambda w: 1e-3 * tf.nn.l2_loss(w))
        b = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k, strides=[1, 1, 1, 1], padding="SAME"), b))


def main(tf):
    random = np.random.RandomState(2)
    images = random.rand(4, 8, 8, 3).astype(np.float32)
    labels = np.array([0, 1, 2, 1])
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    y = tf.placeholder(tf.int64, [None])
    with tf.variable_scope("net"):
        h = conv(tf, x, "first", 4)
        mean, variance = tf.nn.moments(h, [0, 1, 2])
        h = tf.nn.batch_normalization(h, mean, variance, None, tf.get_variable("scale", [4], initializer=tf.ones_initializer()), 1e-3)
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        h = conv(tf, h, "second", 6)
        h = tf.reshape(h, [-1, 4 * 4 * 6])
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, 96 * 3).reshape(96, 3).astype(np.float32))
        logits = tf.matmul(h, w)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    total = tf.losses.get_total_loss()
    averages = tf.train.ExponentialMovingAverage(0.9)
    update = averages.apply([w])
    with tf.control_dependencies([update]):
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(total)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        feeds = {x: images, y: labels}
        return {"shape": [str(logits.shape), str(h.shape)], "losses": [s.run([loss, total, train], feeds)[:2] for _ in range(5)],
                "logits": s.run(logits, feeds), "names": sorted(v.name for v in tf.global_variables()),
                "average": s.run(averages.average(w)), "restored": sorted(averages.variables_to_restore()),
                "regular": [t.op.type for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]}
