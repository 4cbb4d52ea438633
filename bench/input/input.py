#!/usr/bin/env python3
# input — records, lines and examples per second: the same operations in Millrace and TensorFlow, by the C interface.
#
# usage: ./run bench input [NAME...] [--rounds N] [--threads N] [--millrace PATH]
# Each library runs in a process of its own and does its rounds, of 100 ms at least, in turn with the other; medians. With one thread it is
# processor time, of all that the library does, which others on the machine don't change; with more, time that passes. The files lie in the
# system's cache (a temporary folder). What is parsed is fed as the same tensor each time, and all of it is fetched.
import argparse
import gzip
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "tests", "parity"))
import capi  # noqa: E402

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(here, "..", "..", "build"))
ROUND = 0.1  # seconds, at least


# ---- one library: asked for n steps of a bench, says the seconds

def child(library, folder, threads):
    library = capi.Library(library)
    config = b"\x10" + bytes([threads]) + b"\x28" + bytes([threads])  # threads within and between operations
    open_benches, clock = {}, time.process_time if threads == 1 else time.perf_counter

    def opened(name):
        if name not in open_benches:
            with open(os.path.join(folder, name + ".pb"), "rb") as f:
                graph = capi.Graph(library, f.read())
            with open(os.path.join(folder, name + ".json")) as f:
                fetches = json.load(f)
            session, path = capi.Session(graph, config), os.path.join(folder, name + ".npy")
            value = library.tensor(np.load(path, allow_pickle=True)) if os.path.exists(path) else None
            if value is None:
                session.run(targets=["load"])
            open_benches[name] = session, graph, value, fetches
        return open_benches[name]

    for line in sys.stdin:
        name, steps = line.split()
        session, graph, value, fetches = opened(name)
        inputs, values, n = graph.outputs(["x:0"] if value else []), (capi.P * 1)(value), 1 if value else 0
        outputs, fetched = graph.outputs(fetches), (capi.P * len(fetches))()
        begin = clock()
        for _ in range(int(steps)):
            library.checked("TF_SessionRun", session.session, None, inputs, values, n, outputs, fetched, len(fetches), None, 0, None)
            for tensor in fetched:
                library.TF_DeleteTensor(tensor)
        print(json.dumps(clock() - begin), flush=True)


# ---- the benches: graphs by TensorFlow's Python

