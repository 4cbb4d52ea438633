# tasks_async_replicas — two client processes train at the same time, each by its own worker; nothing is lost
import os

from client import TARGETS, np, show, tf


def replica(task):
    with tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:%d" % task)):
        step = tf.train.get_or_create_global_step()
        total = tf.get_variable("total", initializer=np.zeros(1000, np.float32), use_resource=True)
        add = tf.group(total.assign_add(tf.ones([1000]) * (task + 1.0), use_locking=True),
                       tf.assign_add(step, 1, use_locking=True))
        ready = tf.report_uninitialized_variables()
        init = tf.global_variables_initializer()
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task])
    with tf.Session(TARGETS[task], config=config) as session:
        if task == 0:
            session.run(init)
        while session.run(ready).size:
            pass
        for i in range(50):
            session.run(add)
        if task == 0:
            os.waitpid(other, 0)
            show("step", session.run(step))
            value = session.run(total)
            print(value.min(), value.max())


other = os.fork()
replica(1 if not other else 0)
if not other:
    os._exit(0)
