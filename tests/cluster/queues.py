# queues — FIFO, random, padding and priority queues
from client import TARGET, np, refused, show, tf

fifo = tf.FIFOQueue(10, [tf.int32, tf.string], [[], []])
put = fifo.enqueue_many([[1, 2, 3, 4], ["a", "b", "c", "d"]])
one, many, size = fifo.dequeue(), fifo.dequeue_many(2), fifo.size()
padding = tf.PaddingFIFOQueue(10, [tf.int32], [[None]])
pads = [padding.enqueue([tf.constant(v)]) for v in ([1], [2, 3], [4, 5, 6])]
priority = tf.PriorityQueue(10, [tf.string], [[]])
random = tf.RandomShuffleQueue(20, 0, [tf.int64], [[]], seed=3)
with tf.Session(TARGET) as session:
    session.run(put)
    print(session.run(one), session.run(many), session.run(size))
    for op in pads:
        session.run(op)
    show("padded", session.run(padding.dequeue_many(3)))
    session.run(priority.enqueue_many([np.array([3, 1, 2], np.int64), ["c", "a", "b"]]))
    print([session.run(priority.dequeue())[1] for _ in range(3)])
    session.run(random.enqueue_many([np.arange(10, dtype=np.int64)]))
    show("shuffled", sorted(session.run(random.dequeue_many(10)).tolist()))
    session.run(fifo.close())
    print(session.run(fifo.is_closed()))
    print(session.run(fifo.dequeue_up_to(5)))
    refused(lambda: session.run(one), "closed", "insufficient")
    refused(lambda: session.run(put), "closed")
