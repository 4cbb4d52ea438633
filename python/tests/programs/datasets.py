"""datasets — tf.data: sources, transformations, iterators, parsed records."""

import numpy as np, tempfile, os


def main(tf):
    out = {}
    D = tf.data.Dataset

    def all_of(d, n=100):
        it = tf.data.make_one_shot_iterator(d)
        x = it.get_next()
        got = []
        with tf.Session() as s:
            try:
                for _ in range(n):
                    got.append(s.run(x))
            except tf.errors.OutOfRangeError:
                pass
        return got

    out["range"] = all_of(D.range(5).map(lambda x: x * x).batch(2))
    out["zip"] = all_of(D.zip((D.range(3), D.from_tensor_slices([1.0, 2.0, 3.0]))).filter(lambda a, b: b > 1.5))
    out["dict"] = all_of(
        D.from_tensor_slices({"a": [1, 2], "b": [[1.0, 2.0], [3.0, 4.0]]}).map(
            lambda e: {"c": e["a"] + 1, "d": tf.reduce_sum(e["b"])}
        )
    )
    out["flat"] = all_of(D.range(3).flat_map(lambda x: D.from_tensors(x).repeat(x)))
    out["inter"] = all_of(D.range(4).interleave(lambda x: D.from_tensors(x).repeat(3), cycle_length=2, block_length=1))
    out["pad"] = all_of(D.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]))
    k = tf.constant(10, tf.int64)
    out["capture"] = all_of(D.range(3).map(lambda x: x + k, num_parallel_calls=2).prefetch(1))
    out["window"] = all_of(D.range(5).window(2, drop_remainder=True).flat_map(lambda w: w.batch(2)))
    out["scan"] = all_of(D.range(5).apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))))

    def gen():
        for i in range(3):
            yield (i, [float(i)] * 2)

    out["gen"] = all_of(D.from_generator(gen, (tf.int32, tf.float32), ([], [2])))
    out["bucket"] = all_of(
        D.range(1, 7)
        .map(lambda x: tf.fill([x], x))
        .apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2]))
    )
    p = tf.placeholder(tf.int64, [])
    d = D.range(p)
    it = tf.data.make_initializable_iterator(d)
    x = it.get_next()
    with tf.Session() as s:
        s.run(it.initializer, {p: 3})
        out["init"] = [s.run(x) for _ in range(3)]
    it = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    x = it.get_next()
    i1 = it.make_initializer(D.range(3))
    i2 = it.make_initializer(D.range(10, 13))
    with tf.Session() as s:
        s.run(i1)
        a = s.run(x)
        s.run(i2)
        out["struct"] = [a, s.run(x)]
    h = tf.placeholder(tf.string, [])
    f = tf.data.Iterator.from_string_handle(h, tf.int64, [])
    y = f.get_next()
    ia, ib = (tf.data.make_one_shot_iterator(D.range(3)), tf.data.make_one_shot_iterator(D.range(5, 9)))
    with tf.Session() as s:
        ha, hb = s.run([ia.string_handle(), ib.string_handle()])
        out["handle"] = [s.run(y, {h: ha}), s.run(y, {h: hb}), s.run(y, {h: ha})]
    out["types"] = [str(d.output_types), str(D.range(3).batch(2).output_shapes)]
    r = D.range(5).reduce(np.int64(0), lambda a, b: a + b)
    with tf.Session() as s:
        out["reduce"] = s.run(r)
    sp = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 4])
    out["sparse"] = [v.indices if hasattr(v, "indices") else v for v in all_of(D.from_tensors(sp))]
    d = tempfile.mkdtemp()
    path = os.path.join(d, "a.txt")
    open(path, "w").write("x\ny\nz\n")
    out["text"] = all_of(
        D.list_files(d + "/*.txt", shuffle=False).flat_map(lambda n: tf.data.TextLineDataset(n).skip(1))
    )
    rec = os.path.join(d, "r")
    with tf.python_io.TFRecordWriter(rec) as w:
        for i in range(3):
            e = tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 1])),
                        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                        "v": tf.train.Feature(int64_list=tf.train.Int64List(value=range(i))),
                    }
                )
            )
            w.write(e.SerializeToString())

    def parse(s):
        f = tf.parse_single_example(
            s,
            {
                "x": tf.FixedLenFeature([2], tf.float32),
                "n": tf.FixedLenFeature([], tf.int64),
                "v": tf.VarLenFeature(tf.int64),
                "m": tf.FixedLenFeature([], tf.string, "none"),
            },
        )
        f["v"] = tf.sparse_tensor_to_dense(f["v"])
        return f

    out["records"] = all_of(tf.data.TFRecordDataset(rec).map(parse))
    ex = tf.placeholder(tf.string, [None])
    ff = tf.parse_example(
        ex,
        {
            "x": tf.FixedLenFeature([2], tf.float32),
            "v": tf.VarLenFeature(tf.int64),
            "s": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        },
    )
    with tf.Session() as s:
        r = s.run(ff, {ex: list(tf.python_io.tf_record_iterator(rec))})
        out["batch"] = [r["x"], list(r["v"]), r["s"]]
    return out
