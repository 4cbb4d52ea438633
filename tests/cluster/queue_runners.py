# queue_runners — queue runners under a coordinator
from client import TARGET, show, tf

numbers = tf.train.range_input_producer(10, num_epochs=3, shuffle=False, capacity=4)
batch = tf.train.batch([numbers.dequeue()], 5, allow_smaller_final_batch=True)
with tf.Session(TARGET) as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    total, batches = 0, 0
    try:
        while not coordinator.should_stop():
            total += int(session.run(batch).sum())
            batches += 1
    except tf.errors.OutOfRangeError:
        print("end")
    coordinator.request_stop()
    coordinator.join(threads)
show("batches", [batches, total])
