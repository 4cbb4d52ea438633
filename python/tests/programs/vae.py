"""A variational autoencoder: what is drawn is fed, so that two runs draw the same."""
import numpy as np


def main(tf):
    random = np.random.RandomState(1)
    data = random.uniform(size=(40, 12)).astype(np.float32)
    init = lambda *s: (random.standard_normal(s) * 0.2).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 12], name="x")
        noise = tf.placeholder(tf.float32, [None, 3], name="noise")
        hidden = tf.nn.elu(tf.matmul(x, tf.Variable(init(12, 10))) + tf.Variable(np.zeros(10, np.float32)))
        mean, log_var = tf.split(tf.matmul(hidden, tf.Variable(init(10, 6))), 2, axis=1)
        z = mean + tf.exp(0.5 * log_var) * noise
        out = tf.matmul(tf.nn.softplus(tf.matmul(z, tf.Variable(init(3, 10)))), tf.Variable(init(10, 12)))
        reconstruction = -tf.reduce_sum(tf.square(out - x), 1)
        kl = 0.5 * tf.reduce_sum(tf.exp(log_var) + tf.square(mean) - 1.0 - log_var, 1)
        loss = tf.reduce_mean(kl - reconstruction)
        optimizer = tf.train.AdamOptimizer(0.01)
        grads = optimizer.compute_gradients(loss)
        clipped, norm = tf.clip_by_global_norm([g for g, _ in grads], 5.0)
        step = optimizer.apply_gradients(zip(clipped, [v for _, v in grads]))
        session.run(tf.global_variables_initializer())
        found = []
        for i in range(30):
            feed = {x: data, noise: np.random.RandomState(i).standard_normal((40, 3)).astype(np.float32)}
            found.append(session.run([loss, norm, step], feed)[:2])
        return {"losses": [f[0] for f in found], "norms": [f[1] for f in found], "kl": session.run(kl, {x: data})}
