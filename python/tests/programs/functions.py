"""functions — Defun: functions of the graph, with gradients."""

import numpy as np


def main(tf):
    if tf.__name__.startswith("tensorflow"):
        from tensorflow.python.framework import function
    else:
        from millrace import defun as function
    out = {}

    @function.Defun(tf.float32, tf.float32)
    def f(x, y):
        return x * y + 1.0

    @function.Defun()
    def g(x):
        return x + x

    def pg(op, dy):
        return dy * 100.0

    @function.Defun(tf.float32, python_grad_func=pg)
    def h(x):
        return tf.square(x)

    @function.Defun(tf.float32, tf.float32)
    def sg(x, dy):
        return dy * 11.0

    @function.Defun(tf.float32, grad_func=sg, func_name="MySquare")
    def k(x):
        return tf.square(x)

    a, b = (tf.constant(2.0), tf.constant(3.0))
    c = tf.constant(np.arange(100, dtype=np.float32))

    @function.Defun(tf.float32)
    def cap(x):
        return x * tf.reduce_sum(c) * b

    y = f(a, b)
    with tf.Session() as s:
        out["f"] = s.run([y, g(a), h(a), k(a), cap(a)])
        out["g"] = s.run([tf.gradients(y, [a, b]), tf.gradients(h(a), a)[0], tf.gradients(k(a), a)[0]])
        out["gc"] = s.run(tf.gradients(cap(a), a)[0])
        out["shape"] = str(h(tf.zeros([2])).shape)
    out["op"] = [k(a).op.type, k.name]
    return out
