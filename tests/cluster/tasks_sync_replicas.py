# tasks_sync_replicas — SyncReplicasOptimizer: two clients of two workers, whose gradients are averaged on a parameter task
import os

from client import TARGETS, np, show, tf


def replica(task):
    device = tf.train.replica_device_setter(2, worker_device="/job:worker/task:%d" % task)
    with tf.Graph().as_default(), tf.device(device):
        step = tf.train.get_or_create_global_step()
        x = tf.get_variable("x", initializer=np.array([10.0, 5.0], np.float32))
        e = tf.get_variable("e", initializer=np.ones([4, 2], np.float32))
        scale = 1.0 + task
        loss = tf.reduce_sum(x * x) * scale + tf.reduce_sum(tf.nn.embedding_lookup(e, [task, 2]) ** 2)
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.05), 2, 2)
        train = optimizer.minimize(loss, step)
        hook = optimizer.make_session_run_hook(task == 0, num_tokens=0)
        config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task])
        with tf.train.MonitoredTrainingSession(TARGETS[task], is_chief=task == 0, config=config,
                                               hooks=[hook, tf.train.StopAtStepHook(last_step=6)],
                                               log_step_count_steps=None, stop_grace_period_secs=2) as session:
            while not session.should_stop():
                session.run(train)
        if task == 0:
            with tf.Session(TARGETS[0], config=config) as session:
                show("x", session.run(x))
                show("e", session.run(e))
                print(session.run(step) >= 6)


other = os.fork()
replica(1 if not other else 0)
if not other:
    os._exit(0)
os.waitpid(other, 0)
