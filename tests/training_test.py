# training_test — `millrace train` from outside: killed and gone on, and models of others.
import json
import os
import struct
import subprocess
import time

import numpy as np
import pytest

from cli_test import COMMAND, data, millrace  # noqa: F401 a fixture


def scalars(folder):
    """(tag, step): the four bytes, of all event files of a folder."""
    def fields(message):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = message[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while at < len(message):
            tag = varint()
            size = {0: 0, 1: 8, 5: 4}.get(tag & 7)
            if size == 0:
                yield tag >> 3, varint()
                continue
            size = varint() if size is None else size
            yield tag >> 3, message[at:at + size]
            at += size

    found = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        content, at = path.read_bytes(), 0
        while at + 16 <= len(content):
            size = int.from_bytes(content[at:at + 8], "little")
            event = dict(fields(content[at + 12:at + 12 + size]))
            at += 16 + size
            for _, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                found[value[1].decode(), event.get(2, 0)] = value[2]
    return found


def test_killed_and_gone_on(data, tmp_path):
    """Killed at moments of chance and started again, every loss is the one of a training that was left alone."""
    def words(name):
        return [COMMAND, "train", "--data", data, "--output", tmp_path / (name + ".pb"), "--epochs", "12", "--batch", "16", "--json",
                "--threads", "1", "--logdir", tmp_path / name, "--log-steps", "1"]
    subprocess.run(words("whole"), check=True, stdout=subprocess.DEVNULL)
    killed, random = 0, np.random.default_rng(1)
    for run in range(200):
        process = subprocess.Popen(words("parts") + ["--checkpoints", tmp_path / "kept", "--save-steps", "5"], stdout=subprocess.DEVNULL)
        try:
            assert process.wait(timeout=random.uniform(0.05, 0.4) if run < 20 else 60) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    assert killed > 0
    assert (tmp_path / "whole.pb").read_bytes() == (tmp_path / "parts.pb").read_bytes()
    whole, parts = scalars(tmp_path / "whole"), scalars(tmp_path / "parts")
    assert whole == parts and len(whole) == 2 * 12 * 32
    message = subprocess.run(words("parts") + ["--checkpoints", tmp_path / "kept", "--seed", "9"], capture_output=True, text=True)
    assert message.returncode == 1 and "was made with other" in message.stderr


# ---- any model: y = w x, with its training step written out

def node(name, op, *inputs, **attrs):
    kinds = {"f": "type: DT_FLOAT", "s": "shape { dim { size: -1 } }", "[]": "shape { }"}
    text = "".join('attr { key: "%s" value { %s } }\n' % (key.rstrip("_"), kinds.get(value, value)) for key, value in attrs.items())
    return 'node { name: "%s" op: "%s" %s %s }\n' % (name, op, " ".join('input: "%s"' % i for i in inputs), text)


def constant(name, value, dtype="DT_FLOAT", field="float_val"):
    return node(name, "Const", dtype="type: " + dtype, value="tensor { dtype: %s tensor_shape { } %s: %s }" % (dtype, field, value))


LINE = "".join([
    node("x", "Placeholder", dtype="f", shape="s"), node("y", "Placeholder", dtype="f", shape="s"), constant("zero", 0), constant("rate", 0.05),
    constant("axis", 0, "DT_INT32", "int_val"), node("w", "VarHandleOp", dtype="f", shape="[]", shared_name='s: "w"'),
    node("init", "AssignVariableOp", "w", "zero", dtype="f"), node("read", "ReadVariableOp", "w", dtype="f"),
    node("wx", "Mul", "read", "x", T="f"), node("error", "Sub", "wx", "y", T="f"), node("square", "Square", "error", T="f"),
    node("loss", "Mean", "square", "axis", T="f", Tidx="type: DT_INT32"), node("slope", "Mul", "error", "x", T="f"),
    node("gradient", "Mean", "slope", "axis", T="f", Tidx="type: DT_INT32"),
    node("train_step", "ResourceApplyGradientDescent", "w", "rate", "gradient", T="f"), "versions { producer: 1000 }"])


def crc(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    value ^= 0xffffffff
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff)


def field(number, data):
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def record(**features):
    body = b""
    for name, (packed, value) in features.items():
        data = struct.pack("<f", value)
        numbers = field(1, data) if packed else bytes([1 << 3 | 5]) + data
        body += field(1, field(1, name.encode()) + field(2, field(2, numbers)))
    example = field(1, body)
    length = struct.pack("<Q", len(example))
    return length + crc(length) + example + crc(example)


# ---- a model that feeds itself: its iterator's place is in the checkpoint

def listed(name, op, *inputs, types="DT_INT64", shapes="shape { }", **attrs):
    return node(name, op, *inputs, output_types="list { type: %s }" % types, output_shapes="list { %s }" % shapes, **attrs)


def whole(name, value):
    return constant(name, value, "DT_INT64", "int64_val")


FED = LINE[LINE.index('node { name: "zero"'):LINE.index("versions")].replace('node { name: "init" op', 'node { name: "first" op') + "".join([
    whole("from", 0), whole("to", 200), whole("by", 1), whole("room", 40), whole("seed", 3), whole("times", 4), whole("batch", 8),
    whole("ahead", 3), constant("drop", "true", "DT_BOOL", "bool_val"), constant("scale", 0.01),
    listed("range", "RangeDataset", "from", "to", "by"), node("seeds", "DummySeedGenerator"),
    listed("shuffle", "ShuffleDatasetV3", "range", "room", "seed", "seed", "seeds", reshuffle_each_iteration="b: true"),
    listed("repeat", "RepeatDataset", "shuffle", "times"),
    listed("batches", "BatchDatasetV2", "repeat", "batch", "drop", shapes="shape { dim { size: 8 } }"),
    listed("fetched", "PrefetchDataset", "batches", "ahead", shapes="shape { dim { size: 8 } }"),
    listed("iterator", "IteratorV2", shared_name='s: ""', container='s: ""', shapes="shape { dim { size: 8 } }"),
    node("begin", "MakeIterator", "fetched", "iterator"), node("init", "NoOp", "^first", "^begin"),
    listed("next", "IteratorGetNext", "iterator", shapes="shape { dim { size: 8 } }"),
    node("number", "Cast", "next", SrcT="type: DT_INT64", DstT="f"), node("x", "Mul", "number", "scale", T="f"),
    node("y", "Square", "x", T="f"), "versions { producer: 1000 }"])


def test_killed_and_gone_on_with_its_own_input(tmp_path):
    """Shuffled, repeated, batched and prefetched records come as if nothing had happened. MILLRACE_KILLS=20 for more."""
    (tmp_path / "fed.pbtxt").write_text(FED)

    def words(name, *more):
        return [COMMAND, "train", tmp_path / "fed.pbtxt", "--threads", "1", "--json", "--logdir", tmp_path / name, "--log-steps", "1", *more]
    subprocess.run(words("whole"), check=True, stdout=subprocess.DEVNULL)
    kills, killed = int(os.environ.get("MILLRACE_KILLS", 2)), 0
    while True:
        process = subprocess.Popen(words("parts", "--checkpoints", tmp_path / "kept", "--save-steps", "1"), stdout=subprocess.PIPE)
        if killed == kills:
            assert process.communicate(timeout=300) and process.returncode == 0
            break
        process.stdout.readline()  # the first of its steps is done, and perhaps some more
        time.sleep(killed % 5 * 0.01)
        process.kill()
        process.communicate()
        killed += 1
    curve = scalars(tmp_path / "whole")
    assert curve == scalars(tmp_path / "parts") and len(curve) == 100


X = np.linspace(-2, 2, 64).astype(np.float32)


@pytest.fixture
def line(tmp_path):
    (tmp_path / "line.pbtxt").write_text(LINE)
    np.savez(tmp_path / "a.npz", x=X, y=3 * X)
    np.savez_compressed(tmp_path / "b.npz", x=X.astype("f8"), target=(3 * X).astype("f8"))
    (tmp_path / "c.csv").write_text('x,"the ""y""",name\n' + "".join("%r,%r,\"n, %d\"\n" % (float(x), float(3 * x), i) for i, x in enumerate(X)))
    (tmp_path / "d.tfrecord").write_bytes(b"".join(record(x=(i % 2, x), y=(True, 3 * x)) for i, x in enumerate(X)))
    return tmp_path


@pytest.mark.parametrize("name, words", [
    ("a.npz", []), ("b.npz", ["--feed", "x=x", "--feed", "y=target"]), ("c.csv", ["--feed", "x=x", "--feed", 'y=the "y"']), ("d.tfrecord", []),
])
def test_any_model_from_files_of_columns(name, words, line):
    call = ("train", line / "line.pbtxt", "--data", line / name, *words, "--batch", 16, "--json", "--checkpoints", line / "kept")
    rows = [json.loads(row) for row in millrace(*call, "--steps", 100).splitlines()]
    assert rows[0]["step"] == 1 and rows[-1]["step"] == 100 and rows[-1]["loss"] < 1e-4 < rows[0]["loss"]
    rows = [json.loads(row) for row in millrace(*call, "--steps", 120).splitlines()]
    assert rows[0]["step"] == 101 and rows[0]["loss"] < 1e-4


@pytest.mark.parametrize("words, message", [
    (("--data", "a.npz", "--feed", "x=z"), "has no column 'z'"),
    (("--data", "a.npz", "--feed", "z=x"), "has no node 'z'"),
    (("--data", "a.npz", "--train-op", "step"), "has no node 'step'"),
    (("--data", "a.npz", "--batch", "65"), "less than one batch"),
    (("--data", "cut.npz",), "cut.npz"),
    (("--data", "cut.tfrecord",), "the record at byte"),
    (("--data", "bad.csv",), "line 3 has 1 cells"),
    (("--data", "empty",), "holds neither"),
])
def test_any_model_refuses(words, message, line):
    (line / "cut.npz").write_bytes((line / "a.npz").read_bytes()[:300])
    (line / "cut.tfrecord").write_bytes((line / "d.tfrecord").read_bytes()[:300])
    (line / "bad.csv").write_text("x,y\n1,2\n3\n")
    (line / "empty").mkdir()
    done = subprocess.run([COMMAND, "train", "line.pbtxt", *words], cwd=line, capture_output=True, text=True)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_pictures_in_folders_of_their_classes(line):
    for i in range(6):
        folder = line / "pictures" / ("class%d" % (i % 2))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ("%d.raw" % i)).write_bytes(bytes([i]))
    done = millrace("train", line / "line.pbtxt", "--data", line / "pictures", "--feed", "x=label", "--feed", "y=label", "--batch", 6, "--steps", 3,
                    "--json")
    assert len(done.splitlines()) >= 1
