"""Arrays: shaped, sliced, joined, reduced, compared; and what their static shapes are."""
import numpy as np


def main(tf):
    a = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4), name="a")
    p = tf.placeholder(tf.float32, [None, 3])
    i = tf.constant([[0, 2], [1, 0]])
    tensors = {
        "slices": [a[0], a[..., 1], a[:, ::2, None], a[-1, 1:], a[:, tf.constant(1)], p[0, 1:], p[:, None]],
        "joins": [tf.concat([a, a], 1), tf.stack([p, p], 1), tf.unstack(a, axis=1), tf.split(a, 2, 2), tf.split(a, [1, 3], 2)],
        "reductions": [tf.reduce_sum(a, [0, 2]), tf.reduce_mean(p, 0, keepdims=True), tf.reduce_max(a), tf.argmax(p, 1),
                       tf.reduce_logsumexp(a, 1), tf.reduce_prod(tf.constant([1, 2, 3])), tf.reduce_any(a > 3, 1),
                       tf.count_nonzero(a, 0), tf.cumsum(a, 1, exclusive=True, reverse=True), tf.norm(a, axis=1)],
        "moves": [tf.transpose(a), tf.transpose(a, [1, 0, 2]), tf.reverse(a, [1]), tf.tile(p, [1, 2]), tf.pad(p, [[0, 1], [1, 0]]),
                  tf.gather(p, [1, 0]), tf.gather(a, i, axis=2), tf.gather_nd(a, [[0, 1], [1, 2]]), tf.boolean_mask(p, p[:, 0] > 0),
                  tf.where(p > 0), tf.where(p > 0, p, -p), tf.one_hot([0, 2], 3), tf.sequence_mask([1, 3], 4),
                  tf.squeeze(a[:1]), tf.expand_dims(p, 1), tf.meshgrid([1, 2], [3, 4, 5]), tf.range(2, 10, 3),
                  tf.linspace(0.0, 1.0, 5), tf.fill([2, 2], 7), tf.eye(3), tf.diag([1.0, 2.0]), tf.matrix_band_part(a, 0, -1)],
        "products": [tf.matmul(p, p, transpose_b=True), tf.tensordot(a, a, [[1, 2], [1, 2]]), tf.einsum("bij,bkj->bik", a, a),
                     tf.matmul(a, a, transpose_b=True), tf.matrix_inverse([[2.0, 0.0], [1.0, 1.0]])],
        "clips": [tf.clip_by_value(a, 3, 9), tf.clip_by_norm(p, 1.0), tf.clip_by_global_norm([a, p], 2.0), tf.global_norm([a])],
        "numbers": [a // 5, a % 5, a ** 2, 1 / (a + 1), tf.cast(a, tf.int32) / 3, tf.div(7, 2), tf.floordiv(-7, 2), -a, abs(-a),
                    tf.squared_difference(a, 1.0), tf.maximum(a, 3.0), tf.round([0.5, 1.5, 2.5]), tf.sign(-a)],
        "nets": [tf.nn.softmax(p), tf.nn.log_softmax(a, 1), tf.nn.moments(p, [0]), tf.nn.l2_normalize(p, 1), tf.nn.top_k(p, 2),
                 tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones([3]), logits=[-1.0, 0.0, 1.0]),
                 tf.nn.embedding_lookup(p, [1, 1]), tf.nn.leaky_relu([-1.0, 1.0]), tf.nn.in_top_k(p, [0, 1], 1),
                 tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([3, 3, 1, 2]), [1, 1, 1, 1], "SAME"),
                 tf.nn.avg_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
                 tf.nn.batch_normalization(p, tf.constant([0.0, 1.0, 2.0]), tf.constant([1.0, 1.0, 2.0]), None, None, 0.1)],
        "text": [tf.string_join(["a", "b"], "-"), tf.as_string([1, 2]), tf.string_to_number(["1.5"]), tf.substr(["hello"], 1, 2)],
    }
    flat = lambda t: [f for v in t for f in flat(v)] if isinstance(t, (list, tuple)) else [t]
    shapes = {k: [str(t.shape) for t in flat(v)] for k, v in tensors.items()}
    with tf.Session() as s:
        values = s.run(tensors, {p: np.array([[1, -2, 3], [-4, 5, -6]], np.float32)})
    return {"values": values, "shapes": shapes}
