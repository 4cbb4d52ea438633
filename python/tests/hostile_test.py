"""hostile_test — what programs do to an interpreter: interrupts, forks, threads, thousands of sessions, calls at random.

MILLRACE_LONG=1 makes the counts those of a night: 10^5 sessions, 10^6 tensors, 10^4 calls at random.
"""
import gc
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

import millrace.compat.v1 as tf

LONG = os.environ.get("MILLRACE_LONG") == "1"
ENDLESS = """
import os, signal, sys, threading, time
import millrace.compat.v1 as tf
kind = sys.argv[1]
with tf.Graph().as_default(), tf.Session() as session:
    if kind == "loop":
        value = tf.while_loop(lambda i, x: i < 10**12, lambda i, x: (i + 1, x * 1.0000001), [tf.constant(0, tf.int64), tf.constant(1.0)])
    else:
        value = tf.FIFOQueue(1, [tf.float32]).dequeue()
    sent = []
    def send():
        time.sleep(0.3)
        sent.append(time.time())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send).start()
    try:
        session.run(value)
    except KeyboardInterrupt:
        print("%.4f" % (time.time() - sent[0]))
    print(session.run(tf.constant(2.0)))
"""


def memory():
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() / 1e6


@pytest.mark.parametrize("kind", ["loop", "queue"])
def test_an_interrupt_ends_a_step_and_not_the_session(kind):
    done = subprocess.run([sys.executable, "-c", ENDLESS, kind], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    took, after = done.stdout.split()
    assert float(took) < 30 and after == "2.0"      # measured: 0.3 ms; a loaded machine decides when a thread gets its turn


def _in_child(queue):
    with tf.Graph().as_default(), tf.Session() as session:
        queue.put(session.run(tf.reduce_sum(tf.ones([100, 100]))))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_has_sessions_of_its_own(method):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.reduce_sum(tf.matmul(tf.ones([64, 64]), tf.ones([64, 64])))
        before = session.run(x)
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=_in_child, args=(queue,))
        child.start()
        assert queue.get(timeout=120) == 10000.0
        child.join(120)
        assert child.exitcode == 0 and session.run(x) == before


def test_threads_share_a_session():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reduce_sum(x * 2)
        wrong = []

        def work(n):
            for i in range(50):
                if session.run(y, {x: np.full(n + 1, i, np.float32)}) != 2 * i * (n + 1):
                    wrong.append((n, i))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


def test_sessions_leave_nothing_behind():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [8])
        y = x + 1

        def some(n):
            for _ in range(n):
                with tf.Session() as session:
                    session.run(y, {x: np.zeros(8)})
        n = 100000 if LONG else 600
        some(max(300, n // 10))
        before = memory()
        some(n)
        assert memory() - before < 8


def test_graphs_leave_nothing_behind():
    def some(n):
        for _ in range(n):
            with tf.Graph().as_default(), tf.Session() as session:
                session.run(tf.constant(1.0) + tf.constant(2.0))
    n = 10000 if LONG else 150
    some(100)
    before = memory()
    some(n)
    assert memory() - before < 8


def test_tensors_leave_nothing_behind():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [256])
        call = session.make_callable(x * 2, [x])
        value, words = np.zeros(256, np.float32), tf.constant(["a" * 100] * 10)

        def some(n):
            for _ in range(n):
                call(value)
            for _ in range(n // 10):
                session.run(words)
        n = 1000000 if LONG else 4000
        some(2000)
        before = memory()
        some(n)
        assert memory() - before < 8


# ---------------------------------------- calls at random

CALLS = """
import random, sys, warnings
import numpy as np
import millrace.compat.v1 as tf
from millrace import op_table
warnings.simplefilter("ignore")
draw, n = random.Random(int(sys.argv[1])), int(sys.argv[2])
# what waits for others, reads and writes files, or asks the network is left out
SKIP = ("Queue", "File", "Server", "Reader", "Recv", "Send", "Write", "Summary", "Iterator", "Dataset", "Barrier", "Stage",
        "Save", "Restore", "Merge", "Delete", "Debug", "Collective", "TPU", "Take", "Accumulator", "Exit", "Dynamic", "Remote")
names = [o for o in op_table.names() if not any(s in o for s in SKIP) and op_table.info(o)[1] and not o.startswith("_")]
def value():
    kind = draw.randrange(9)
    shape = [draw.choice([0, 1, 2, 3]) for _ in range(draw.randrange(4))]
    if kind == 0: return draw.choice([0, 1, -1, 7, 2**31 - 1, -2**31, 2**40])
    if kind == 1: return draw.choice([0.0, -1.5, float("nan"), float("inf"), 1e30])
    if kind == 2: return draw.choice(["", "word", b"\\xff\\x00", "float", "SAME"])
    if kind == 3: return np.random.RandomState(draw.randrange(99)).standard_normal(shape).astype(draw.choice(["f", "d", "F"]))
    if kind == 4: return np.random.RandomState(draw.randrange(99)).randint(-3, 5, shape).astype(draw.choice(["i", "l", "B", "b"]))
    if kind == 5: return [value() for _ in range(draw.randrange(3))]
    if kind == 6: return draw.choice([None, True, False, (), {}, object()])
    if kind == 7: return draw.choice([tf.float32, tf.int32, tf.string, tf.bool, tf.resource])
    return draw.choice([[1, 2], [[1.0, 2.0], [3.0, 4.0]], [0], shape, [2, -1], [True]])
ran = 0
for _ in range(n):
    name = draw.choice(names)
    op = op_table.find(name)
    chosen = {p: value() for p in op.parameters}
    chosen.update({p: value() for p in op.optional if draw.random() < 0.2})
    with tf.Graph().as_default():
        try:
            made = op_table.function(name, True)(**{p + "_" if p in ("in", "from", "is", "lambda") else p: v for p, v in chosen.items()})
            config = tf.ConfigProto(operation_timeout_in_ms=5000)
            with tf.Session(config=config) as session:
                session.run(made if made is not None else [])
            ran += 1
        except (tf.errors.OpError, ValueError, TypeError, KeyError, AttributeError, NotImplementedError, OverflowError,
                RuntimeError, IndexError, UnicodeError):
            pass
print(ran)
"""


def test_calls_at_random_never_end_the_interpreter():
    n, seed = (10000, random.randrange(1 << 30)) if LONG else (250, 7)
    done = subprocess.run([sys.executable, "-c", CALLS, str(seed), str(n)], capture_output=True, text=True,
                          timeout=7200 if LONG else 300)
    assert done.returncode == 0, (seed, done.returncode, done.stderr[-2000:])
    assert int(done.stdout) > 0
