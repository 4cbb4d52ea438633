# tasks_errors — what fails on another task is told by its class, its node and its words
from client import TARGETS, np, refused, show, tf

x = tf.placeholder(tf.int32, [None], name="x")
with tf.device("/job:ps/task:0"):
    table = tf.constant([1.0, 2.0, 3.0], name="table")
    picked = tf.gather(table, x, name="picked")
with tf.device("/job:worker/task:1"):
    checked = tf.check_numerics(tf.log(tf.cast(x, tf.float32)), "not finite", name="checked")
    both = tf.add(picked, checked, name="both")
with tf.device("/job:ps/task:1"):
    v = tf.Variable([1.0], name="v")
    last = tf.identity(tf.reduce_sum(both) + v, name="last")
with tf.Session(TARGETS[0]) as session:
    refused(lambda: session.run(last, {x: [1]}), "uninitialized")
    session.run(v.initializer)
    show("good", session.run(last, {x: [1, 2]}))
    refused(lambda: session.run(last, {x: [1, 5]}), "indices[1] = 5", "[0, 3)")
    refused(lambda: session.run(last, {x: [0, 1]}), "not finite", "Tensor had Inf")
    show("good", session.run(last, {x: [1]}))
with tf.Session(TARGETS[0]) as session, tf.device("/job:worker/task:7"):
    nowhere = tf.constant(1.0, name="nowhere")
    try:
        session.run(nowhere)
    except tf.errors.InvalidArgumentError as error:
        print("nowhere" in str(error), "/job:worker/task:7" in str(error))
