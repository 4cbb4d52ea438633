# step_stats — step statistics: nodes of a step, the timeline
import json

from tensorflow.python.client import timeline

from client import TARGET, np, tf

x = tf.placeholder(tf.float32, [None, 4], name="x")
w = tf.Variable(np.ones((4, 4), np.float32), name="w")
y = tf.nn.softmax(tf.matmul(x, w, name="product"), name="out")
with tf.Session(TARGET) as session:
    session.run(w.initializer)
    metadata = tf.RunMetadata()
    session.run(y, {x: np.ones((2, 4))}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    nodes = {n.node_name: n for d in metadata.step_stats.dev_stats for n in d.node_stats}
    print(sorted({d.device for d in metadata.step_stats.dev_stats}))
    print([name in nodes for name in ("product", "out")])
    print(all(n.all_start_micros > 0 and n.all_end_rel_micros >= n.op_end_rel_micros for n in nodes.values()))
    print("MatMul" in nodes["product"].timeline_label)
    trace = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    print(any(e.get("args", {}).get("op") == "MatMul" for e in trace["traceEvents"]))
    metadata = tf.RunMetadata()
    session.run(y, {x: np.ones((2, 4))}, run_metadata=metadata)
    print(len(metadata.step_stats.dev_stats))
