# tasks_step_stats — step statistics and partition graphs of a step on three tasks
from client import TARGETS, np, tf

x = tf.placeholder(tf.float32, [None, 4], name="x")
with tf.device("/job:ps/task:0"):
    w = tf.Variable(np.ones((4, 4), np.float32), name="w", use_resource=True)
with tf.device("/job:worker/task:1"):
    y = tf.matmul(x, w, name="product")
with tf.device("/job:ps/task:1"):
    z = tf.nn.softmax(y, name="out")
with tf.Session(TARGETS[0]) as session:
    session.run(w.initializer)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(z, {x: np.ones((2, 4))}, options, metadata)
    devices = {}
    for d in metadata.step_stats.dev_stats:
        devices.setdefault(d.device, set()).update(n.node_name for n in d.node_stats)
    stats = [n for d in metadata.step_stats.dev_stats for n in d.node_stats]
    print(sorted(devices))
    print([[name in nodes for device, nodes in sorted(devices.items()) if place in device]
           for name, place in (("product", "worker/replica:0/task:1"), ("out", "ps/replica:0/task:1"))])
    print(["RecvTensor" in nodes for _, nodes in sorted(devices.items())])
    print(all("edge_" in n.timeline_label and " from /job:" in n.timeline_label for n in stats if n.node_name == "RecvTensor"))
    print(all(n.all_start_micros > 1.5e15 and n.all_end_rel_micros >= 0 for n in stats))
    print(len(metadata.partition_graphs))
    print([sorted({"product", "out"} & {n.name for n in g.node}) for g in
           sorted(metadata.partition_graphs, key=lambda g: sorted(n.device for n in g.node))])
    metadata = tf.RunMetadata()
    session.run(z, {x: np.ones((2, 4))}, run_metadata=metadata)
    print(len(metadata.step_stats.dev_stats), len(metadata.partition_graphs))
