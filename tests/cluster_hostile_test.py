# cluster_hostile_test — a server among peers that mean no good: it serves the others, and what it holds has bounds.
import os
import random
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time

import millrace.compat.v1 as tf
import pytest

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(__file__), "..", "build"))
COMMAND = os.path.join(BUILD, "bin", "millrace")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
MASTER = ("CreateSession", "ExtendSession", "RunStep", "PartialRunSetup", "CloseSession", "ListDevices", "Reset", "MakeCallable",
          "RunCallable", "ReleaseCallable")
WORKER = ("GetStatus", "CreateWorkerSession", "DeleteWorkerSession", "RegisterGraph", "DeregisterGraph", "RunGraph", "CleanupGraph",
          "CleanupAll", "RecvTensor", "MarkRecvFinished", "Logging", "Tracing")
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz", "fuzz_graph_run")   # GraphDefs, broken and whole
SECONDS = float(os.environ.get("HOSTILE_SECONDS", "2"))   # of each way of being hostile
MOST_MORE = 300 << 20   # bytes


def frame(kind, flags, stream, data=b""):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def headers(path, more=()):
    def text(value):
        return bytes([len(value)]) + value
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc"), *more]
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def call(stream, path, message):
    return (frame(1, 4, stream, headers(path)) +
            frame(0, 1, stream, b"\0" + struct.pack(">I", len(message)) + message))


class Server:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()   # a graph may write files
        self.process = subprocess.Popen([COMMAND, "server"], stdout=subprocess.PIPE, text=True, cwd=self.folder.name)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline().strip())[1])

    def connect(self):
        return socket.create_connection(("localhost", self.port), timeout=10)

    def bytes(self):
        with open("/proc/%d/statm" % self.process.pid) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self):
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
        assert alive


@pytest.fixture
def server():
    made = Server()
    yield made
    made.end()


def say(s, data):
    """All of it, unless the other side has had enough."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def hear(s):
    s.settimeout(0)
    try:
        while s.recv(1 << 16):
            pass
    except OSError:
        pass
    s.settimeout(10)


# ---- the ways: each is called again and again

def half_open(server, rng, held):
    """connections that say nothing, or half of how one begins"""
    if len(held) < 200:
        held.append(server.connect())
        say(held[-1], PREFACE[:rng.randrange(len(PREFACE))])
    time.sleep(0.005)


def slow(server, rng, held):
    """a message that comes byte by byte, of a length that it never has"""
    if len(held) < 50:
        held.append(server.connect())
        say(held[-1], PREFACE + frame(1, 4, 1, headers(b"/tensorflow.MasterService/RunStep")) +
            frame(0, 0, 1, b"\0" + struct.pack(">I", 1 << 30)))
    say(rng.choice(held), frame(0, 0, 1, b"x"))
    time.sleep(0.001)


def floods(server, rng, held):
    """pings, settings, streams that are opened and reset, headers without end, windows of nothing"""
    with server.connect() as s:
        what = rng.randrange(5)
        data = {0: frame(6, 0, 0, b"12345678") * 1000, 1: frame(4, 0, 0) * 1000,
                2: b"".join(frame(1, 4, i, headers(b"/tensorflow.MasterService/RunStep")) + frame(3, 0, i, b"\0\0\0\x08")
                            for i in range(1, 2000, 2)),
                3: frame(1, 0, 1, headers(b"/x")) + frame(9, 0, 1, b"\0\1a\1b" * 200) * 1000,
                4: frame(8, 0, 0, b"\0\0\0\1") * 1000}[what]
        say(s, PREFACE)
        for _ in range(5):
            if not say(s, data):
                break
            hear(s)


def noise(server, rng, held):
    """bytes at random, and good calls in which some are changed"""
    data = bytearray(b"".join(call(i, b"/tensorflow.WorkerService/GetStatus", rng.randbytes(20)) for i in range(1, 20, 2)))
    for _ in range(rng.randrange(20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    with server.connect() as s:
        say(s, (PREFACE if rng.random() < 0.9 else b"") + (bytes(data) if rng.random() < 0.8 else rng.randbytes(1000)))
        hear(s)


def message(rng, depth=0):
    """of protobuf's form: fields at random"""
    out = b""
    for _ in range(rng.randrange(6)):
        field, kind = rng.randrange(1, 13), rng.choice((0, 0, 2, 2, 2, 1))
        if kind == 0:
            out += bytes([field << 3, rng.choice((0, 1, 5, 127))])
        elif kind == 1:
            out += bytes([field << 3 | 1]) + rng.randbytes(8)
        else:
            inner = rng.choice((b"", b"x", b"x:0", b"0000000000000001", rng.randbytes(9), message(rng, depth + 1) if depth < 3 else b"a"))
            out += bytes([field << 3 | 2, min(len(inner), 127)]) + inner[:127]
    return out


