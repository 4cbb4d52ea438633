#!/usr/bin/env python3
# double — the nets of a file of records in double precision: what the losses are when rounding hardly matters.
#
# usage: double.py RECORDS STEPS NAME ...
# Needs TensorFlow's Python. Variables begin with the float values; every float of the graph becomes a double, and batch
# normalisations, which know no doubles, are written out. Prints a line of JSON for each net: its losses.
import json
import os
import pickle
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import tensorflow.compat.v1 as tf
import values
from tensorflow.core.framework import graph_pb2, types_pb2

tf.disable_eager_execution()
FLOAT, DOUBLE = types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE
# What they give is float in any case: drawn as it was, and cast.
DRAWN = {"RandomUniform": [0], "TruncatedNormal": [0], "RandomStandardNormal": [0], "LogUniformCandidateSampler": [1, 2]}


class Writer:
    """Adds nodes to a GraphDef, named after the one that they stand for."""

    def __init__(self, graph, name):
        self.graph, self.name, self.n = graph, name, 0

    def add(self, op, *inputs, **attrs):
        node = self.graph.node.add(name="%s/_%d" % (self.name, self.n), op=op, input=inputs)
        self.n += 1
        for key, value in attrs.items():
            if isinstance(value, bool):
                node.attr[key].b = value
            else:
                node.attr[key].type = value
        return node.name

    def one(self, op, *inputs):
        return self.add(op, *inputs, T=DOUBLE)

    def constant(self, value):
        value = np.asarray(value)
        name = self.add("Const", dtype=tf.as_dtype(value.dtype).as_datatype_enum)
        self.graph.node[-1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
        return name

    def over(self, op, x):
        """Over all but the channels."""
        return self.add(op, x, self.constant(np.array([0, 1, 2], np.int32)), T=DOUBLE, Tidx=types_pb2.DT_INT32, keep_dims=False)


def normalised(w, x, epsilon):
    """What is left of x without its mean, the variance, the reciprocal of its root, the mean."""
    mean = w.over("Mean", x)
    rest = w.one("Sub", x, mean)
    variance = w.over("Mean", w.one("Square", rest))
    return rest, variance, w.one("Rsqrt", w.one("AddV2", variance, w.constant(epsilon))), mean


def forward(w, node):
    """Outputs of FusedBatchNormV3, in training."""
    x, scale, offset = node.input[:3]
    rest, variance, inverse, mean = normalised(w, x, node.attr["epsilon"].f)
    y = w.one("AddV2", w.one("Mul", rest, w.one("Mul", inverse, scale)), offset)
    size = w.add("Size", x, T=DOUBLE, out_type=types_pb2.DT_INT32)
    channels = w.add("Size", mean, T=DOUBLE, out_type=types_pb2.DT_INT32)
    n = w.one("RealDiv", *[w.add("Cast", v, SrcT=types_pb2.DT_INT32, DstT=DOUBLE) for v in (size, channels)])
    unbiased = w.one("Mul", variance, w.one("RealDiv", n, w.one("Sub", n, w.constant(1.0))))
    return [y, mean, unbiased, mean, variance, mean]


def backward(w, node):
    """Outputs of FusedBatchNormGradV3, in training."""
    dy, x, scale = node.input[:3]
    rest, _, inverse, _ = normalised(w, x, node.attr["epsilon"].f)
    hat = w.one("Mul", rest, inverse)
    product = w.one("Mul", dy, hat)
    left = w.one("Sub", w.one("Sub", dy, w.over("Mean", dy)), w.one("Mul", hat, w.over("Mean", product)))
    none = w.constant(np.zeros(0))
    return [w.one("Mul", left, w.one("Mul", inverse, scale)), w.over("Sum", product), w.over("Sum", dy), none, none]


WRITTEN_OUT = {"FusedBatchNormV3": forward, "FusedBatchNormGradV3": backward}


def doubled(data):
    """The GraphDef with doubles for floats."""
    old, new = graph_pb2.GraphDef.FromString(data), graph_pb2.GraphDef()
    new.versions.CopyFrom(old.versions)
    instead = {}    # "node:output" by the old name
    for node in old.node:
        if node.op in WRITTEN_OUT:
            outs = WRITTEN_OUT[node.op](Writer(new, node.name), node)
            instead.update({"%s:%d" % (node.name, i): out for i, out in enumerate(outs)})
            continue
        copy = new.node.add()
        copy.CopyFrom(node)
        if node.op in DRAWN:
            for i in DRAWN[node.op]:
                if node.op.startswith("Log") or node.attr["dtype"].type == FLOAT:
                    w = Writer(new, "%s/%d" % (node.name, i))
                    instead["%s:%d" % (node.name, i)] = w.add("Cast", "%s:%d" % (node.name, i), SrcT=FLOAT, DstT=DOUBLE)
            continue
        copy.attr.pop("_class", None)    # colocation with what may be gone
        for attr in copy.attr.values():
            if attr.type == FLOAT:
                attr.type = DOUBLE
            for i, kind in enumerate(attr.list.type):
                if kind == FLOAT:
                    attr.list.type[i] = DOUBLE
            if attr.HasField("tensor") and attr.tensor.dtype == FLOAT:
                attr.tensor.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(attr.tensor).astype(np.float64)))
    gone = {name.partition(":")[0] for name in instead if name.partition(":")[0] not in {n.name for n in new.node}}
    for node in new.node:
        if "/_" in node.name and node.op == "Cast" and node.attr["SrcT"].type == FLOAT:
            continue    # reads what was drawn itself
        for i, source in enumerate(node.input):
            if not source.startswith("^"):
                node.input[i] = instead.get(source if ":" in source else source + ":0", source)
            elif source[1:] in gone:
                node.input[i] = "^" + instead[source[1:] + ":0"]
    return new


