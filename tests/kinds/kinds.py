#!/usr/bin/env python3
# kinds — one of each kind of thing that a dataflow machine does, each with the answer that it must give.
#
# usage: kinds.py [--library PATH] [--tensorflow PATH] [--only REGEX] [--json FILE]
# Every kind runs in a process of its own. Without --tensorflow the answers are compared with the ones stated here; with
# it also with TensorFlow's own, which then has a column. Exit status 1 if an answer is wrong.
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path[:0] = [here, os.path.join(root, "tests", "parity")]
import capi
import graphdef as gd
from graphdef import BOOL, FLOAT, INT32, INT64, STRING, VARIANT, Function, GraphDef, Shape, Type

KINDS = {}
BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(root, "build"))
LIMIT = 30    # seconds for one kind


def kind(proves, expect, tensorflow=True):
    """Declares a kind: its function gives an answer, which must be `expect`. tensorflow=False: TensorFlow has no answer
    (a device of ours, or it crashes); a text instead says what it answers differently and why."""
    def declare(run):
        KINDS[run.__name__] = (run, proves, expect, tensorflow)
        return run
    return declare


class Machine:
    """The library under test, and how its second device is called."""

    def __init__(self, path):
        self.library, self.path = capi.Library(path), path
        self.real = "tensorflow" in os.path.basename(os.path.dirname(path)) or "libtensorflow_cc" in path
        self.second = "/device:CPU:1" if self.real else "/device:FAKE:0"
        self.devices = {"CPU": 2} if self.real else {"FAKE": 1}

    def open(self, g, config=b""):
        graph = capi.Graph(self.library, g.bytes())
        return graph, capi.Session(graph, config)


