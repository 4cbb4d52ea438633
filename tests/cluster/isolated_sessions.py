# isolated_sessions — isolate_session_state: nothing is shared
from client import TARGET, refused, show, tf

v = tf.Variable(1.0, name="v")
queue = tf.FIFOQueue(3, tf.int32, shared_name="q")
config = tf.ConfigProto(isolate_session_state=True)
with tf.Session(TARGET) as shared, tf.Session(TARGET, config=config) as one, tf.Session(TARGET, config=config) as two:
    shared.run(v.initializer)
    refused(lambda: one.run(v), "uninitialized")
    one.run(v.initializer)
    one.run(v.assign(5.0))
    two.run(v.initializer)
    show("values", [shared.run(v), one.run(v), two.run(v)])
    one.run(queue.enqueue(1))
    show("sizes", [s.run(queue.size()) for s in (shared, one, two)])
