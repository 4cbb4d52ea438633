# wrong_names — fetches, feeds and targets that are not there
from client import TARGET, refused, show, tf

x = tf.placeholder(tf.float32, [], name="x")
y = tf.identity(x, name="y")
with tf.Session(TARGET) as session:
    show("y", session.run(y, {x: 1}))
    for name in ("none:0", "y:3", "x:0"):
        refused(lambda: session.run(name), "none", "y", "x")
    refused(lambda: session.run(y), "feed a value", "x")
    refused(lambda: session.run("y:0", {x: [1.0, 2.0]}), "shape")
    refused(lambda: session.run("missing"), "missing")
    show("operation", session.run("y:0", {"x:0": 4}))