def plain(value):
    """As JSON can say it, floats to five digits."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode("latin1")
    if isinstance(value, float):
        return float("%.5g" % value)
    return value.item() if isinstance(value, np.generic) else value


def code_of(call):
    """The name of the code with which it is refused, or what it returns."""
    try:
        return call()
    except capi.Error as error:
        return capi.CODES[error.code]


def f(*values):
    return np.array(values, np.float32)


# ---- control flow

@kind("dead values stop at Merge, which takes the living one", [[-2.0, 0], [9.0, 1]])
def switch_and_merge(m):
    g = GraphDef()
    g.place("x"), g.place("p", BOOL)
    g.node("s", "Switch", "x p", T=FLOAT)
    g.node("off", "Neg", "s", T=FLOAT)
    g.node("on", "Square", "s:1", T=FLOAT)
    g.node("y", "Merge", "off on", T=FLOAT, N=2)
    graph, session = m.open(g)
    return [session.run(["y", "y:1"], {"x": np.float32(x), "p": np.array(p)}) for x, p in [(2, False), (3, True)]]


def frame(g, name, start, limit, body):
    """while (i < limit) i++, with `body(i, one)` adding nodes on the way; loop variables as (name, dtype, start)."""
    variables = [("i", INT32, start)] + body["variables"]
    g.node(name + "one", "Enter", body["one"], T=INT32, frame_name=name, is_constant=True, parallel_iterations=10)
    g.node(name + "limit", "Enter", limit, T=INT32, frame_name=name, is_constant=True, parallel_iterations=10)
    for v, dtype, value in variables:
        g.node(name + v + "enter", "Enter", value, T=dtype, frame_name=name, is_constant=False, parallel_iterations=10)
        g.node(name + v, "Merge", "%s%senter %s%snext" % (name, v, name, v), T=dtype, N=2)
    g.node(name + "less", "Less", "%si %slimit" % (name, name), T=INT32)
    g.node(name + "cond", "LoopCond", name + "less")
    for v, dtype, _ in variables:
        g.node(name + v + "s", "Switch", "%s%s %scond" % (name, v, name), T=dtype)
        g.node(name + v + "exit", "Exit", name + v + "s", T=dtype)
    g.node(name + "inc", "AddV2", "%sis:1 %sone" % (name, name), T=INT32)
    g.node(name + "inext", "NextIteration", name + "inc", T=INT32)
    body["build"](name)


@kind("a frame iterates: ten turns, and ten frames of one turn more each inside", {"sum": 45, "nested": 285})
def while_frames(m):
    g = GraphDef()
    g.const("zero", 0, np.int32), g.const("one", 1, np.int32), g.const("ten", 10, np.int32)

    def add(name):
        g.node(name + "add", "AddV2", "%sss:1 %sis:1" % (name, name), T=INT32)
        g.node(name + "snext", "NextIteration", name + "add", T=INT32)
    frame(g, "plain", "zero", "ten", {"one": "one", "variables": [("s", INT32, "zero")], "build": add})

    def nested(name):    # for j < i: s += i, so i * i in all
        def inner(n):
            g.node(n + "outer", "Enter", name + "is:1", T=INT32, frame_name=n, is_constant=True, parallel_iterations=10)
            g.node(n + "add", "AddV2", "%sss:1 %souter" % (n, n), T=INT32)
            g.node(n + "snext", "NextIteration", n + "add", T=INT32)
        g.node(name + "alive", "Identity", name + "is:1", T=INT32)
        g.node(name + "start", "Const", "^%salive" % name, dtype=INT32, value=np.array(0, np.int32))
        frame(g, name + "in", name + "start", name + "is:1",
              {"one": name + "one", "variables": [("s", INT32, name + "ss:1")], "build": inner})
        g.node(name + "snext", "NextIteration", name + "insexit", T=INT32)
    frame(g, "deep", "zero", "ten", {"one": "one", "variables": [("s", INT32, "zero")], "build": nested})
    _, session = m.open(g)
    total, deep = session.run(["plainsexit", "deepsexit"])
    return {"sum": total, "nested": deep}


def double_function(g):
    g.function("double", [("a", FLOAT)], [("b", FLOAT)], [("n", "AddV2", "a a", {"T": FLOAT})], {"b": "n:z:0"})


@kind("a call is its body: functions inlined, one within the other", [12.0, 20.0])
def call_inlined(m):
    g = GraphDef()
    double_function(g)
    call = {"Tin": [FLOAT], "Tout": [FLOAT], "f": Function("double")}
    g.function("four", [("a", FLOAT)], [("b", FLOAT)], [("p", "PartitionedCall", "a", call), ("q", "PartitionedCall", "p:output:0", call)],
               {"b": "q:output:0"})
    g.place("x")
    g.node("y", "PartitionedCall", "x", Tin=[FLOAT], Tout=[FLOAT], f=Function("four"))
    _, session = m.open(g)
    return [session.run(["y"], {"x": np.float32(x)})[0] for x in (3, 5)]


@kind("a function that calls itself ends when its condition does", 120, tensorflow=False)
def call_recursive(m):
    g = GraphDef()
    call = dict(Tcond=BOOL, Tin=[INT32], Tout=[INT32])
    g.function("one", [("n", INT32)], [("r", INT32)], [("c", "Const", "", {"dtype": INT32, "value": np.array(1, np.int32)})], {"r": "c:output:0"})
    g.function("more", [("n", INT32)], [("r", INT32)], [
        ("one", "Const", "", {"dtype": INT32, "value": np.array(1, np.int32)}), ("less", "Sub", "n one:output:0", {"T": INT32}),
        ("rest", "PartitionedCall", "less:z:0", {"Tin": [INT32], "Tout": [INT32], "f": Function("factorial")}),
        ("all", "Mul", "n rest:output:0", {"T": INT32})], {"r": "all:z:0"})
    g.function("factorial", [("n", INT32)], [("r", INT32)], [
        ("two", "Const", "", {"dtype": INT32, "value": np.array(2, np.int32)}), ("end", "Less", "n two:output:0", {"T": INT32}),
        ("if", "If", "end:z:0 n", dict(call, then_branch=Function("one"), else_branch=Function("more")))], {"r": "if:output:0"}, stateful=True)
    g.place("n", INT32)
    g.node("y", "PartitionedCall", "n", Tin=[INT32], Tout=[INT32], f=Function("factorial"))
    _, session = m.open(g)
    return session.run(["y"], {"n": np.array(5, np.int32)})[0]


def while_graph(lower):
    g = GraphDef()
    g.function("less", [("i", INT32), ("x", FLOAT)], [("r", BOOL)], [
        ("k", "Const", "", {"dtype": INT32, "value": np.array(10, np.int32)}), ("c", "Less", "i k:output:0", {"T": INT32})], {"r": "c:z:0"})
    g.function("turn", [("i", INT32), ("x", FLOAT)], [("j", INT32), ("y", FLOAT)], [
        ("one", "Const", "", {"dtype": INT32, "value": np.array(1, np.int32)}), ("n", "AddV2", "i one:output:0", {"T": INT32}),
        ("d", "AddV2", "x x", {"T": FLOAT})], {"j": "n:z:0", "y": "d:z:0"})
    g.const("zero", 0, np.int32), g.place("x")
    g.node("w", "While", "zero x", T=[INT32, FLOAT], cond=Function("less"), body=Function("turn"), _lower_using_switch_merge=lower,
           output_shapes=[], parallel_iterations=10)
    g.node("y", "Identity", "w:1", T=FLOAT)
    return g


@kind("a functional While gives the same as a frame and as calls of its body", [3072.0, 3072.0])
def while_function(m):
    return [m.open(while_graph(lower))[1].run(["y"], {"x": np.float32(3)})[0] for lower in (True, False)]


# ---- shapes that only running tells

@kind("sizes found while running flow on", [[[0, 2], [3.0, 5.0], 8.0], [[], [], 0.0], [[0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0], 4.0]])
def where_is_late(m):
    g = GraphDef()
    g.place("x", FLOAT, [-1]), g.const("zero", 0, np.float32), g.const("axis", 0, np.int32), g.const("axes", [0], np.int32)
    g.const("flat", [-1], np.int32)
    g.node("p", "Greater", "x zero", T=FLOAT)
    g.node("w", "Where", "p", T=BOOL)
    g.node("i", "Reshape", "w flat", T=INT64, Tshape=INT32)
    g.node("v", "GatherV2", "x i axis", Tparams=FLOAT, Tindices=INT64, Taxis=INT32)
    g.node("s", "Sum", "v axes", T=FLOAT, Tidx=INT32, keep_dims=False)
    _, session = m.open(g)
    return [session.run(["i", "v", "s"], {"x": f(*x)}) for x in ([3, -1, 5], [-1, -2], [1, 1, 1, 1])]


@kind("axes that are fed decide the shape in each step", [[3.0, 5.0, 7.0], [3.0, 12.0], 15.0, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]])
def sum_with_fed_axes(m):
    g = GraphDef()
    g.place("x"), g.place("axes", INT32)
    g.node("y", "Sum", "x axes", T=FLOAT, Tidx=INT32, keep_dims=False)
    _, session = m.open(g)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return [session.run(["y"], {"x": x, "axes": np.array(a, np.int32)})[0] for a in ([0], [1], [0, 1], [])]


@kind("an index out of range is refused while running, by name; the session lives on", ["INVALID_ARGUMENT", True, 3.0])
def gather_out_of_range(m):
    g = GraphDef()
    g.place("x"), g.place("i", INT32), g.const("axis", 0, np.int32)
    g.node("here", "GatherV2", "x i axis", Tparams=FLOAT, Tindices=INT32, Taxis=INT32)
    _, session = m.open(g)
    try:
        session.run(["here"], {"x": f(1, 2, 3), "i": np.array(3, np.int32)})
        code, named = "OK", False
    except capi.Error as error:
        code, named = capi.CODES[error.code], "here" in error.message
    return [code, named, session.run(["here"], {"x": f(1, 2, 3), "i": np.array(2, np.int32)})[0]]


@kind("what Split cuts ConcatV2 joins again, in another order", [[3.0, 4.0, 5.0, 0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
def concat_and_split(m):
    g = GraphDef()
    g.place("x"), g.const("axis", 0, np.int32)
    g.node("s", "Split", "axis x", T=FLOAT, num_split=2)
    g.node("c", "ConcatV2", "s:1 s axis", T=FLOAT, Tidx=INT32, N=2)
    _, session = m.open(g)
    return session.run(["c", "s"], {"x": np.arange(6, dtype=np.float32)})


@kind("strings are values like others", [["ab-1", "c-1"], [4, 3], 1000])
def strings(m):
    g = GraphDef()
    g.place("x", STRING), g.place("y", STRING)
    g.node("j", "StringJoin", "x y", N=2, separator="-")
    g.node("n", "StringLength", "j", unit="BYTE")
    _, session = m.open(g)
    joined, sizes = session.run(["j", "n"], {"x": np.array([b"ab", b"c"], object), "y": np.array(b"1", object)})
    long, _ = session.run(["j", "n"], {"x": np.array([b"x" * 499], object), "y": np.array(b"y" * 500, object)})
    return [joined, sizes, len(long[0])]


@kind("a pushed list is a new list: the old one is as it was", [[[1.0]], [[1.0], [2.0]], [[1.0], [3.0]], 1])
def list_push_copies(m):
    g = GraphDef()
    g.const("shape", [1], np.int32), g.const("max", -1, np.int32)
    g.node("e", "EmptyTensorList", "shape max", element_dtype=FLOAT, shape_type=INT32)
    for name, start, value in [("a", "e", 1), ("b", "a", 2), ("c", "a", 3)]:
        g.const(name + "v", [value], np.float32)
        g.node(name, "TensorListPushBack", "%s %sv" % (start, name), element_dtype=FLOAT)
        g.node(name + "s", "TensorListStack", "%s shape" % name, element_dtype=FLOAT, num_elements=-1)
    g.node("n", "TensorListLength", "a")
    _, session = m.open(g)
    return session.run(["as", "bs", "cs", "n"])


# ---- state

@kind("a random stream belongs to the session: it goes on whichever plan runs it, and starts anew in another", [True, True, True])
def random_across_plans(m):
    g = GraphDef()
    g.const("shape", [2], np.int32), g.const("two", 2, np.float32)
    g.node("r", "RandomUniform", "shape", T=INT32, dtype=FLOAT, seed=5, seed2=6)
    g.node("d", "Mul", "r two", T=FLOAT)
    graph, session = m.open(g)
    first, second = session.run(["r"])[0], session.run(["d"])[0] / 2
    other = capi.Session(graph)
    again, then = other.run(["d"])[0] / 2, other.run(["r"])[0]
    third, fourth = session.run(["r"])[0], other.run(["r", "d"])[0]
    return [not np.array_equal(first, second), bool(np.array_equal(first, again) and np.array_equal(second, then)), bool(np.array_equal(third, fourth))]


def hammer(read, write, seconds=0.5):
    """What readers see while a writer writes, until each has read: how many answers mix two writes, and whether all are known."""
    stop, torn, seen, errors, begun = threading.Event(), [0], set(), [], set()

    def reading():
        while not stop.is_set():
            try:
                value = read()
            except capi.Error as error:
                errors.append(str(error))
                return
            finally:
                begun.add(threading.current_thread())
            torn[0] += bool(np.any(value != value[0]))
            seen.add(float(value[0]))
    threads = [threading.Thread(target=reading) for _ in range(3)]
    for t in threads:
        t.start()
    end = time.time() + seconds
    k = 0
    while time.time() < end or len(begun) < len(threads):
        k += 1
        write(np.full(5000, k % 100 + 1, np.float32))
    stop.set()
    for t in threads:
        t.join()
    return torn[0], bool(seen and seen <= set(float(v) for v in range(101))), errors


@kind("a read of a resource variable is one value, while another step assigns", {"torn": 0, "known values": True, "errors": []})
def resource_read_while_assigned(m):
    g = GraphDef()
    g.variable("v", np.zeros(5000, np.float32))
    g.place("x")
    g.node("a", "AssignVariableOp", "v x", dtype=FLOAT)
    _, session = m.open(g)
    session.run(targets=["v_init"])
    torn, known, errors = hammer(lambda: session.run(["v_read"])[0], lambda x: session.run(feeds={"x": x}, targets=["a"]))
    return {"torn": torn, "known values": known, "errors": errors}


@kind("a read of a ref variable while another step assigns sees values that were assigned", {"known values": True, "errors": []})
def ref_read_while_assigned(m):
    g = GraphDef()
    g.node("v", "VariableV2", dtype=FLOAT, shape=Shape([5000]), container="", shared_name="")
    g.const("zeros", np.zeros(5000, np.float32)), g.place("x")
    g.node("init", "Assign", "v zeros", T=FLOAT, validate_shape=True, use_locking=True)
    g.node("a", "Assign", "v x", T=FLOAT, validate_shape=True, use_locking=True)
    _, session = m.open(g)
    session.run(targets=["init"])
    _, known, errors = hammer(lambda: session.run(["v"])[0], lambda x: session.run(feeds={"x": x}, targets=["a"]))
    return {"known values": known, "errors": errors}


@kind("a variable written to a file comes back from it", [[[1.5, -2.0], [0.25, 3.0]], "NOT_FOUND"])
def save_and_restore(m):
    path = os.path.join(tempfile.mkdtemp(), "model").encode()
    g = GraphDef()
    g.place("prefix", STRING), g.place("name", STRING)
    g.variable("v", np.array([[1.5, -2], [0.25, 3]], np.float32))
    g.const("names", np.array([b"net/v"], object)), g.const("slices", np.array([b""], object)), g.const("zero", np.zeros((2, 2), np.float32))
    g.node("save", "SaveV2", "prefix names slices v_read", dtypes=[FLOAT])
    g.node("clear", "AssignVariableOp", "v zero", dtype=FLOAT)
    g.node("restored", "RestoreV2", "prefix name slices", dtypes=[FLOAT])
    g.node("set", "AssignVariableOp", "v restored", dtype=FLOAT)
    _, session = m.open(g)
    prefix = {"prefix": np.array(path, object)}
    session.run(targets=["v_init"])
    session.run(feeds=prefix, targets=["save"])
    session.run(targets=["clear"])
    session.run(feeds=dict(prefix, name=np.array([b"net/v"], object)), targets=["set"])
    wrong = code_of(lambda: session.run(feeds=dict(prefix, name=np.array([b"net/w"], object)), targets=["set"]))
    return [session.run(["v_read"])[0], wrong]


# ---- waiting

def queue_graph():
    g = GraphDef()
    g.node("q", "FIFOQueueV2", component_types=[FLOAT], shapes=[Shape([])], capacity=4, container="", shared_name="q")
    g.place("x")
    g.node("put", "QueueEnqueueV2", "q x", Tcomponents=[FLOAT], timeout_ms=-1)
    g.node("get", "QueueDequeueV2", "q", component_types=[FLOAT], timeout_ms=-1)
    g.node("close", "QueueCloseV2", "q", cancel_pending_enqueues=False)
    return g


@kind("a dequeue waits for an element, for its deadline, or for the end of the queue", ["DEADLINE_EXCEEDED", 7.0, "OUT_OF_RANGE"])
def dequeue_waits(m):
    _, session = m.open(queue_graph())
    late = code_of(lambda: session.run(["get"], options=gd.run_options(100)))
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(session.run(["get"])[0]))
    waiting.start()
    time.sleep(0.1)
    session.run(feeds={"x": np.float32(7)}, targets=["put"])
    waiting.join(10)
    session.run(targets=["close"])
    return [late, answers[0] if answers else "nothing", code_of(lambda: session.run(["get"]))]


@kind("closing the session cancels a step that waits", "CANCELLED")
def dequeue_cancelled(m):
    _, session = m.open(queue_graph())
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(code_of(lambda: session.run(["get"]))))
    waiting.start()
    time.sleep(0.2)
    m.library.checked("TF_CloseSession", session.session)
    waiting.join(10)
    return answers[0] if answers else "still waiting"


# ---- gradients

@kind("an operation made of others has the value and the gradient of its formula", [[-2.40761, -1.40761, -0.40761], [0.90997, -0.24473, -0.66524]])
def composed_and_gradient(m):
    g = GraphDef()
    g.place("x", FLOAT, [1, 3]), g.place("dy", FLOAT, [1, 3])
    g.node("y", "LogSoftmax", "x", T=FLOAT)
    graph, session = m.open(g)
    dx = graph.gradients(["y"], ["x"], ["dy"])
    y, dx = session.run(["y"] + dx, {"x": f(1, 2, 3).reshape(1, 3), "dy": f(1, 0, 0).reshape(1, 3)})
    return [y[0], dx[0]]


@kind("Conv2D and both gradients follow the filter when it changes between steps", [[45.0, 9.0, 36.0], [90.0, 18.0, 36.0], [90.0, 18.0, 36.0]])
def convolution_follows_its_variable(m):
    g = GraphDef()
    geometry = dict(T=FLOAT, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC", dilations=[1, 1, 1, 1], explicit_paddings=[],
                    use_cudnn_on_gpu=True)
    g.place("x", FLOAT, [1, 3, 3, 1]), g.variable("w", np.ones((3, 3, 1, 1), np.float32))
    g.const("ones", np.ones((1, 1, 1, 1), np.float32)), g.const("more", np.ones((3, 3, 1, 1), np.float32))
    g.const("xs", [1, 3, 3, 1], np.int32), g.const("ws", [3, 3, 1, 1], np.int32), g.const("all", [0, 1, 2, 3], np.int32)
    g.node("y", "Conv2D", "x w_read", **geometry)
    g.node("dx", "Conv2DBackpropInput", "xs w_read ones", **geometry)
    g.node("dw", "Conv2DBackpropFilter", "x ws ones", **geometry)
    for name, source in [("sy", "y"), ("sdx", "dx"), ("sdw", "dw")]:
        g.node(name, "Sum", source + " all", T=FLOAT, Tidx=INT32, keep_dims=False)
    g.node("grow", "AssignAddVariableOp", "w more", dtype=FLOAT)
    _, session = m.open(g)
    x = {"x": np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1) + 1}
    session.run(targets=["w_init"])
    out = [session.run(["sy", "sdx", "sdw"], x)]
    session.run(targets=["grow"])
    out += [session.run(["sy", "sdx", "sdw"], x) for _ in range(2)]
    return [[y, dx, dw - 9] for y, dx, dw in out]


@kind("a gradient goes through the branch that was taken", [[9.0, 6.0], [-3.0, -1.0]], tensorflow="the C interface has no gradient for this Merge")
def gradient_through_cond(m):
    g = GraphDef()
    g.place("x", FLOAT, []), g.place("p", BOOL, [])
    g.node("s", "Switch", "x p", T=FLOAT)
    g.node("off", "Neg", "s", T=FLOAT)
    g.node("on", "Square", "s:1", T=FLOAT)
    g.node("y", "Merge", "off on", T=FLOAT, N=2)
    graph, session = m.open(g)
    dx = graph.gradients(["y"], ["x"], None)
    return [session.run(["y"] + dx, {"x": np.float32(3), "p": np.array(p)}) for p in (True, False)]


@kind("a gradient goes back through every turn of a frame", [1024.0, 1024.0], tensorflow="the C interface adds gradients to loops made by TF_NewWhile only")
def gradient_through_frame(m):
    g = GraphDef()
    g.const("zero", 0, np.int32), g.const("one", 1, np.int32), g.const("ten", 10, np.int32), g.place("x", FLOAT, [])

    def double(name):
        g.node(name + "add", "AddV2", "%sys:1 %sys:1" % (name, name), T=FLOAT)
        g.node(name + "ynext", "NextIteration", name + "add", T=FLOAT)
    frame(g, "w", "zero", "ten", {"one": "one", "variables": [("y", FLOAT, "x")], "build": double})
    graph, session = m.open(g)
    dx = graph.gradients(["wyexit"], ["x"], None)
    return [session.run(dx, {"x": np.float32(x)})[0] for x in (3, -1)]


@kind("a gradient goes back through every turn of a loop", [[3072.0, 1024.0]], tensorflow="the C interface adds gradients to loops made by TF_NewWhile only")
def gradient_through_while(m):
    graph, session = m.open(while_graph(True))
    dx = graph.gradients(["y"], ["x"], None)
    return [session.run(["y"] + dx, {"x": np.float32(3)})]


# ---- devices, and operations from outside

@kind("values travel to a second device and back, once each, also dead ones and strings", [[8.0, 10.0], "ab!", [5.0, 1]])
def send_and_receive(m):
    g = GraphDef()
    cpu = "/device:CPU:0"
    g.place("x"), g.const("one", 1, np.float32, device=m.second), g.const("two", 2, np.float32, device=cpu)
    g.node("a", "AddV2", "x one", device=m.second, T=FLOAT)
    g.node("b", "Mul", "a two", device=cpu, T=FLOAT)
    g.place("t", STRING), g.const("mark", np.array(b"!", object), device=cpu)
    g.node("t2", "Identity", "t", device=m.second if m.real else cpu, T=STRING)
    g.node("joined", "StringJoin", "t2 mark", device=cpu, N=2, separator="")
    g.place("p", BOOL)
    g.node("s", "Switch", "x p", device=cpu, T=FLOAT)
    g.node("far", "AddV2", "s:1 one", device=m.second, T=FLOAT)
    g.node("near", "Neg", "s", device=cpu, T=FLOAT)
    g.node("m", "Merge", "near far", device=cpu, T=FLOAT, N=2)
    _, session = m.open(g, gd.config(devices=m.devices))
    b = session.run(["b"], {"x": f(3, 4)})[0]
    text = session.run(["joined"], {"t": np.array(b"ab", object)})[0].item()
    return [b, text, session.run(["m", "m:1"], {"x": np.float32(4), "p": np.array(True)})]


def compiler(m, source, target):
    """Builds a library of kernels against our headers and the library under test."""
    folder = os.path.dirname(m.path)
    names = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"] if m.real else [os.path.basename(m.path)]
    command = ["cc", "-std=gnu17", "-O1", "-shared", "-fPIC", "-I", os.path.join(root, "include"), source, "-o", target, "-L", folder]
    subprocess.run(command + ["-l:" + n for n in names] + ["-Wl,-rpath," + folder], check=True)


@kind("a kernel registered at run time is an operation like others", [[5, 0, 0], [5, 6, 0], True])
def kernel_from_a_library(m):
    target = os.path.join(tempfile.mkdtemp(), "zero_out.so")
    compiler(m, os.path.join(here, "zero_out.c"), target)
    m.library.checked("TF_LoadLibrary", target.encode())
    g = GraphDef()
    g.place("x", INT32)
    g.node("y", "KindsZeroOut", "x")
    g.node("z", "KindsZeroOut", "x", keep=2)
    _, session = m.open(g)
    y, z = session.run(["y", "z"], {"x": np.array([5, 6, 7], np.int32)})
    return [y, z, "KindsZeroOut" in m.library.kernels()]


# ---- other ways to run

@kind("one operation runs by itself, without a graph", [[[19.0, 22.0], [43.0, 50.0]], "INVALID_ARGUMENT"])
def eager(m):
    lib = m.library
    options = lib.TFE_NewContextOptions()
    context = lib.checked("TFE_NewContext", options)

    def multiply(a, b):
        op = lib.checked("TFE_NewOp", context, b"MatMul")
        handles = [lib.checked("TFE_NewTensorHandle", lib.tensor(np.array(v, np.float32))) for v in (a, b)]
        for handle in handles:
            lib.checked("TFE_OpAddInput", op, handle)
        lib.TFE_OpSetAttrType(op, b"T", capi.FLOAT)
        out, count = (capi.P * 1)(), capi.c.c_int(1)
        try:
            lib.checked("TFE_Execute", op, out, capi.c.byref(count))
            return lib.array(lib.checked("TFE_TensorHandleResolve", out[0]))
        finally:
            lib.TFE_DeleteOp(op)
    product = multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    return [product, code_of(lambda: multiply([[1, 2]], [[1, 2]]))]


@kind("a step in parts: feeds and fetches as they come, each once", [3.0, 15.0, "INVALID_ARGUMENT"])
def partial_run(m):
    g = GraphDef()
    g.place("a", FLOAT, []), g.place("b", FLOAT, []), g.const("one", 1, np.float32)
    g.node("x", "AddV2", "a one", T=FLOAT)
    g.node("y", "Mul", "x b", T=FLOAT)
    _, session = m.open(g)
    handle = session.partial_setup(["a", "b"], ["x", "y"])
    x = session.partial_run(handle, ["x"], {"a": np.float32(2)})[0]
    y = session.partial_run(handle, ["y"], {"b": np.float32(5)})[0]
    return [x, y, code_of(lambda: session.partial_run(handle, ["y"], {"b": np.float32(5)}))]


@kind("feeding an inner edge cuts what is before it; unknown kernels and uninitialised variables are told apart",
      [25.0, "INVALID_ARGUMENT", "FAILED_PRECONDITION"])
def walls_and_refusals(m):
    g = GraphDef()
    g.place("x", FLOAT, [])
    g.node("y", "Neg", "x", T=FLOAT)
    g.node("z", "Square", "y", T=FLOAT)
    g.variable("v", f(1))
    _, session = m.open(g)
    return [session.run(["z"], {"y": np.float32(5)})[0], code_of(lambda: session.run(["z"])), code_of(lambda: session.run(["v_read"]))]


# ---- the table

def serve(path, name):
    """Runs one kind and prints its answer."""
    run = KINDS[name][0]
    try:
        answer = plain(run(Machine(path)))
    except capi.Error as error:
        answer = "%s: %s" % (capi.CODES[error.code], error.message.splitlines()[0][:150] if error.message else "")
    except Exception as error:
        answer = repr(error)[:200]
    print("ANSWER " + json.dumps(answer), flush=True)
    os._exit(0)


def ask(path, name):
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--serve", path, name], capture_output=True, text=True, timeout=LIMIT,
                              env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
    except subprocess.TimeoutExpired:
        return "hangs"
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            return json.loads(line[7:])
    return "dies (%d)" % done.returncode


def same(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, (int, float)):
        return abs(a - b) <= 2e-5 * max(1.0, abs(b))
    return a == b


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--tensorflow")
    p.add_argument("--only", default="")
    p.add_argument("--json")
    p.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.serve:
        serve(*options.serve)
    names = [n for n in KINDS if re.search(options.only, n)]
    wrong, rows = 0, []
    for name in names:
        _, proves, expect, theirs = KINDS[name]
        ours = ask(options.library, name)
        good = same(plain(expect), ours)
        row = dict(name=name, proves=proves, expected=plain(expect), ours=ours, ok=good)
        note = ""
        if options.tensorflow:
            row["tensorflow"] = ask(options.tensorflow, name)
            agrees = same(plain(expect), row["tensorflow"])
            note = "   TensorFlow: the same" if agrees else "   TensorFlow: %s" % json.dumps(row["tensorflow"])[:160]
            if not agrees and theirs is True:
                note += "   (NOT WHAT IS STATED HERE)"
        wrong += not good
        rows.append(row)
        print("%-34s %-5s %s\n%40s %s%s" % (name, "ok" if good else "WRONG", proves, "ours:", json.dumps(ours)[:200], note))
        if not good:
            print("%40s %s" % ("stated:", json.dumps(plain(expect))[:200]))
        sys.stdout.flush()
    print("%d kinds, %d wrong" % (len(names), wrong))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
