"""Linear regression by three optimizers, from fixed beginnings."""
import numpy as np


def main(tf):
    random = np.random.RandomState(1)
    xs = random.randn(50, 3).astype(np.float32)
    ys = xs @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 3
    results = {}
    for make in (lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.1),
                 lambda: tf.train.MomentumOptimizer(0.02, 0.9), lambda: tf.train.RMSPropOptimizer(0.02)):
        with tf.Graph().as_default(), tf.Session() as s:
            x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
            b = tf.Variable(0.0, name="b")
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
            step = tf.train.get_or_create_global_step()
            optimizer = make()
            train = optimizer.minimize(loss, global_step=step)
            s.run(tf.global_variables_initializer())
            losses = [s.run([loss, train], {x: xs, y: ys})[0] for _ in range(20)]
            results[optimizer.get_name()] = losses
            results[optimizer.get_name() + " names"] = sorted(v.name for v in tf.global_variables())
            results[optimizer.get_name() + " w"] = s.run(w)
            results[optimizer.get_name() + " op"] = train.name
    return results
