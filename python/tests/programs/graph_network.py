"""A graph convolutional network: sparse matrices against dense ones, labels of a few nodes, dropout of none."""
import numpy as np


def main(tf):
    random, n = np.random.RandomState(12), 14
    edges = sorted({(int(a), int(b)) for a, b in random.randint(n, size=(30, 2)) if a != b})
    both = sorted(set(edges) | {(b, a) for a, b in edges} | {(i, i) for i in range(n)})
    degree = np.bincount([a for a, _ in both], minlength=n)
    values = np.array([1 / np.sqrt(degree[a] * degree[b]) for a, b in both], np.float32)
    features, labels = random.standard_normal((n, 5)).astype(np.float32), random.randint(3, size=n)
    with tf.Graph().as_default(), tf.Session() as session:
        support = tf.sparse_placeholder(tf.float32, [n, n])
        mask = tf.placeholder(tf.float32, [n])
        x = tf.constant(features)
        for i, size in enumerate((6, 3)):
            w = tf.get_variable("w%d" % i, initializer=(random.standard_normal((int(x.shape[1]), size)) * 0.4).astype(np.float32))
            x = tf.sparse_tensor_dense_matmul(support, tf.matmul(x, w))
            x = tf.nn.relu(x) if i == 0 else x
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        loss = tf.reduce_sum(each * mask) / tf.reduce_sum(mask)
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
        feed = {support: tf.SparseTensorValue(np.array(both), values, [n, n]), mask: (np.arange(n) < 6).astype(np.float32)}
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], feed)[0] for _ in range(20)]
        rows = tf.SparseTensor(both, values, [n, n])
        return {"losses": losses, "rows": session.run(tf.sparse_reduce_sum(rows, 1)),
                "softmax": session.run(tf.sparse_softmax(rows)).values,
                "kept": session.run(tf.sparse_retain(rows, values > 0.3)).indices,
                "back": session.run(tf.sparse_tensor_to_dense(tf.sparse_transpose(rows)))}
