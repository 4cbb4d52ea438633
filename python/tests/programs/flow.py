"""Conditionals, loops, their gradients; arrays of tensors; the names of all operations that they make."""
import numpy as np


def main(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(2.0, name="v")
    y = tf.cond(x > 1, lambda: x * v, lambda: x - v, name="choice")
    i, z = tf.while_loop(lambda i, z: i < 4, lambda i, z: (i + 1, z * v + x), [tf.constant(0), x])
    nested = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, tf.while_loop(
        lambda j, b: j < i, lambda j, b: [j + 1, b * x], [0, a])[1]], [0, v])[1]
    grown = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, tf.concat([a, a], 0)], [0, tf.ones([1])],
                          shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]
    mapped = tf.map_fn(lambda e: (e * x, e + 1), tf.constant([1.0, 2.0, 3.0]), dtype=(tf.float32, tf.float32))
    scanned = tf.scan(lambda a, e: a * e, tf.constant([1.0, 2.0, 3.0]), initializer=x)
    folded = tf.foldr(lambda a, e: a - e, tf.constant([1.0, 2.0, 3.0]))
    cases = tf.case([(x < 0, lambda: tf.constant(1)), (x > 5, lambda: tf.constant(2))], default=lambda: tf.constant(3))
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([1.0, 2.0, 3.0])
    fetches = [y, z, nested, grown, mapped, scanned, folded, cases, array.stack(), array.read(1),
               tf.gradients(y, [x, v]), tf.gradients(z, [x, v]), tf.gradients(nested, [x, v]),
               tf.gradients(tf.reduce_sum(scanned), x), tf.gradients(mapped[0], x)]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        return {str(f): s.run(fetches, {x: f}) for f in (-1.0, 3.0, 6.0)}
