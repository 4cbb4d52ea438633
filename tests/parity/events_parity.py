#!/usr/bin/env python3
# events_parity — event files of the summary writers' ops, written by Millrace and by TensorFlow from one graph, read by
# TensorFlow's own reader: the same events, but for the time and the writer's name.
#
# usage: MILLRACE_BUILD=build ~/.cache/millrace/oracle/bin/python tests/parity/events_parity.py
import glob
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow.compat.v1 as tf

import capi

CONFIG = bytes([0x10, 1, 0x28, 1])
METADATA = tf.SummaryMetadata(plugin_data=tf.SummaryMetadata.PluginData(plugin_name="scalars")).SerializeToString()
raw = tf.raw_ops


def build(graph):
    """The steps: lists of operations to run, in order."""
    with graph.as_default():
        folder = tf.placeholder(tf.string, [], "folder")
        step = tf.placeholder(tf.int64, [], "step")
        writer = raw.SummaryWriter(shared_name="w")
        create = raw.CreateSummaryFileWriter(writer=writer, logdir=folder, max_queue=10, flush_millis=1000, filename_suffix=".x")
        writes = []
        rng = np.random.default_rng(1)
        for dtype in "float32 float64 int32 uint8 int16 int8 int64 uint16 float16 uint32 uint64".split():
            value = tf.constant(7, dtype)
            writes.append(raw.WriteScalarSummary(writer=writer, step=step, tag="scalar/" + dtype, value=value))
            many = tf.constant((rng.normal(size=(50,)) * 30 + 60).clip(0, 120).astype(dtype))
            writes.append(raw.WriteHistogramSummary(writer=writer, step=step, tag="histogram/" + dtype, values=many))
        writes += [
            raw.WriteHistogramSummary(writer=writer, step=step, tag="wide", values=[1e-13, -1e25, 1e20, 0.0, 7]),
            raw.WriteSummary(writer=writer, step=step, tensor=tf.constant([[1.0, 2], [3, 4]]), tag="tensor", summary_metadata=METADATA),
            raw.WriteSummary(writer=writer, step=step, tensor=tf.constant(["a", "**b**"]), tag="text", summary_metadata=""),
            raw.WriteRawProtoSummary(writer=writer, step=step, tensor=raw.ScalarSummary(tags=["p", "q"], values=[1.0, 2])),
            raw.WriteGraphSummary(writer=writer, step=step, tensor=tf.constant(tf.GraphDef(versions={"producer": 5}).SerializeToString())),
            raw.WriteAudioSummary(writer=writer, step=step, tag="sound", tensor=rng.uniform(-1.2, 1.2, (2, 100)).astype("f"), sample_rate=8000.0),
            raw.WriteAudioSummary(writer=writer, step=step, tag="one", tensor=rng.uniform(-1, 1, (2, 100, 2)).astype("f"), sample_rate=44100.0, max_outputs=1),
            raw.WriteImageSummary(writer=writer, step=step, tag="pictures", tensor=rng.uniform(-1, 2, (2, 5, 7, 3)).astype("f"), bad_color=[255, 0, 0, 255]),
            raw.WriteRawProtoSummary(writer=writer, step=step, tensor=tf.expand_dims(raw.AudioSummaryV2(tag="v2", tensor=rng.uniform(-1, 1, (4, 10)).astype("f"), sample_rate=8000.0), 0)),
        ]
        flush = raw.FlushSummaryWriter(writer=writer)
        close = raw.CloseSummaryWriter(writer=writer)
    return create, writes, flush, close


def events(folder):
    paths = glob.glob(folder + "/events.out.tfevents.*.x")
    assert len(paths) == 1, paths
    found = []
    for event in tf.train.summary_iterator(paths[0]):
        event.wall_time = 0
        event.ClearField("source_metadata")
        found.append(event)
    return found


def main():
    graph = tf.Graph()
    create, writes, flush, close = build(graph)
    folders = [tempfile.mkdtemp() for _ in range(2)]
    with tf.Session(graph=graph) as session:
        session.run(create, {"folder:0": folders[0]})
        for i, write in enumerate(writes):
            session.run(write, {"step:0": i})
        session.run(flush)
        session.run(close)
    library = capi.Library(os.path.join(os.environ.get("MILLRACE_BUILD", "build"), "lib", "libmillrace.so"))
    mine = capi.Graph(library, graph.as_graph_def().SerializeToString())
    session = capi.Session(mine, CONFIG)

    def run(op, **feeds):
        session.run([], {name + ":0": np.array(value, object) if isinstance(value, bytes) else np.array(value) for name, value in feeds.items()}, [op.name])
    run(create, folder=folders[1].encode())
    for i, write in enumerate(writes):
        run(write, step=np.int64(i))
    run(flush)
    run(close)
    session.close()
    theirs, ours = events(folders[0]), events(folders[1])
    wrong = 0
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            wrong += 1
            print("event %d differs:\n%s\n%s" % (i, str(a)[:400], str(b)[:400]))
    print("events_parity: %d events by TensorFlow, %d by Millrace, %d differ" % (len(theirs), len(ours), wrong))
    return wrong != 0 or len(theirs) != len(ours)


if __name__ == "__main__":
    sys.exit(main())
