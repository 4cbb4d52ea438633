# tasks_devices — the devices of a cluster, filters, partial names, colocation, soft placement
from client import TARGETS, np, show, tf

with tf.Session(TARGETS[1]) as session:
    print(sorted((d.name, d.device_type) for d in session.list_devices()))
config = tf.ConfigProto(device_filters=["/job:ps"])
with tf.Session(TARGETS[1], config=config) as session:
    print(sorted(d.name for d in session.list_devices()))
with tf.device("/job:ps"):
    v = tf.Variable([1.0, 2.0])
with tf.device("/job:ps/task:1/cpu:0"):
    w = tf.Variable([3.0])
with tf.device("/gpu:0"):
    soft = tf.identity(w) * 2.0
with tf.colocate_with(w):
    beside = tf.constant(5.0) + w
with tf.Session(TARGETS[0], config=tf.ConfigProto(allow_soft_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    print(session.run([v, w, soft, beside]))
with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/job:worker/task:1"):
        b = tf.constant(2.0, name="b")
        c = a + b
    with tf.Session(TARGETS[0], config=config) as session:
        try:
            session.run(c)
        except tf.errors.InvalidArgumentError as error:
            print("/job:worker/task:1" in str(error))
