# tasks_callables — callables, graphs that grow, many threads, on one session over all tasks
import threading

from client import TARGETS, np, show, tf

with tf.device("/job:ps/task:0"):
    v = tf.Variable(np.zeros(8, np.float32), use_resource=True)
x = tf.placeholder(tf.float32, [8])
with tf.device("/job:worker/task:1"):
    y = v + x * 2.0
with tf.Session(TARGETS[0]) as session:
    session.run(v.initializer)
    run = session.make_callable(y, [x])
    show("first", run(np.arange(8, dtype=np.float32)))
    with tf.device("/job:ps/task:1"):
        z = tf.reduce_sum(y) + 1.0
    add = v.assign_add(tf.ones([8]))
    show("grown", session.run(z, {x: np.ones(8)}))
    threads = [threading.Thread(target=lambda: [session.run([add, y], {x: np.ones(8)}) for _ in range(20)])
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show("v", session.run(v))
