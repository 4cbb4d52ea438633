"""A picture's parts: down by strides, up by transposed convolutions and resizing, holes, and the overlap as a metric."""
import numpy as np


def main(tf):
    random = np.random.RandomState(14)
    pictures = random.uniform(size=(2, 16, 16, 3)).astype(np.float32)
    parts = (pictures.sum(3) > 1.5).astype(np.int32)
    value = lambda *s: (random.standard_normal(s) * 0.2).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(pictures)
        down = tf.nn.relu(tf.nn.conv2d(x, tf.Variable(value(3, 3, 3, 6)), [1, 2, 2, 1], "SAME"))
        holes = tf.nn.relu(tf.nn.atrous_conv2d(down, tf.Variable(value(3, 3, 6, 6)), 2, "SAME"))
        pooled = tf.nn.depthwise_conv2d(holes, tf.Variable(value(3, 3, 6, 1)), [1, 1, 1, 1], "SAME")
        up = tf.nn.conv2d_transpose(pooled + down, tf.Variable(value(4, 4, 5, 6)), [2, 16, 16, 5], [1, 2, 2, 1])
        wide = tf.image.resize_bilinear(holes, [16, 16], align_corners=True)
        logits = tf.nn.conv2d(tf.concat([up, wide, x], 3), tf.Variable(value(1, 1, 14, 2)), [1, 1, 1, 1], "VALID")
        loss = tf.losses.sparse_softmax_cross_entropy(parts, logits)
        step = tf.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
        overlap, update = tf.metrics.mean_iou(tf.constant(parts), tf.argmax(logits, 3), 2)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        losses = [session.run([loss, step])[0] for _ in range(12)]
        session.run(update)
        return {"losses": losses, "overlap": session.run(overlap), "logits": session.run(logits)}
