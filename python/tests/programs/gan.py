"""A generative adversarial network on numbers: two losses, two optimizers, each with its own variables."""
import numpy as np


def main(tf):
    def net(x, name, sizes, reuse=False):
        with tf.variable_scope(name, reuse=reuse):
            for i, size in enumerate(sizes):
                n = x.shape[1].value if hasattr(x.shape[1], "value") else int(x.shape[1])
                values = np.random.RandomState(i).standard_normal((n, size)).astype(np.float32) * 0.5
                w = tf.get_variable("w%d" % i, [n, size], initializer=tf.constant_initializer(values))
                b = tf.get_variable("b%d" % i, [size], initializer=tf.zeros_initializer())
                x = tf.matmul(x, w) + b
                x = tf.nn.leaky_relu(x) if i + 1 < len(sizes) else x
            return x
    with tf.Graph().as_default(), tf.Session() as session:
        real, z = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 3])
        fake = net(z, "generator", [8, 2])
        on_real, on_fake = net(real, "critic", [8, 1]), net(fake, "critic", [8, 1], reuse=True)
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        critic_loss = tf.reduce_mean(entropy(labels=tf.ones_like(on_real), logits=on_real) +
                                     entropy(labels=tf.zeros_like(on_fake), logits=on_fake))
        generator_loss = tf.reduce_mean(entropy(labels=tf.ones_like(on_fake), logits=on_fake))
        own = lambda name: [v for v in tf.trainable_variables() if v.name.startswith(name)]
        steps = [tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(critic_loss, var_list=own("critic")),
                 tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(generator_loss, var_list=own("generator"))]
        session.run(tf.global_variables_initializer())
        found = []
        for i in range(25):
            r = np.random.RandomState(i)
            feed = {real: r.standard_normal((16, 2)) * 0.3 + [1, 2], z: r.standard_normal((16, 3))}
            for step in steps:
                found.append(session.run([critic_loss, generator_loss, step], feed)[:2])
        return {"losses": found, "names": [v.name for v in tf.trainable_variables()]}
