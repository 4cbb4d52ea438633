# queue_threads — producers and consumers in threads of one client: nothing is lost
import threading

from client import TARGET, show, tf

queue = tf.FIFOQueue(4, [tf.int32], [[]])
x = tf.placeholder(tf.int32, [])
put, get, close = queue.enqueue([x]), queue.dequeue(), queue.close()
got, lock = [], threading.Lock()
with tf.Session(TARGET) as session:
    def produce(first):
        for i in range(first, first + 25):
            session.run(put, {x: i})

    def consume():
        while True:
            try:
                value = session.run(get)
            except tf.errors.OutOfRangeError:
                return
            with lock:
                got.append(int(value))

    producers = [threading.Thread(target=produce, args=(i * 25,)) for i in range(4)]
    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for thread in producers + consumers:
        thread.start()
    for thread in producers:
        thread.join()
    session.run(close)
    for thread in consumers:
        thread.join()
show("all", sorted(got) == list(range(100)))
