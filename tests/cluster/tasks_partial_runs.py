# tasks_partial_runs — partial runs over several tasks, in any order, and their errors
from client import TARGETS, refused, show, tf

a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
with tf.device("/job:ps/task:0"):
    ab = tf.add(a, b, name="ab")
with tf.device("/job:worker/task:1"):
    double = ab * 2.0
with tf.device("/job:ps/task:1"):
    abc = tf.multiply(double, c, name="abc")
    v = tf.Variable(1.0, use_resource=True)
    with tf.control_dependencies([abc]):
        grown = v.assign_add(1.0)
with tf.Session(TARGETS[0]) as session:
    session.run(v.initializer)
    handle = session.partial_run_setup([ab, abc], [a, b, c])
    show("first", session.partial_run(handle, ab, {a: 1, b: 2}))
    show("second", session.partial_run(handle, abc, {c: 17 * 3.0}))
    one, two = (session.partial_run_setup([ab, double, abc], [a, b, c]) for _ in range(2))
    show("one", session.partial_run(one, ab, {a: 1, b: 2}))
    show("two", session.partial_run(two, [double, ab], {a: 10, b: 20}))
    show("two", session.partial_run(two, abc, {c: 2}))
    show("one", session.partial_run(one, double))
    show("one", session.partial_run(one, abc, {c: 3}))
    handle = session.partial_run_setup([abc, grown], [a, b, c])
    show("many", session.partial_run(handle, abc, {a: 1, b: 2, c: 4}))
    show("grown", session.partial_run(handle, grown))
    show("v", session.run(v))
    refused(lambda: session.partial_run("unknown", ab, {a: 1, b: 2}))
    left = session.partial_run_setup([ab, abc], [a, b, c])
    show("left", session.partial_run(left, ab, {a: 1, b: 3}))
show("closed", 1)
