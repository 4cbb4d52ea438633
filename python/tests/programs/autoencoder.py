"""An autoencoder with tied weights, trained by RMSProp."""
import numpy as np


def main(tf):
    random = np.random.RandomState(0)
    pictures = (random.uniform(size=(64, 16)) > 0.7).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 16])
        with tf.variable_scope("code", initializer=tf.constant_initializer(0.0)):
            w = tf.get_variable("w", initializer=(random.standard_normal((16, 6)) * 0.3).astype(np.float32))
            b, c = tf.get_variable("b", [6]), tf.get_variable("c", [16])
        code = tf.nn.sigmoid(tf.nn.xw_plus_b(x, w, b))
        logits = tf.matmul(code, w, transpose_b=True) + c
        loss = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), 1))
        sparsity = 0.01 * tf.reduce_sum(tf.abs(code))
        step = tf.train.RMSPropOptimizer(0.01, momentum=0.5).minimize(loss + sparsity)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: pictures[i % 4::4]})[0] for i in range(40)]
        return {"losses": losses, "code": session.run(code, {x: pictures[:3]}), "w": session.run(w)}
