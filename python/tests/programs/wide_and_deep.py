"""A wide and deep model: a linear part over crosses, a deep one over embeddings, an optimizer for each."""
import numpy as np


def main(tf):
    random = np.random.RandomState(7)
    rows = 20
    ids = [sorted(set(random.randint(12, size=random.randint(1, 4)))) for _ in range(rows)]
    indices = np.array([(i, j) for i, r in enumerate(ids) for j in range(len(r))], np.int64)
    values = np.array([v for r in ids for v in r], np.int64)
    dense, labels = random.standard_normal((rows, 3)).astype(np.float32), random.randint(2, size=(rows, 1)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor(indices, values, [rows, 4])
        with tf.variable_scope("wide"):
            linear = tf.get_variable("linear", [12, 1], initializer=tf.zeros_initializer())
            wide = tf.nn.embedding_lookup_sparse(linear, sparse, None, combiner="sum")
        with tf.variable_scope("deep"):
            value = lambda *s: (random.standard_normal(s) * 0.3).astype(np.float32)
            table = tf.get_variable("table", initializer=value(12, 4))
            found = [tf.nn.embedding_lookup_sparse(table, sparse, None, combiner=c) for c in ("mean", "sqrtn")]
            x = tf.concat(found + [tf.constant(dense)], 1)
            for i, n in enumerate((6, 1)):
                w = tf.get_variable("w%d" % i, initializer=value(int(x.shape[1]), n))
                x = tf.matmul(x, w) if n == 1 else tf.nn.relu(tf.matmul(x, w))
        loss = tf.losses.sigmoid_cross_entropy(labels, wide + x)
        variables = lambda scope: tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        step = tf.group(tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.05).minimize(loss, var_list=variables("wide")),
                        tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=variables("deep")))
        accuracy, update = tf.metrics.accuracy(labels, tf.round(tf.sigmoid(wide + x)))
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        losses = [session.run([loss, step])[0] for _ in range(20)]
        session.run(update)
        return {"losses": losses, "linear": session.run(linear), "accuracy": session.run(accuracy)}
