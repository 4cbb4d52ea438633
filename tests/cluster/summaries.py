# summaries — summaries, merged, fetched as strings
from client import TARGET, np, refused, tf

x = tf.placeholder(tf.float32, [None])
tf.summary.scalar("mean", tf.reduce_mean(x))
tf.summary.histogram("values", x)
tf.summary.text("words", tf.constant(["a", "b"]))
merged = tf.summary.merge_all()
with tf.Session(TARGET) as session:
    for values in ([1.0, 2.0], [0.0], [-3.0, 100.0, 1e-5]):
        summary = tf.Summary.FromString(session.run(merged, {x: values}))
        for value in sorted(summary.value, key=lambda v: v.tag):
            kind = value.WhichOneof("value")
            print(value.tag, kind, end=" ")
            if kind == "simple_value":
                print(value.simple_value)
            elif kind == "histo":
                h = value.histo
                print(h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket_limit), list(h.bucket))
            else:
                print(value.tensor.dtype, list(value.tensor.string_val), value.metadata.plugin_data.plugin_name)
    refused(lambda: session.run(merged, {x: [np.nan]}), "Nan")