def first_values(net):
    """{the edge that is assigned first: its float value}"""
    graph = graph_pb2.GraphDef.FromString(net["graph"])
    nodes = {node.name: node for node in graph.node}
    assigned, waiting = [], list(net["start"])
    while waiting:
        node = nodes[waiting.pop()]
        if node.op.startswith("Assign"):
            assigned.append(node)
        else:
            waiting += [name[1:] for name in node.input if name.startswith("^")]
    with tf.Graph().as_default() as g, tf.Session() as session:
        tf.import_graph_def(graph, name="")
        edges = [node.input[1] if ":" in node.input[1] else node.input[1] + ":0" for node in assigned]
        got = session.run({edge: edge for edge in edges}, {k + ":0": v for k, v in values.feeds(net["first"]).items()})
    return [(node.name, edge, got[edge]) for node, edge in zip(assigned, edges)]


def as_double(array):
    return array.astype(np.float64) if array.dtype == np.float32 else array


def train(net, steps):
    start = first_values(net)
    graph = doubled(net["graph"])
    losses = []
    with tf.Graph().as_default() as g, tf.Session() as session:
        tf.import_graph_def(graph, name="")
        fed = {}
        for assign, edge, value in start:    # each by a placeholder of its own: edges may be shared, and gone
            operation = g.get_operation_by_name(assign)
            hold = tf.placeholder(tf.float64 if value.dtype == np.float32 else value.dtype, value.shape)
            operation._update_input(1, hold)
            fed[hold] = as_double(value)
        session.run([g.get_operation_by_name(assign) for assign, _, _ in start], fed)
        for step in range(steps):
            feeds = {k + ":0": as_double(v) for k, v in values.feeds(net["feeds"], step).items()}
            loss, _ = session.run([net["loss"], net["train"]], feeds)
            losses.append(float(loss))
    return losses


def main():
    with open(sys.argv[1], "rb") as f:
        nets = pickle.load(f)
    for name in sys.argv[3:]:
        print(json.dumps(dict(name=name, losses=train(nets[name], int(sys.argv[2])))), flush=True)


main()
