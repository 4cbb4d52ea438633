# tasks_monitored — MonitoredTrainingSession with checkpoints of variables on two parameter tasks, restored by the next
import shutil
import tempfile

from client import TARGETS, np, show, tf

folder = tempfile.mkdtemp()
for last in (4, 9):
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:0")):
        step = tf.train.get_or_create_global_step()
        a = tf.get_variable("a", initializer=np.array([3.0, -2.0], np.float32))
        b = tf.get_variable("b", initializer=np.float32(1.0))
        loss = tf.reduce_sum((a * b - 1.0) ** 2)
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, step)
        with tf.train.MonitoredTrainingSession(TARGETS[0], checkpoint_dir=folder, save_checkpoint_steps=100,
                                               save_summaries_steps=None, log_step_count_steps=None,
                                               hooks=[tf.train.StopAtStepHook(last_step=last)]) as session:
            while not session.should_stop():
                at, value = session.run([step, loss, train])[:2]
        print("ended", last, "loss %.5f" % value)
    with tf.Session(TARGETS[0]) as session:
        tf.Session.reset(TARGETS[0])
shutil.rmtree(folder)