def calls(server, rng, held):
    """calls of all methods in any order, with messages that say anything; a third are cancelled"""
    with server.connect() as s:
        data = PREFACE
        for stream in range(1, 41, 2):
            service, method = rng.choice([("Master", m) for m in MASTER] + [("Worker", m) for m in WORKER])
            data += call(stream, ("/tensorflow.%sService/%s" % (service, method)).encode(), message(rng))
            if rng.random() < 0.3:
                data += frame(3, 0, stream, b"\0\0\0\x08")
        say(s, data)
        time.sleep(0.002)
        hear(s)


def field(number, value):
    """of a message: bytes, or a whole number"""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def names_in(graph):
    """of its nodes, as far as it is a GraphDef whose lengths take a byte or two"""
    at = 0
    while at + 4 < len(graph) and graph[at] == 10:
        size, at = graph[at + 1], at + 2
        if size > 127:
            size, at = size & 127 | graph[at] << 7, at + 1
        if graph[at] == 10:
            yield graph[at + 2:at + 2 + graph[at + 1]]
        at += size


class Caller:
    """one call after another"""
    def __init__(self, s):
        self.socket, self.stream, self.data = s, -1, b""
        say(s, PREFACE)

    def frame(self):
        """(kind, flags, stream, what it holds)"""
        while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
            more = self.socket.recv(1 << 16)
            if not more:
                raise OSError("hung up")
            self.data += more
        head, size = self.data[:9], int.from_bytes(self.data[:3], "big")
        held, self.data = self.data[9:9 + size], self.data[9 + size:]
        return head[3], head[4], int.from_bytes(head[5:], "big"), held

    def __call__(self, method, message):
        """the answer's message, or nothing"""
        self.stream += 2
        say(self.socket, call(self.stream, b"/tensorflow.MasterService/" + method, message))
        found, over = b"", False
        while not over:
            kind, flags, stream, held = self.frame()
            if stream == self.stream:
                found += held if kind == 0 else b""
                over = kind == 3 or flags & 1
        return found[5:]


def graphs(server, rng, held):
    """graphs that are broken, and whole ones in which some bytes are changed; each node of them is run"""
    if not held:
        held += [open(os.path.join(GRAPHS, name), "rb") for name in sorted(os.listdir(GRAPHS))]
    file = rng.choice(held)
    file.seek(0)
    graph = bytearray(file.read(15000))
    names = list(names_in(graph))
    for _ in range(rng.randrange(4) if graph else 0):
        graph[rng.randrange(len(graph))] = rng.choice((0, 1, 127, 255, rng.randrange(256)))
    with server.connect() as s:
        s.settimeout(60)
        caller = Caller(s)
        try:
            handle = caller(b"CreateSession", field(1, bytes(graph)))
            handle = handle[2:2 + handle[1]] if handle[:1] == b"\n" else b""
            for name in names[-8:] if handle else ():
                what = field(rng.choice((3, 4)), name + (b":0" if rng.random() < 0.5 else b""))
                caller(b"RunStep", field(1, handle) + what + field(5, field(2, 300)))
            if handle:
                caller(b"CloseSession", field(1, handle))
        except TimeoutError as error:
            raise AssertionError("no answer to a step of %r" % bytes(graph)) from error


@pytest.mark.parametrize("way", [half_open, slow, floods, noise, calls, graphs], ids=lambda way: way.__name__)
def test_others_are_served(server, way):
    ends = time.monotonic() + SECONDS
    failures = []

    def attack(seed):
        rng, held = random.Random(seed), []
        try:
            while time.monotonic() < ends and not failures:
                try:
                    way(server, rng, held)
                except OSError:
                    time.sleep(0.01)   # refused: as well
        except Exception as error:
            failures.append(error)
        for s in held:
            s.close()

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [])
        y = x * 2.0 + 1.0
    target = "grpc://localhost:%d" % server.port
    with tf.Session(target, graph=graph, config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
        assert session.run(y, {x: 1.0}) == 3.0
        before = server.bytes()
        threads = [threading.Thread(target=attack, args=(seed,)) for seed in range(2)]
        for thread in threads:
            thread.start()
        steps = 0
        while any(thread.is_alive() for thread in threads):
            try:
                assert session.run(y, {x: float(steps)}) == steps * 2.0 + 1.0
            except tf.errors.AbortedError as error:   # Reset ends everybody's sessions
                assert "not found" in str(error)
                break
            steps += 1
        for thread in threads:
            thread.join()
        assert not failures
        assert server.bytes() < before + MOST_MORE
    with tf.Session(target, graph=graph, config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
        assert session.run(y, {x: 4.0}) == 9.0
