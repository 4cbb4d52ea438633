# timeouts — operation_timeout_in_ms and RunOptions.timeout_in_ms; the session goes on
from client import TARGET, refused, show, tf

queue = tf.FIFOQueue(1, tf.int32)
get = queue.dequeue(name="get")
slow = tf.while_loop(lambda i: i < 2000000000, lambda i: i + 1, [0], parallel_iterations=1)
config = tf.ConfigProto(operation_timeout_in_ms=400)
with tf.Session(TARGET, config=config) as session:
    refused(lambda: session.run(get))
    refused(lambda: session.run(slow))
    show("goes on", session.run(tf.constant(1)))
with tf.Session(TARGET) as session:
    refused(lambda: session.run(get, options=tf.RunOptions(timeout_in_ms=200)))
    session.run(queue.enqueue(4))
    show("element", session.run(get, options=tf.RunOptions(timeout_in_ms=20000)))
