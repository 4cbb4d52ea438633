"""A conditional random field: its likelihood by the forward recursion, trained; the best tags by Viterbi's."""
import numpy as np


def main(tf):
    random = np.random.RandomState(5)
    features = random.standard_normal((6, 7, 4)).astype(np.float32)
    tags = random.randint(3, size=(6, 7))
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=(random.standard_normal((4, 3)) * 0.1).astype(np.float32))
        pairs = tf.get_variable("pairs", [3, 3], initializer=tf.zeros_initializer())
        unary = tf.tensordot(tf.constant(features), w, 1)
        at = tf.one_hot(tags, 3)
        score = tf.reduce_sum(unary * at, [1, 2]) + tf.reduce_sum(tf.einsum("bti,ij->btj", at[:, :-1], pairs) * at[:, 1:], [1, 2])
        major = tf.transpose(unary, [1, 0, 2])
        alphas = tf.foldl(lambda a, x: x + tf.reduce_logsumexp(tf.expand_dims(a, 2) + pairs, 1), major[1:], major[0])
        loss = tf.reduce_mean(tf.reduce_logsumexp(alphas, 1) - score)
        step = tf.train.MomentumOptimizer(0.2, 0.5).minimize(loss)
        best = tf.scan(lambda a, x: x + tf.reduce_max(tf.expand_dims(a, 2) + pairs, 1), major[1:], major[0])
        previous = tf.concat([major[:1], best[:-1]], 0)
        pointers = tf.argmax(tf.expand_dims(previous, 3) + pairs, 2, output_type=tf.int32)
        last = tf.argmax(best[-1], 1, output_type=tf.int32)
        path = tf.scan(lambda tag, p: tf.gather_nd(p, tf.stack([tf.range(6), tag], 1)), pointers, last, reverse=True)
        path = tf.transpose(tf.concat([path, [last]], 0))
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(20)]
        return {"losses": losses, "path": session.run(path), "pairs": session.run(pairs)}
