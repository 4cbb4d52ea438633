# tasks_queues — queues on a parameter task, filled by one worker and emptied by the other
import threading

from client import TARGETS, np, refused, show, tf

with tf.device("/job:ps/task:1"):
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], [[], []], shared_name="q")
    few = tf.FIFOQueue(2, tf.float32, [[2]], shared_name="few")
x = tf.placeholder(tf.int32, [])
with tf.device("/job:worker/task:1"):
    put = queue.enqueue([x * 2, tf.as_string(x)])
    row = tf.stack([tf.cast(x, tf.float32), 0.5])
put_few = few.enqueue([row])
with tf.device("/job:worker/task:0"):
    get = queue.dequeue()
    many = queue.dequeue_many(3)
    one = few.dequeue() + 1.0
with tf.Session(TARGETS[0]) as first, tf.Session(TARGETS[1]) as second:
    for i in range(5):
        second.run(put, {x: i})
    print(first.run(queue.size()), first.run(get), first.run(many))

    def fill():
        for i in range(6):
            second.run(put_few, {x: i})

    thread = threading.Thread(target=fill)
    thread.start()
    for i in range(6):
        show("few", first.run(one))
    thread.join()
    refused(lambda: first.run(one, options=tf.RunOptions(timeout_in_ms=300)))
    second.run(put_few, {x: 9})
    show("nothing was lost", first.run(one))
    second.run(queue.close())
    print(first.run(get))
    refused(lambda: first.run(get), "closed", "insufficient")
    refused(lambda: second.run(put, {x: 1}), "closed")
