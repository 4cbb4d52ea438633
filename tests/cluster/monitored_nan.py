# monitored_nan — a hook that watches for NaN ends training; losses of hooks
from client import TARGET, refused, tf

step = tf.train.get_or_create_global_step()
x = tf.Variable(1.0)
loss = tf.log(x)
train = tf.group(x.assign_sub(0.6), step.assign_add(1))


def run(hook):
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=TARGET), hooks=[hook]) as session:
        for _ in range(6):
            if session.should_stop():
                print("stopped")
                break
            session.run(train)
            session.run(loss)


refused(lambda: run(tf.train.NanTensorHook(loss)), "NaN")
run(tf.train.NanTensorHook(loss, fail_on_nan_loss=False))
