"""Points and their centres by Lloyd's iteration in a loop of the graph; factors of a matrix of ratings."""
import numpy as np


def main(tf):
    random = np.random.RandomState(16)
    points = np.concatenate([random.standard_normal((15, 2)) * 0.3 + m for m in ([0, 0], [3, 1], [1, 4])]).astype(np.float32)
    users, items = random.randint(6, size=25), random.randint(8, size=25)
    ratings = random.uniform(1, 5, 25).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(points)

        def nearest(centres):
            return tf.argmin(tf.reduce_sum(tf.square(x[:, None] - centres[None]), 2), 1)

        def body(i, centres):
            which = nearest(centres)
            total = tf.unsorted_segment_sum(x, which, 3)
            count = tf.unsorted_segment_sum(tf.ones([45]), which, 3)
            return i + 1, tf.where(count > 0, total / tf.maximum(count, 1.0)[:, None], centres)
        centres = tf.while_loop(lambda i, _: i < 6, body, [0, tf.constant(points[::18])])[1]
        u = tf.get_variable("u", initializer=(random.standard_normal((6, 3)) * 0.3).astype(np.float32))
        v = tf.get_variable("v", initializer=(random.standard_normal((8, 3)) * 0.3).astype(np.float32))
        guess = tf.reduce_sum(tf.gather(u, users) * tf.nn.embedding_lookup(v, items), 1) + tf.reduce_mean(ratings)
        loss = tf.reduce_mean(tf.squared_difference(guess, ratings)) + 0.01 * (tf.nn.l2_loss(u) + tf.nn.l2_loss(v))
        result = {"centres": session.run(centres), "which": session.run(nearest(centres))}
        for name, optimizer in (("momentum", tf.train.MomentumOptimizer(0.3, 0.9)), ("adagrad", tf.train.AdagradOptimizer(0.3)),
                                ("rmsprop", tf.train.RMSPropOptimizer(0.05)), ("adadelta", tf.train.AdadeltaOptimizer(1.0)),
                                ("ftrl", tf.train.FtrlOptimizer(0.3))):
            step = optimizer.minimize(loss)
            session.run(tf.global_variables_initializer())
            result[name] = [session.run([loss, step])[0] for _ in range(10)], session.run(v)
        return result
