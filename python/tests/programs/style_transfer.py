"""A picture that is changed until its features resemble those of two others: gradients with respect to an input."""
import numpy as np


def main(tf):
    random = np.random.RandomState(9)
    content, style = random.uniform(size=(1, 12, 12, 3)).astype(np.float32), random.uniform(size=(1, 12, 12, 3)).astype(np.float32)
    kernels = [(random.standard_normal(s) * 0.3).astype(np.float32) for s in ((3, 3, 3, 6), (3, 3, 6, 8))]

    def features(tf, x):
        found = []
        for kernel in kernels:
            x = tf.nn.relu(tf.nn.conv2d(x, tf.constant(kernel), [1, 1, 1, 1], "SAME"))
            found.append(x)
            x = tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        return found

    def gram(tf, x):
        flat = tf.reshape(x, [-1, int(x.shape[3])])
        return tf.matmul(flat, flat, transpose_a=True) / tf.cast(tf.size(x), tf.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        picture = tf.Variable(content * 0.5 + 0.25)
        ours, aims, manner = features(tf, picture), features(tf, tf.constant(content)), features(tf, tf.constant(style))
        loss = tf.nn.l2_loss(ours[1] - aims[1]) * 0.01
        loss += tf.add_n([tf.nn.l2_loss(gram(tf, a) - gram(tf, b)) for a, b in zip(ours, manner)])
        loss += 1e-3 * tf.reduce_sum(tf.image.total_variation(picture))
        step = tf.train.AdamOptimizer(0.02).minimize(loss, var_list=[picture])
        with tf.control_dependencies([step]):
            clipped = tf.assign(picture, tf.clip_by_value(picture, 0.0, 1.0))
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, clipped.op])[0] for _ in range(12)]
        return {"losses": losses, "picture": session.run(picture)}
