# closing — closing while steps run; closing twice; queues cancelled by a close
import threading
import time

from client import TARGET, show, tf

queue = tf.FIFOQueue(2, tf.int32, shared_name="q")
get, put, size = queue.dequeue(), queue.enqueue(1), queue.size()
slow = tf.while_loop(lambda i: i < 2000000000, lambda i: i + 1, [0], parallel_iterations=1)
for edge in (get, slow):
    session = tf.Session(TARGET)
    session.run(size)
    ended = []

    def run():
        try:
            session.run(edge)
        except tf.errors.OpError as error:
            ended.append(isinstance(error, (tf.errors.CancelledError, tf.errors.AbortedError)))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(20)
    print(thread.is_alive(), ended)
with tf.Session(TARGET) as session:
    session.run(put)
    show("size", session.run(size))
    show("element", session.run(get))
session.close()
