# tasks_embeddings — a table in shards on two parameter tasks: lookups, and sparse updates of what was looked up
from client import TARGETS, np, show, tf

ids = tf.placeholder(tf.int64, [None])
for strategy in ("mod", "div"):
    with tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:1")):
        table = tf.get_variable("table_" + strategy, [10, 2], initializer=tf.constant_initializer(0.5),
                                partitioner=tf.fixed_size_partitioner(2))
        rows = tf.nn.embedding_lookup(table, ids, partition_strategy=strategy)
        loss = tf.reduce_sum(rows * rows) / 2
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
    print([v.device for v in table])
    with tf.Session(TARGETS[1]) as session:
        session.run(tf.global_variables_initializer())
        show("rows", session.run(rows, {ids: [9, 0, 3, 3, 7]}))
        for batch in ([0, 1, 2], [9, 9, 4]):
            print("loss", session.run([train, loss], {ids: batch})[1])
        show("table", session.run(tf.concat(list(table), 0)))
