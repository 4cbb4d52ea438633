# tasks_loops_wide — loops whose bodies are on two, three and four tasks: conditionals, nested loops, loops not entered, errors inside
from client import TARGETS, np, refused, show, tf

tf.disable_control_flow_v2()
W0, W1, P0, P1 = "/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0", "/job:ps/task:1"
n = tf.placeholder(tf.int32, [], name="n")
x = tf.placeholder(tf.float32, [3], name="x")


def on(device, make):
    with tf.device(device):
        return make()


def two(i, v):
    return i + 1, on(P0, lambda: v * 0.5 + tf.cast(i, tf.float32))


def four(i, v, w):
    a = on(P0, lambda: v * 0.5 + tf.cast(i, tf.float32))
    b = on(W1, lambda: tf.tanh(a) + w)
    c = on(P1, lambda: tf.reduce_mean(b) * tf.ones_like(w) * 0.5)
    return i + 1, b, c


def branches(i, v):
    odd = on(P0, lambda: tf.equal(i % 2, 1))
    return i + 1, tf.cond(odd, lambda: on(P1, lambda: v + 1.0), lambda: on(W1, lambda: v * 2.0))


def nested(i, v):
    inner = on(P1, lambda: tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, on(P0, lambda: u + 1.0)), [0, v])[1])
    return i + 1, on(W1, lambda: inner * 1.5)


def turns(limit):
    return lambda i, *rest: i < limit


with tf.device(W0):
    start = tf.constant(0)
    cases = {
        "two": tf.while_loop(turns(n), two, [start, x])[1],
        "four": tf.while_loop(turns(n), four, [start, x, x * 2.0])[1:],
        "one at a time": tf.while_loop(turns(n), four, [start, x, x * 2.0], parallel_iterations=1)[1:],
        "branches": tf.while_loop(turns(n), branches, [start, x])[1],
        "nested": tf.while_loop(turns(n), nested, [start, x])[1],
        "not taken": tf.cond(n > 2, lambda: tf.while_loop(turns(n), two, [start, x])[1], lambda: x),
        "condition elsewhere": tf.while_loop(lambda i, v: on(P1, lambda: tf.reduce_sum(v) < 100.0),
                                             lambda i, v: (i + 1, on(P0, lambda: v * 2.0 + 1.0)), [start, x]),
    }
with tf.device(P1):
    cases["elsewhere"] = tf.while_loop(turns(n), two, [tf.identity(start), x])[1]
    cases["after"] = cases["two"] + cases["elsewhere"]
    _, array = tf.while_loop(turns(n), lambda i, ta: (i + 1, ta.write(i, on(W1, lambda: tf.cast(i, tf.float32) * x))),
                             [0, tf.TensorArray(tf.float32, size=n)])
    cases["array"] = array.stack()
with tf.device(W1):
    cases["map"] = tf.map_fn(lambda e: on(P0, lambda: e * e + 1.0), x)
    cases["scan"] = tf.scan(lambda a, e: on(P1, lambda: a + e), x)
    bad = tf.while_loop(turns(n), lambda i, v: (i + 1, on(P0, lambda: tf.check_numerics(
        1.0 / (3.0 - tf.cast(i, tf.float32)) + v * 0.0, "third", name="checked"))), [0, x])[1]
    forever = tf.while_loop(lambda i, v: i >= 0, lambda i, v: (i + 0, on(P0, lambda: v + 0.0)), [0, x])[1]
with tf.Session(TARGETS[0]) as session:
    for turn in (0, 1, 3, 7):
        for name in sorted(cases):
            show("%s %d" % (name, turn), np.concatenate([np.ravel(v) for v in session.run(
                tf.nest.flatten(cases[name]), {n: turn, x: [1, 2, 3]})] + [[0.0]]))
    show("many", session.run(cases["two"], {n: 300, x: [1, 2, 3]}))
    show("good", session.run(bad, {n: 3, x: [0, 0, 0]}))
    refused(lambda: session.run(bad, {n: 5, x: [0, 0, 0]}), "third", "Inf")
    refused(lambda: session.run(forever, {x: [0, 0, 0]}, tf.RunOptions(timeout_in_ms=700)))
    show("again", session.run(cases["branches"], {n: 2, x: [1, 2, 3]}))
