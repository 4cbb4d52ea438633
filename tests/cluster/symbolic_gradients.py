# symbolic_gradients — gradients of Defuns: by SymbolicGradient, by a function of their own; calls on a named device
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from client import TARGET, refused, show, tf


@function.Defun(tf.float32, tf.float32)
def two(x, y):
    return x * y + tf.sin(x), tf.reduce_sum(y * y)


@function.Defun(tf.float32, tf.float32)
def tenfold(x, dy):
    return 10.0 * dy


@function.Defun(tf.float32, grad_func=tenfold)
def next_one(x):
    return x + 1.0


@function.Defun(tf.float32, tf.int32)
def powers(x, n):
    return tf.reduce_sum(x ** tf.cast(n, tf.float32))


a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
feeds = {a: [1.0, 2.0], b: [3.0, 4.0]}
results = two(a, b)
slopes = tf.gradients(results, [a, b])
one = tf.gradients(results[0], [a, b])
own = tf.gradients(next_one(a) * 2.0, a)
power = tf.gradients(powers(a, 3), a)
called = functional_ops.remote_call(args=[a, b], Tout=[tf.float32, tf.float32], f=two, target="/job:localhost/replica:0/task:0/device:CPU:0")
nowhere = functional_ops.remote_call(args=[a, b], Tout=[tf.float32, tf.float32], f=two, target="nowhere")

with tf.Session(TARGET) as session:
    for name, edges in (("both", slopes), ("one", one), ("own", own), ("power", power), ("called", called)):
        for value in session.run(edges, feeds):
            show(name, value)
    later = tf.gradients(two(a, a), a)
    show("later", session.run(later, feeds)[0])
    refused(lambda: session.run(nowhere, feeds))
