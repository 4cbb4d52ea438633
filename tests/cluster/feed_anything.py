# feed_anything — feeds of constants, of ops inside the graph, of loops' inputs; fetches twice, nested, of what is fed
from client import TARGET, np, show, tf

c = tf.constant([1.0, 2.0])
d = c * 3.0
e = d + 1.0
v = tf.Variable(5.0)
default = tf.placeholder_with_default(np.float32(7), [])
with tf.Session(TARGET) as session:
    session.run(v.initializer)
    show("constant", session.run(e, {c: [10.0, 20.0]}))
    show("inside", session.run(e, {d: [100.0, 200.0]}))
    show("variable", session.run(v * 2.0, {v: 1.5}))
    show("itself", session.run(c, {c: [4.0, 4.0]}))
    print(session.run({"a": [d, e], "b": (d, {"c": d})}, {c: [0.0, 1.0]}))
    print(session.run([default, default], {default: 1}), session.run(default))
    print(session.run([e.op, tf.no_op()]), session.run([]))
    large = np.arange(3000000, dtype=np.float32)
    x = tf.placeholder(tf.float32, [None])
    show("large", session.run(tf.reduce_sum(x) / 1e9, {x: large}))
    print((session.run(tf.identity(x), {x: large}) == large).all())
