"""Records in files: examples written and read, by a pipeline and by readers; sequences; compressed files."""
import os
import tempfile

import numpy as np


def main(tf):
    folder = tempfile.mkdtemp()
    path, packed = os.path.join(folder, "a.tfrecords"), os.path.join(folder, "b.tfrecords")
    feature = lambda **kind: tf.train.Feature(**kind)
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(path) as plain, tf.python_io.TFRecordWriter(packed, options=options) as zipped:
        for i in range(7):
            example = tf.train.Example(features=tf.train.Features(feature={
                "id": feature(int64_list=tf.train.Int64List(value=[i])),
                "name": feature(bytes_list=tf.train.BytesList(value=[b"n%d" % i])),
                "row": feature(float_list=tf.train.FloatList(value=np.arange(3) * i)),
                "some": feature(int64_list=tf.train.Int64List(value=list(range(i % 3))))}))
            plain.write(example.SerializeToString())
            zipped.write(example.SerializeToString())
    spec = {"id": tf.FixedLenFeature([], tf.int64), "name": tf.FixedLenFeature([], tf.string),
            "row": tf.FixedLenFeature([3], tf.float32), "some": tf.VarLenFeature(tf.int64),
            "absent": tf.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0])}
    result = {"count": sum(1 for _ in tf.python_io.tf_record_iterator(packed, options))}
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.TFRecordDataset([packed], compression_type="GZIP").map(lambda r: tf.parse_single_example(r, spec))
        data = data.map(lambda d: (d["id"], d["name"], d["row"] + tf.cast(d["id"], tf.float32)))
        batch = tf.data.make_one_shot_iterator(data.shuffle(4, seed=1).batch(10)).get_next()
        ids, names, rows = session.run(batch)
        order = np.argsort(ids)
        result["data"] = ids[order], names[order], rows[order]
        reader, queue = tf.TFRecordReader(), tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
        _, records = reader.read_up_to(queue, 5)
        parsed = tf.parse_example(records, spec)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        result["read"] = session.run([parsed["id"], parsed["absent"], parsed["some"].values, parsed["some"].dense_shape])
        coordinator.request_stop()
        coordinator.join(threads)
    return result
