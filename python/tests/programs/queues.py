"""Queues of all kinds, filled by threads; batches by bucket; what happens at their end."""
import numpy as np


def main(tf):
    result = {}
    with tf.Graph().as_default(), tf.Session() as session:
        fifo = tf.FIFOQueue(20, [tf.int32, tf.float32], shapes=[[], [2]], names=["a", "b"])
        put = fifo.enqueue_many({"a": tf.range(6), "b": tf.ones([6, 2])})
        take = fifo.dequeue_many(4)
        session.run(put)
        result["fifo"] = session.run(take), session.run(fifo.size())
        padded = tf.PaddingFIFOQueue(10, [tf.int32], [[None]])
        for n in (1, 3, 2):
            session.run(padded.enqueue([tf.range(n)]))
        result["padded"] = session.run(padded.dequeue_many(3))
        first = tf.PriorityQueue(10, [tf.string], [[]])
        session.run(first.enqueue_many([tf.constant([3, 1, 2], tf.int64), tf.constant(["c", "a", "b"])]))
        result["priority"] = [session.run(first.dequeue())[1] for _ in range(3)]
        mixed = tf.RandomShuffleQueue(20, 0, [tf.int32], [[]], seed=3)
        session.run(mixed.enqueue_many([tf.range(9)]))
        result["mixed"] = sorted(session.run(mixed.dequeue_many(9)).tolist())
        session.run(fifo.close())
        result["left"] = session.run(fifo.dequeue_up_to(9))
        try:
            session.run(fifo.dequeue())
        except tf.errors.OutOfRangeError as error:
            result["ended"] = "is closed and has insufficient elements (requested 1, current size 0)" in str(error)
        barrier = tf.FIFOQueue(3, [tf.float32], [[]])
        runner = tf.train.QueueRunner(barrier, [barrier.enqueue(tf.constant(2.0))] * 2)
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, daemon=True, start=True)
        result["runner"] = [float(session.run(barrier.dequeue())) for _ in range(9)]
        coordinator.request_stop()
        session.run(barrier.close(cancel_pending_enqueues=True))
        coordinator.join(threads)
    with tf.Graph().as_default(), tf.Session() as session:
        number = tf.train.range_input_producer(5, num_epochs=2, shuffle=False).dequeue()
        batch = tf.train.batch([number, tf.cast(number, tf.float32) / 2], 4, allow_smaller_final_batch=True)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator, found = tf.train.Coordinator(), []
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(session.run(batch))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        result["batches"] = found
    return result
