# tasks_loop_gradients — gradients through loops whose bodies are on several tasks
from client import TARGETS, np, show, tf

tf.disable_control_flow_v2()
W0, W1, P0, P1 = "/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0", "/job:ps/task:1"
n = tf.placeholder(tf.int32, [])
x = tf.placeholder(tf.float32, [2])
with tf.device(P0):
    w = tf.get_variable("w", initializer=np.array([[0.5, -0.2], [0.3, 0.1]], np.float32), use_resource=True)


def on(device, make):
    with tf.device(device):
        return make()


def body(i, v):
    a = on(P1, lambda: tf.tanh(tf.reduce_sum(w * v, 1)))
    return i + 1, on(W1, lambda: a * v + 0.5)


def branching(i, v):
    return i + 1, tf.cond(on(P0, lambda: tf.reduce_sum(v) > 1.0), lambda: on(P1, lambda: v * v * 0.5),
                          lambda: on(W1, lambda: tf.reduce_sum(w * v, 1) + 1.0))


with tf.device(W0):
    losses = [tf.reduce_sum(tf.while_loop(lambda i, v: i < n, f, [0, x])[1] ** 2) for f in (body, branching)]
gradients = [tf.gradients(loss, [w, x]) for loss in losses]
train = tf.train.GradientDescentOptimizer(0.1).minimize(losses[0], var_list=[w])
with tf.Session(TARGETS[0]) as session:
    session.run(tf.variables_initializer([w]))
    for turns in (0, 1, 4):
        for which, wanted in enumerate(gradients):
            loss, found = session.run([losses[which], wanted], {n: turns, x: [0.4, 0.9]})
            show("loss %d of %d turns" % (which, turns), loss)
            for g in found:
                show("gradient", g)
    for _ in range(5):
        session.run(train, {n: 3, x: [0.4, 0.9]})
    show("w", session.run(w))
