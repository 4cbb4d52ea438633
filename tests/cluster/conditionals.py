# conditionals — cond, case, switch_case, and what is dead is refused
from client import TARGET, show, tf

p = tf.placeholder(tf.bool, [])
x = tf.placeholder(tf.float32, [])
v = tf.Variable(0.0)
chosen = tf.cond(p, lambda: tf.assign_add(v, x), lambda: tf.assign_sub(v, x))
which = tf.case([(x > 3, lambda: tf.constant(3)), (x > 2, lambda: tf.constant(2))], default=lambda: tf.constant(0))
table = tf.switch_case(tf.to_int32(x), [lambda: tf.constant("zero"), lambda: tf.constant("one")],
                       default=lambda: tf.constant("many"))
no, yes = tf.raw_ops.Switch(data=x, pred=p)
with tf.Session(TARGET) as session:
    session.run(v.initializer)
    for pred, value in ((True, 5.0), (False, 2.0), (True, 1.0)):
        show("chosen", session.run(chosen, {p: pred, x: value}))
        show("which", session.run(which, {x: value}))
        show("table", session.run(table, {x: value}))
    show("v", session.run(v))
    show("alive", session.run(yes, {p: True, x: 1}))
    try:
        print(session.run(no, {p: True, x: 1}))
    except (tf.errors.InternalError, tf.errors.InvalidArgumentError):  # a server of TensorFlow's, its session in one process
        print("dead")