def write_benches(folder):
    """{name: (items of a step, unit)}"""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    raw, benches, random = tf.raw_ops, {}, np.random.RandomState(7)

    def save(name, graph, fetches, items, unit, feed=None):
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump([t.name for t in tf.nest.flatten(fetches, expand_composites=True)], f)
        with open(os.path.join(folder, name + ".pb"), "wb") as f:
            f.write(graph.as_graph_def().SerializeToString())
        if feed is not None:
            np.save(os.path.join(folder, name + ".npy"), np.array(feed, object))
        benches[name] = items, unit

    def reading(name, reader, path, up_to, unit):
        with tf.Graph().as_default() as graph:
            queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
            with tf.control_dependencies([raw.QueueEnqueueManyV2(handle=queue, components=[tf.fill([200000], path)])]):
                tf.no_op(name="load")
            handle = reader()
            read = raw.ReaderReadV2(reader_handle=handle, queue_handle=queue) if up_to == 1 else \
                raw.ReaderReadUpToV2(reader_handle=handle, queue_handle=queue, num_records=up_to)
        save(name, graph, list(read), up_to, unit)

    payload = [random.bytes(random.randint(100, 2000)) for _ in range(20000)]
    for coding in ("", "GZIP"):
        path = os.path.join(folder, "records" + coding)
        with tf.io.TFRecordWriter(path, coding) as writer:
            for item in payload:
                writer.write(item)
        for up_to in (1, 1000):
            reading("records%s%s" % (".gzip" if coding else "", "" if up_to == 1 else ".many"), lambda coding=coding: raw.TFRecordReaderV2(compression_type=coding), path, up_to, "records")
    path = os.path.join(folder, "lines")
    with open(path, "w") as f:
        f.writelines("%d,%r,some words to read\n" % (i, i / 7) for i in range(200000))
    reading("lines", raw.TextLineReaderV2, path, 1, "lines")
    reading("lines.many", raw.TextLineReaderV2, path, 1000, "lines")

    feature, examples = tf.train.Feature, {}

    def example(**features):
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    def whole(v):
        return feature(int64_list=tf.train.Int64List(value=v))

    def real(v):
        return feature(float_list=tf.train.FloatList(value=v))

    def text(v):
        return feature(bytes_list=tf.train.BytesList(value=v))
    examples["picture"] = ([example(image=text([random.bytes(20000)]), label=whole([i]), name=text([b"picture %d" % i])) for i in range(64)],
                           dict(image=tf.io.FixedLenFeature([], tf.string), label=tf.io.FixedLenFeature([], tf.int64), name=tf.io.FixedLenFeature([], tf.string, "")))
    columns = {"i%d" % i: tf.io.FixedLenFeature([1], tf.float32, [0.0]) for i in range(13)}
    columns.update({"c%d" % i: tf.io.VarLenFeature(tf.int64) for i in range(26)})
    examples["clicks"] = ([example(**{"i%d" % i: real([random.rand()]) for i in range(13)}, **{"c%d" % i: whole(random.randint(0, 1 << 20, random.randint(1, 4))) for i in range(26)})
                           for _ in range(512)], columns)
    examples["rows"] = ([example(x=real(random.rand(784)), y=whole([3])) for _ in range(128)], dict(x=tf.io.FixedLenFeature([784], tf.float32), y=tf.io.FixedLenFeature([], tf.int64)))
    examples["words"] = ([example(ids=whole(random.randint(0, 40000, random.randint(5, 60))), words=text([b"word%d" % j for j in range(random.randint(5, 60))])) for _ in range(256)],
                         dict(ids=tf.io.RaggedFeature(tf.int64), words=tf.io.VarLenFeature(tf.string)))
    for name, (batch, features) in examples.items():
        with tf.Graph().as_default() as graph:
            parsed = tf.io.parse_example(tf.placeholder(tf.string, [None], "x"), features)
        save("example." + name, graph, parsed, len(batch), "examples", batch)
    with tf.Graph().as_default() as graph:
        out = tf.io.decode_csv(tf.placeholder(tf.string, [None], "x"), [[0], [0.0], [""]] * 4)
    save("csv", graph, out, 1000, "lines", [b",".join(b'%d,%f,"word %d"' % (i * j, i / (j + 3), j) for j in range(4)) for i in range(1000)])
    return benches


# ---- both

class Side:
    def __init__(self, library, folder, threads):
        self.process = subprocess.Popen([sys.executable, __file__, "--child", library, folder, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=None if os.environ.get("BENCH_STDERR") else subprocess.DEVNULL, text=True)

    def seconds(self, name, steps):
        self.process.stdin.write("%s %d\n" % (name, steps))
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("input: a library ended; BENCH_STDERR=1 shows what it says")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(sides, name, items, rounds):
    steps = []
    for side in sides:
        n = 1
        while side.seconds(name, n) < ROUND / 2:
            n *= 2
        steps.append(n * 2)
    times = [[], []]
    for _ in range(rounds):
        for i, side in enumerate(sides):
            times[i].append(side.seconds(name, steps[i]) / steps[i] / items)
    return [statistics.median(t) for t in times]


def main():
    p = argparse.ArgumentParser(usage="input.py [NAME...] [--rounds N] [--threads N] [--millrace PATH]")
    p.add_argument("names", nargs="*")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--threads", type=int, action="append")
    p.add_argument("--millrace", default=os.path.join(BUILD, "lib", "libmillrace.so"))
    options = p.parse_args()
    found = importlib.util.find_spec("tensorflow")
    theirs = os.path.join(list(found.submodule_search_locations)[0], "libtensorflow_cc.so.2")
    slowest = None
    with tempfile.TemporaryDirectory() as folder:
        benches = write_benches(folder)
        for threads in options.threads or (1, 2):
            sides = [Side(options.millrace, folder, threads), Side(theirs, folder, threads)]
            print("%-20s %16s %16s %8s   %d thread%s" % ("", "Millrace", "TensorFlow", "times", threads, "s" * (threads > 1)))
            for name, (items, unit) in benches.items():
                if options.names and not any(name.startswith(n) for n in options.names):
                    continue
                ours, other = measure(sides, name, items, options.rounds)
                print("%-20s %14.0f/s %14.0f/s %7.2fx   %s" % (name, 1 / ours, 1 / other, other / ours, unit), flush=True)
                slowest = min(slowest or 1e9, other / ours)
            for side in sides:
                side.close()
    print("the slowest: %.2fx TensorFlow's" % (slowest or 0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
