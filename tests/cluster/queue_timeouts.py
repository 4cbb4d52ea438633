# queue_timeouts — a dequeue cut by a timeout takes nothing with it
from client import TARGET, refused, show, tf

queue = tf.FIFOQueue(2, [tf.int32], [[]])
x = tf.placeholder(tf.int32, [])
put, get = queue.enqueue([x]), queue.dequeue()
soon = tf.RunOptions(timeout_in_ms=300)
with tf.Session(TARGET) as session:
    for _ in range(3):
        refused(lambda: session.run(get, options=soon))
    session.run(put, {x: 5})
    show("element", session.run(get))
    session.run(put, {x: 6})
    session.run(put, {x: 7})
    refused(lambda: session.run(put, {x: 8}, options=soon))
    show("left", [session.run(get), session.run(get)])
    show("size", session.run(queue.size()))
