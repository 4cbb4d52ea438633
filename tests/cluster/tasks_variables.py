# tasks_variables — variables of both kinds on two parameter tasks, seen by the clients of two workers
from client import TARGETS, np, show, tf

with tf.device("/job:ps/task:0"):
    a = tf.Variable([1.0, 2.0], name="a")
    n = tf.Variable(7, name="n", use_resource=True)
with tf.device("/job:ps/task:1"):
    b = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="b", use_resource=True)
    words = tf.Variable(["one", "two"], name="words")
x = tf.placeholder(tf.float32, [2])
with tf.device("/job:worker/task:0"):
    y = tf.linalg.matvec(b, x) + a
add = [a.assign_add(x), b.assign_sub(tf.stack([x, x])), n.assign_add(1)]
scatter = tf.scatter_add(a, [1], [10.0])
reword = words.assign(["three", "four"])
with tf.Session(TARGETS[0]) as first, tf.Session(TARGETS[1]) as second:
    first.run(tf.global_variables_initializer())
    show("initialized", second.run(tf.report_uninitialized_variables()))
    show("y", second.run(y, {x: [1, 2]}))
    for session in (first, second, first):
        session.run(add, {x: [0.5, -1]})
    show("a", second.run(a))
    show("b", first.run(b))
    show("n", second.run(n))
    show("scatter", second.run(scatter))
    show("again", first.run(a))
    first.run(reword)
    show("words", second.run(words))
    show("all", first.run([a, b, n, words])[3])
