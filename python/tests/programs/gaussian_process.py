"""Regression by a Gaussian process: its likelihood through a Cholesky factor, its parameters learnt, its predictions."""
import numpy as np


def main(tf):
    x = np.linspace(0, 5, 12)[:, None]
    y = np.sin(x) + 0.1 * np.cos(7 * x)
    with tf.Graph().as_default(), tf.Session() as session:
        scale, length, noise = [tf.Variable(np.float64(v)) for v in (0.0, 0.0, -2.0)]

        def kernel(a, b):
            distance = tf.reduce_sum(tf.square(a[:, None] - b[None]), 2)
            return tf.exp(scale) * tf.exp(-0.5 * distance * tf.exp(-2 * length))
        data, target = tf.constant(x), tf.constant(y)
        gram = kernel(data, data) + tf.exp(noise) * tf.eye(12, dtype=tf.float64)
        factor = tf.cholesky(gram)
        weights = tf.cholesky_solve(factor, target)
        likelihood = (-0.5 * tf.reduce_sum(target * weights) - tf.reduce_sum(tf.log(tf.diag_part(factor))) -
                      6.0 * np.log(2 * np.pi))
        step = tf.train.AdamOptimizer(0.1).minimize(-likelihood)
        at = tf.constant(np.linspace(0, 6, 7)[:, None])
        cross = kernel(at, data)
        mean = tf.matmul(cross, weights)
        half = tf.matrix_triangular_solve(factor, tf.transpose(cross))
        variance = tf.exp(scale) - tf.reduce_sum(tf.square(half), 0)
        session.run(tf.global_variables_initializer())
        found = [session.run([likelihood, step])[0] for _ in range(30)]
        values, vectors = tf.self_adjoint_eig(gram)
        return {"likelihood": found, "parameters": session.run([scale, length, noise]), "mean": session.run(mean),
                "variance": session.run(variance), "eigen": session.run(values),
                "again": session.run(tf.matmul(vectors * values, vectors, transpose_b=True))}
