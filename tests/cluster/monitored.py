# monitored — MonitoredTrainingSession: hooks, checkpoints, stop at a step, resume
import os
import tempfile

from client import TARGET, show, tf

folder = tempfile.mkdtemp()


class Record(tf.train.SessionRunHook):
    def begin(self):
        self.seen = []

    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, context, values):
        self.seen.append(int(values.results))


for last in (5, 8):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        x = tf.Variable(10.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(x * x, step)
        record = Record()
        hooks = [tf.train.StopAtStepHook(last_step=last), record, tf.train.NanTensorHook(x * x)]
        with tf.train.MonitoredTrainingSession(TARGET, checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=2,
                                               log_step_count_steps=None) as session:
            while not session.should_stop():
                value = session.run([train, x])[1]
        show("steps", len(record.seen))
        print(os.path.basename(tf.train.latest_checkpoint(folder)))
        show("x", tf.train.load_variable(folder, "Variable"))
