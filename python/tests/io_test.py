"""Files, records, summaries, queues."""
import glob

import numpy as np
import pytest

import millrace.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def test_files(tmp_path):
    name = str(tmp_path / "a" / "f.txt")
    tf.gfile.MakeDirs(str(tmp_path / "a"))
    with tf.gfile.GFile(name, "w") as f:
        f.write("one\ntwo\n")
    assert tf.gfile.Exists(name) and [line for line in tf.gfile.Open(name)] == ["one\n", "two\n"]
    assert tf.gfile.Glob(str(tmp_path / "a" / "*")) == [name] and tf.gfile.ListDirectory(str(tmp_path)) == ["a"]
    assert tf.gfile.Stat(name).length == 8
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(name + "x").read()
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.gfile.Exists(name)


@pytest.mark.parametrize("kind", ["NONE", "ZLIB", "GZIP"])
def test_records(tmp_path, kind):
    path = str(tmp_path / "r")
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind))
    records = [b"", b"a", b"b" * 1000]
    with tf.python_io.TFRecordWriter(path, options) as w:
        for r in records:
            w.write(r)
    assert list(tf.python_io.tf_record_iterator(path, options)) == records
    if kind == "NONE":
        with open(path, "r+b") as f:
            f.seek(13)
            f.write(b"x")
        with pytest.raises(tf.errors.DataLossError):
            list(tf.python_io.tf_record_iterator(path))


def test_summaries(tmp_path):
    x = tf.placeholder(tf.float32, [])
    with tf.name_scope("stats"):
        tf.summary.scalar("mean", tf.reduce_mean(x))
    tf.summary.histogram("h", tf.stack([x, x + 1]))
    merged = tf.summary.merge_all()
    with tf.Session() as s, tf.summary.FileWriter(str(tmp_path), s.graph) as writer:
        writer.add_summary(s.run(merged, {x: 2.0}), 7)
    path, = glob.glob(str(tmp_path / "events.out.tfevents.*"))
    events = list(tf.train.summary_iterator(path))
    assert events[0].file_version == "brain.Event:2" and events[1].graph_def
    values = {v.tag: v for v in events[2].summary.value}
    assert sorted(values) == ["h", "stats/mean_1"] and values["stats/mean_1"].simple_value == 2 and events[2].step == 7
    assert values["h"].histo.num == 2


def test_queues():
    queue = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []])
    put = queue.enqueue_many([np.ones((3, 2), np.float32), [1, 2, 3]])
    one, two = queue.dequeue(), queue.dequeue_many(2)
    assert str(one[0].shape) == "(2,)" and str(two[0].shape) == "(2, 2)"
    with tf.Session() as s:
        s.run(put)
        assert s.run(queue.size()) == 3 and s.run(one)[1] == 1 and s.run(two)[1].tolist() == [2, 3]
        s.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            s.run(one)


def test_queue_runners():
    numbers = tf.random_uniform([], seed=1)
    queue = tf.RandomShuffleQueue(20, 5, tf.float32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(numbers)] * 2))
    batch = queue.dequeue_many(4)
    coordinator = tf.train.Coordinator()
    with tf.Session() as s:
        threads = tf.train.start_queue_runners(s, coordinator)
        got = [s.run(batch) for _ in range(10)]
        coordinator.request_stop()
        coordinator.join(threads)
    assert np.concatenate(got).shape == (40,) and len(threads) == 3
