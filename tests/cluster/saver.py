# saver — Saver on the server's disk: save, restore, keep, shards
import os
import tempfile

from client import TARGET, np, refused, show, tf

v = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="v")
r = tf.Variable([1, 2], name="r", use_resource=True, dtype=tf.int64)
s = tf.Variable(["a", "b"], name="s")
half = tf.Variable(np.array([1.5], np.float16), name="half")
saver = tf.train.Saver(max_to_keep=2)
folder = tempfile.mkdtemp()
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for i in range(4):
        saver.save(session, os.path.join(folder, "model"), global_step=i)
        session.run([v.assign_add(tf.ones([2, 3])), r.assign_add([1, 1])])
    print(sorted(n for n in os.listdir(folder)))
    show("now", session.run(v))
    saver.restore(session, os.path.join(folder, "model-2"))
    for edge in (v, r, s, half):
        show("restored", session.run(edge))
    print(sorted(tf.train.list_variables(tf.train.latest_checkpoint(folder))))
    refused(lambda: saver.restore(session, os.path.join(folder, "model-0")))
    one = tf.train.Saver([v])
    one.save(session, os.path.join(folder, "one"), write_meta_graph=False)
    refused(lambda: tf.train.Saver([v, r]).restore(session, os.path.join(folder, "one")), "not found in checkpoint", "r")
