"""Learning to learn: a step of gradient descent inside of the graph, and gradients through it; Hessians; Jacobians."""
import numpy as np


def main(tf):
    random = np.random.RandomState(11)
    with tf.Graph().as_default(), tf.Session() as session:
        w = {"a": tf.Variable((random.standard_normal((1, 8)) * 0.5).astype(np.float32)),
             "b": tf.Variable((random.standard_normal((8, 1)) * 0.5).astype(np.float32))}
        net = lambda x, w: tf.matmul(tf.tanh(tf.matmul(x, w["a"])), w["b"])
        losses = []
        for task in range(3):
            x = tf.constant(random.uniform(-2, 2, (6, 1)).astype(np.float32))
            y = tf.sin(x * (1.0 + task))
            loss = tf.reduce_mean(tf.square(net(x, w) - y))
            grads = dict(zip(w, tf.gradients(loss, list(w.values()))))
            fast = {k: w[k] - 0.1 * grads[k] for k in w}
            losses.append(tf.reduce_mean(tf.square(net(x + 0.3, fast) - tf.sin((x + 0.3) * (1.0 + task)))))
        meta = tf.add_n(losses) / 3
        step = tf.train.GradientDescentOptimizer(0.1).minimize(meta)
        v = tf.constant([1.0, 2.0, -1.0])
        f = tf.reduce_sum(v ** 3 * tf.constant([1.0, 2.0, 3.0])) + v[0] * v[1] * v[2]
        hessian = tf.hessians(f, v)[0]
        g = tf.gradients(f, v)[0]
        product = tf.gradients(tf.reduce_sum(g * tf.constant([1.0, 0.5, 2.0])), v)[0]
        session.run(tf.global_variables_initializer())
        return {"losses": [session.run([meta, step])[0] for _ in range(12)], "hessian": session.run(hessian),
                "product": session.run(product)}
