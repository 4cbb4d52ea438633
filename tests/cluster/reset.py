# reset — Session.reset, whole and by container
from client import TARGET, refused, show, tf

with tf.container("kept"):
    kept = tf.Variable(1.0)
with tf.container("dropped"):
    dropped = tf.Variable(2.0)
plain = tf.Variable(3.0)
session = tf.Session(TARGET)
session.run(tf.global_variables_initializer())
show("before", session.run([kept, dropped, plain]))
tf.Session.reset(TARGET, ["dropped"])
refused(lambda: session.run(kept), "not found")
session = tf.Session(TARGET)
show("kept", session.run([kept, plain]))
refused(lambda: session.run(dropped), "uninitialized")
tf.Session.reset(TARGET)
session = tf.Session(TARGET)
refused(lambda: session.run(plain), "uninitialized")
show("other container", session.run(kept))
