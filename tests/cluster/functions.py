# functions — Defun, tf.function's graphs, functional cond and while, gradients inside
import tensorflow as tf2
from tensorflow.python.framework import function

from client import TARGET, show, tf


@function.Defun(tf.float32, tf.float32)
def product(a, b):
    return a * b + tf.sin(a), a - b


@tf2.function
def called(a):
    total = tf.zeros([])
    for i in tf.range(5):
        if i % 2 == 0:
            total += a * tf.cast(i, tf.float32)
        else:
            total -= 1.0
    return total


@tf2.function
def slope(a):
    return tf.gradients(a * a + tf.sin(a), a)[0]


@tf2.function
def recursive(a):
    return called(called(a))


x = tf.placeholder(tf.float32, [])
first, second = product(x, 3.0)
control, theirs = called(x), recursive(x)
simple = slope(x)

with tf.Session(TARGET) as session:
    for value in (0.5, 2.0):
        for edge in (first, second, simple, control, theirs):
            show("x=%g" % value, session.run(edge, {x: value}))
