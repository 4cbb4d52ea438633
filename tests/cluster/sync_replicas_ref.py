# sync_replicas_ref — SyncReplicasOptimizer of one worker over reference variables: its token is a read behind an update
from client import TARGET, show, tf

step = tf.train.get_or_create_global_step()
x = tf.Variable([10.0, 5.0])
e = tf.Variable(tf.ones([4, 2]))
loss = tf.reduce_sum(x * x) + tf.reduce_sum(tf.nn.embedding_lookup(e, [0, 2]) ** 2)
optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1, 1)
train = optimizer.minimize(loss, step)
hook = optimizer.make_session_run_hook(True, num_tokens=0)
with tf.train.MonitoredTrainingSession(TARGET, hooks=[hook, tf.train.StopAtStepHook(last_step=5)],
                                       log_step_count_steps=None, stop_grace_period_secs=2) as session:
    while not session.should_stop():
        loss_value = session.run([train, loss])[1]
with tf.Session(TARGET) as session:
    show("x", session.run(x))
    show("e", session.run(e))
    show("step", session.run(step))
