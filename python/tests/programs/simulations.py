"""Worlds that change step by step: waves on a pond, the game of life, a fractal, a pendulum."""
import numpy as np


def main(tf):
    result = {}
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = tf.constant([[0.5, 1.0, 0.5], [1.0, -6.0, 1.0], [0.5, 1.0, 0.5]])[:, :, None, None]
        start = np.zeros((12, 12), np.float32)
        start[3, 4], start[8, 7] = 1.0, -1.0
        height, speed = tf.Variable(start), tf.Variable(np.zeros_like(start))
        force = tf.nn.depthwise_conv2d(height[None, :, :, None], kernel, [1, 1, 1, 1], "SAME")[0, :, :, 0]
        session.run(tf.global_variables_initializer())
        for _ in range(6):
            values = session.run([height, speed, force])
            session.run([height.assign(values[0] + 0.1 * values[1]), speed.assign(0.96 * values[1] + 0.1 * values[2])])
        result["pond"] = session.run([height, speed])
        board = np.random.RandomState(15).randint(2, size=(10, 10)).astype(np.int32)

        def live(b):
            padded = tf.pad(b, [[1, 1], [1, 1]])
            near = tf.add_n([padded[i:i + 10, j:j + 10] for i in range(3) for j in range(3)]) - b
            return tf.cast(tf.logical_or(tf.equal(near, 3), tf.logical_and(tf.equal(near, 2), tf.equal(b, 1))), tf.int32)
        result["life"] = session.run(tf.while_loop(lambda i, b: i < 8, lambda i, b: (i + 1, live(b)), [0, board])[1])
        y, x = np.mgrid[-1.2:1.2:9j, -2:1:9j]
        c = tf.constant((x + 1j * y).astype(np.complex64))
        _, counts = tf.while_loop(lambda i, *_: i < 15, lambda i, z, n: _mandelbrot(tf, i, z, n, c),
                                  [0, tf.zeros_like(c), tf.zeros(c.shape)])[1:]
        result["fractal"] = session.run(counts)
        swing = tf.scan(lambda s, _: s + 0.05 * tf.stack([s[1], -9.8 * tf.sin(s[0])]), tf.zeros([40]), tf.constant([1.0, 0.0]))
        result["pendulum"] = session.run(swing)
    return result


def _mandelbrot(tf, i, z, n, c):
    z = tf.where(tf.abs(z) < 2, z * z + c, z)
    return i + 1, z, n + tf.cast(tf.abs(z) < 2, tf.float32)
