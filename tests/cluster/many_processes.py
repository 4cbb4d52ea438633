# many_processes — four client processes on one server: one queue, shared variables
import os

from client import TARGET, show, tf

queue = tf.FIFOQueue(100, tf.int32, [], shared_name="q")
total = tf.Variable(0, name="total", use_resource=True)
x = tf.placeholder(tf.int32, [])
put, add, get = queue.enqueue(x), total.assign_add(x), queue.dequeue_many(20)
children = []
for k in range(4):
    pid = os.fork()
    if not pid:
        with tf.Session(TARGET) as session:
            while session.run(tf.report_uninitialized_variables()).size:
                pass
            for i in range(10):
                session.run([put, add], {x: k * 10 + i})
        os._exit(0)
    children.append(pid)
with tf.Session(TARGET) as session:
    session.run(total.initializer)
    values = sorted(session.run(get).tolist() + session.run(get).tolist())
    print(values == list(range(40)))
    print([os.waitpid(pid, 0)[1] for pid in children])
    show("total", session.run(total))
