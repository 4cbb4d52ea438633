"""cluster.py — steps over several tasks: servers of ours beside TensorFlow's, under the same client in the same run.

The client is TensorFlow's Python; "from C" is a loop over TF_SessionRun of our library, at both. Each row is measured in turn at
both clusters of four parameter tasks and three workers, all on this machine; the table has the medians of the rounds. Arguments:
names of rows, `--rounds N`. The bytes of a 100 MB tensor go from a parameter task to a worker that reads one number of it; "TCP": with
MILLRACE_LANE=tcp in our servers' environment.
"""

import ctypes
import os
import pathlib
import socket
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "parity"))
import cluster_parity as parity  # noqa: E402

JOBS = (("ps", 4), ("worker", 3))
LIBRARY = os.environ.get("MILLRACE_LIBRARY", os.path.join(parity.BUILD, "lib", "libmillrace.so"))
S = float(os.environ.get("BENCH_SECONDS", "1"))  # of a round, about


def start(ours, more=None):
    held = [socket.socket() for _ in range(sum(n for _, n in JOBS))]
    for s in held:
        s.bind(("localhost", 0))
    ports = iter([s.getsockname()[1] for s in held])
    cluster = {job: ["localhost:%d" % next(ports) for _ in range(n)] for job, n in JOBS}
    for s in held:
        s.close()
    os.environ.update(more or {})
    make = (lambda job, task: parity.OurServer(LIBRARY, cluster, job, task)) if ours else (
        lambda job, task: parity.TheirServer(cluster, job, task))
    servers = [make(job, task) for job, n in JOBS for task in range(n)]
    for name in more or {}:
        del os.environ[name]
    return servers


def timed(run, least=3):
    """microseconds of a call: the middle one of S seconds"""
    run()
    took, end = [], time.perf_counter() + S
    while len(took) < least or time.perf_counter() < end:
        begun = time.perf_counter()
        run()
        took.append((time.perf_counter() - begun) * 1e6)
    return statistics.median(took)


# ---- rows: each is given the workers' targets and returns a number

def session_of(targets, make):
    import tensorflow.compat.v1 as tf
    graph = tf.Graph()
    with graph.as_default():
        fetch, first = make(tf)
    session = tf.Session(targets[0], graph=graph)
    if first is not None:
        session.run(first)
    return session, fetch


def stepping(make, scale=1.0):
    def measure(targets):
        session, fetch = session_of(targets, make)
        call = session.make_callable(fetch)
        with session:
            return timed(call) * scale
    return measure


def null_step(tf):
    with tf.device("/job:worker/task:0"):
        return tf.constant(1.0) + tf.random.uniform([]), None


def one_variable(tf):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0, name="small", use_resource=True)
    with tf.device("/job:worker/task:0"):
        return v + 1.0, v.initializer


def thousand(ps):
    def make(tf):
        variables, updates = [], []
        for i in range(1000):
            with tf.device("/job:ps/task:%d" % (i % ps)):
                variables.append(tf.Variable(tf.ones([10]), use_resource=True))
        for v in variables:
            with tf.device("/job:worker/task:0"):
                less = v.read_value() * 0.01
            with tf.device(v.device):
                updates.append(v.assign_sub(less, read_value=False))
        return tf.group(*updates), [v.initializer for v in variables]
    return make


def bulk(tf):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(tf.ones([25000000]), name="large", use_resource=True)
        sent = tf.identity(v)
    with tf.device("/job:worker/task:0"):
        return tf.strided_slice(sent, [7], [8]), v.initializer


def loop(iterations):
    def make(tf):
        tf.disable_control_flow_v2()

        def body(i, v):
            with tf.device("/job:worker/task:1"):
                half = v * 0.5
            with tf.device("/job:ps/task:0"):
                return i + 1, half + 1.0
        with tf.device("/job:worker/task:0"):
            return tf.while_loop(lambda i, v: i < iterations, body, [0, 1.0])[1], None
    return make


def beside_bulk(targets):
    """a null step of one client, while another moves 100 MB tensors between the same two tasks"""
    (moving, much), (small, little) = session_of(targets, bulk), session_of(targets, one_variable)
    ends = threading.Event()

    def move():
        while not ends.is_set():
            moving.run(much)
    thread = threading.Thread(target=move)
    with moving, small:
        call = small.make_callable(little)
        thread.start()
        try:
            return timed(call)
        finally:
            ends.set()
            thread.join()


def three_workers(targets):
    """steps a second of three client processes, each with its worker, on two parameter tasks"""
    read, write = os.pipe()
    children = [parity.child(lambda n=n: asynchronous(n, targets), write) for n in range(3)]
    os.close(write)
    for pid in children:
        os.waitpid(pid, 0)
    with os.fdopen(read) as lines:
        return sum(float(line) for line in lines)


