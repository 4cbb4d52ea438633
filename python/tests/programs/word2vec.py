"""Vectors of words by noise contrastive estimation and by a sampled softmax, with samples that are given."""
import numpy as np


def main(tf):
    random = np.random.RandomState(6)
    words, size = 30, 5
    centre, context = random.randint(words, size=24), random.randint(words, size=(24, 1))
    with tf.Graph().as_default(), tf.Session() as session:
        value = lambda *s: (random.standard_normal(s) * 0.3).astype(np.float32)
        table, w = tf.get_variable("table", initializer=value(words, size)), tf.get_variable("w", initializer=value(words, size))
        b = tf.get_variable("b", [words], initializer=tf.zeros_initializer())
        vectors = tf.nn.embedding_lookup(table, centre)
        samples = (tf.constant([1, 4, 9, 16], tf.int64), tf.constant(np.full((24, 1), 0.2), tf.float32),
                   tf.constant([0.3, 0.2, 0.1, 0.1]))
        labels = tf.constant(context, tf.int64)
        result = {}
        for name, loss in (("nce", tf.nn.nce_loss), ("sampled", tf.nn.sampled_softmax_loss)):
            cost = tf.reduce_mean(loss(w, b, labels, vectors, 4, words, sampled_values=samples))
            grads = tf.gradients(cost, [table, w])
            step = tf.train.AdagradOptimizer(0.5).minimize(cost)
            session.run(tf.global_variables_initializer())
            sparse = session.run([tf.convert_to_tensor(g) for g in grads])
            result[name] = sparse, [session.run([cost, step])[0] for _ in range(10)]
        near = tf.matmul(*[tf.nn.l2_normalize(table, 1)] * 2, transpose_b=True)
        result["near"] = session.run(tf.nn.top_k(near, 4).values)
        return result
