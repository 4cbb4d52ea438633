# tasks_replica_setter — replica_device_setter spreads variables over parameter tasks; two workers train a small net in turn
from client import TARGETS, np, show, tf

cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}


def build(task):
    graph = tf.Graph()
    with graph.as_default(), tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task,
                                                                      cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.placeholder(tf.float32, [None, 1], name="y")
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
        b = tf.get_variable("b", initializer=np.zeros(4, np.float32))
        v = tf.get_variable("v", initializer=np.linspace(-0.5, 1, 4, dtype=np.float32).reshape(4, 1))
        h = tf.tanh(tf.matmul(x, w) + b)
        loss = tf.reduce_mean((tf.matmul(h, v) - y) ** 2)
        train = tf.train.AdamOptimizer(0.05).minimize(loss, step)
        return graph, train, loss, step, [w, b, v], tf.global_variables_initializer()


data = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
labels = np.sin(data.sum(1, keepdims=True))
sessions = []
for task in (0, 1):
    graph, train, loss, step, variables, init = build(task)
    print([v.device for v in variables], step.device)
    session = tf.Session(TARGETS[task], graph=graph)
    sessions.append((session, train, loss, step, variables))
    if task == 0:
        session.run(init)
for i in range(10):
    session, train, loss, step, variables = sessions[i % 2]
    value = session.run([train, loss], {"x:0": data, "y:0": labels})[1]
    print("loss %.5f" % value)
show("step", sessions[0][0].run(sessions[0][3]))
for value in sessions[1][0].run(sessions[1][4]):
    show("variable", np.round(value, 4))
for session, *_ in sessions:
    session.close()