def asynchronous(n, targets):
    import numpy as np
    import tensorflow.compat.v1 as tf
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:%d" % n)):
        step = tf.train.get_or_create_global_step()
        x = tf.constant(np.random.rand(32, 64).astype(np.float32))
        for width in (64, 64, 10):
            x = tf.layers.dense(x, width, tf.nn.relu)
        train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(x ** 2), step)
        config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % n])
        with tf.Session(targets[n], config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            begun, steps = time.perf_counter(), 0
            while time.perf_counter() < begun + 2 * S:
                session.run(train)
                steps += 1
            print(steps / (time.perf_counter() - begun), flush=True)


def null_step_from_c(targets):
    import tensorflow.compat.v1 as tf
    P, Z = ctypes.c_void_p, ctypes.c_size_t

    class Output(ctypes.Structure):
        _fields_ = [("oper", P), ("index", ctypes.c_int)]
    c = ctypes.CDLL(LIBRARY)
    for name in ("TF_NewStatus", "TF_NewGraph", "TF_NewSessionOptions", "TF_NewSession", "TF_NewImportGraphDefOptions",
                 "TF_NewBufferFromString", "TF_GraphOperationByName"):
        getattr(c, name).restype = P
    c.TF_Message.restype = ctypes.c_char_p
    graph = tf.Graph()
    with graph.as_default():
        null_step(tf)
    data = graph.as_graph_def().SerializeToString()
    status, native, options = P(c.TF_NewStatus()), P(c.TF_NewGraph()), P(c.TF_NewSessionOptions())
    c.TF_SetTarget(options, targets[0].encode())
    c.TF_GraphImportGraphDef(native, P(c.TF_NewBufferFromString(data, Z(len(data)))), P(c.TF_NewImportGraphDefOptions()), status)
    session = P(c.TF_NewSession(native, options, status))
    fetch = Output(c.TF_GraphOperationByName(native, graph.get_operations()[-1].name.encode()), 0)
    out = P()

    def run():
        c.TF_SessionRun(session, None, None, None, 0, ctypes.byref(fetch), ctypes.byref(out), 1, None, 0, None, status)
        assert not c.TF_GetCode(status), c.TF_Message(status)
        c.TF_DeleteTensor(out)
    try:
        return timed(run)
    finally:
        c.TF_CloseSession(session, status)
        c.TF_DeleteSession(session, status)


ROWS = {
    "null step": (stepping(null_step), "us"),
    "null step from C": (null_step_from_c, "us"),
    "a variable of another task": (stepping(one_variable), "us"),
    "1,000 variables on 1 ps": (stepping(thousand(1), 1e-3), "ms"),
    "1,000 variables on 2 ps": (stepping(thousand(2), 1e-3), "ms"),
    "1,000 variables on 4 ps": (stepping(thousand(4), 1e-3), "ms"),
    "3 asynchronous workers": (three_workers, "steps/s"),
    "100 MB between tasks": (stepping(bulk, 1e-3), "ms"),
    "100 MB between tasks, TCP": (stepping(bulk, 1e-3), "ms"),
    "a variable beside 100 MB": (beside_bulk, "us"),
    "loop on 3 tasks, an iteration": (stepping(loop(10000), 1e-4), "us"),
}


def main():
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    arguments = sys.argv[1:]
    rounds = 3
    if "--rounds" in arguments:
        at = arguments.index("--rounds")
        rounds = int(arguments[at + 1])
        del arguments[at:at + 2]
    rows = [name for name in ROWS if not arguments or any(a in name for a in arguments)]
    theirs = start(False)  # forks: they would hold the standard inputs by which ours are ended
    ours, tcp = start(True), start(True, {"MILLRACE_LANE": "tcp"}) if any("TCP" in row for row in rows) else []
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print("%s, %d processors; TensorFlow %s; medians of %d rounds" % (cpu, os.cpu_count(), tf.__version__, rounds))
    print("%-32s%14s%14s%10s" % ("", "millrace", "TensorFlow", "ratio"))
    workers = -JOBS[1][1]
    for row in rows:
        measure, unit = ROWS[row]
        found = {"ours": [], "theirs": []}
        for _ in range(rounds):
            for who, servers in (("ours", tcp if "TCP" in row else ours), ("theirs", theirs)):
                found[who].append(measure([s.target for s in servers[workers:]]))
        a, b = statistics.median(found["ours"]), statistics.median(found["theirs"])
        print("%-32s%11.4g %-8s%8.4g%9.2fx" % (row, a, unit, b, a / b if unit == "steps/s" else b / a), flush=True)
    for server in ours + tcp + theirs:
        server.end()


if __name__ == "__main__":
    main()
