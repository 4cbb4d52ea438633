# supervisor — Supervisor: initial values, services, checkpoints
import os
import tempfile

from client import TARGET, show, tf

folder = tempfile.mkdtemp()
for round_ in range(2):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        v = tf.Variable(1.0, name="v")
        both = [v, tf.to_float(step)]
        add = tf.group(v.assign_add(1.0), step.assign_add(1))
        supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0, save_summaries_secs=0, summary_op=None)
        with supervisor.managed_session(TARGET) as session:
            for _ in range(3):
                session.run(add)
            show("v", session.run(both))
            supervisor.saver.save(session, supervisor.save_path, global_step=step)
        print(os.path.basename(tf.train.latest_checkpoint(folder)))
    tf.Session.reset(TARGET)
