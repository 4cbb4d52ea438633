#!/usr/bin/env python3
# rnn_graphs — recurrent nets as TensorFlow's Python and Keras write them, each forward and as a training step.
#
# usage: rnn_graphs.py FOLDER
# Writes rnn_NAME.pb and rnn_NAME_train.pb: feeds "x" [batch, STEPS, INPUTS] (and "lengths" [batch]), fetch "loss", target
# "train_step", and "init" for the variables. dynamic, bidirectional and lengths are loops of frames over TensorArrays;
# keras_lstm, keras_gru and keras_both are functional Whiles over TensorLists, as Keras traces its layers.
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
STEPS, INPUTS, UNITS, RATE = 40, 128, 128, 0.01


def random(*shape):
    return (np.random.RandomState(1).rand(*shape).astype(np.float32) - 0.5) * 0.2


class Cell:
    """An LSTM cell for dynamic_rnn, as TensorFlow's BasicLSTMCell is written."""
    state_size, output_size = (UNITS, UNITS), UNITS

    def __init__(self, name):
        self.kernel = v1.get_variable(name + "_kernel", initializer=random(INPUTS + UNITS, 4 * UNITS), use_resource=True)
        self.bias = v1.get_variable(name + "_bias", initializer=np.zeros(4 * UNITS, np.float32), use_resource=True)

    def zero_state(self, batch, dtype):
        return tuple(tf.zeros(tf.stack([batch, UNITS]), dtype) for _ in range(2))

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return self.zero_state(batch_size, dtype)

    def __call__(self, x, state, scope=None):
        c, h = state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), self.kernel), self.bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def dynamic(x, lengths):
    if lengths is not None:
        lengths = tf.concat([[STEPS], lengths[1:]], 0)    # the longest fills the result
    return v1.nn.dynamic_rnn(Cell("cell"), x, lengths, dtype=tf.float32)[0]


def bidirectional(x, lengths):
    there = v1.nn.dynamic_rnn(Cell("there"), x, dtype=tf.float32, scope="there")[0]
    back = v1.nn.dynamic_rnn(Cell("back"), tf.reverse(x, [1]), dtype=tf.float32, scope="back")[0]
    return tf.concat([there, tf.reverse(back, [1])], 2)


def write(graph, path):
    with open(path, "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())


def frames(name, build, path, train, with_lengths=False):
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, STEPS, INPUTS], name="x")
        lengths = v1.placeholder(tf.int32, [None], name="lengths") if with_lengths else None
        loss = tf.reduce_mean(tf.square(build(x, lengths)), name="loss")
        if train:
            v1.train.GradientDescentOptimizer(RATE).minimize(loss, name="train_step")
        tf.group([v.initializer for v in v1.global_variables()], name="init")
        write(graph, path)


def keras(name, make, path, train):
    """Keras traces the layer; its variables become the graph's."""
    layer = make()
    layer.build((None, STEPS, INPUTS))

    @tf.function(input_signature=[tf.TensorSpec([None, STEPS, INPUTS], tf.float32)])
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(x)))
        if train:
            weights = [w.value for w in layer.trainable_weights]
            for w, g in zip(weights, tape.gradient(loss, weights)):
                w.assign_sub(RATE * g)
        return loss

    traced = step.get_concrete_function()
    inner = traced.graph
    known = {id(v.handle): v.numpy() for v in traced.variables}
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, STEPS, INPUTS], name="x")
        variables, feeds = [], {inner.inputs[0].name: x}
        for outside, inside in inner.captures:
            own = v1.Variable(known[id(outside)], use_resource=True, name="v%d" % len(variables))
            variables.append(own)
            feeds[inside.name] = own.handle
        changes = [op.name for op in inner.get_operations() if op.type == "AssignSubVariableOp"]
        got = tf.import_graph_def(inner.as_graph_def(), feeds, [inner.outputs[0].name] + changes, name="traced")
        tf.identity(got[0], name="loss")
        if train:
            tf.group(got[1:], name="train_step")
        tf.group([v.initializer for v in variables], name="init")
        write(graph, path)


def main():
    folder = sys.argv[1]
    from keras import layers
    rows = [("dynamic", frames, dynamic), ("bidirectional", frames, bidirectional), ("lengths", frames, dynamic),
            ("keras_lstm", keras, lambda: layers.LSTM(UNITS, return_sequences=True, unroll=False)),
            ("keras_gru", keras, lambda: layers.GRU(UNITS, return_sequences=True, unroll=False)),
            ("keras_both", keras, lambda: layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True, unroll=False)))]
    for name, how, build in rows:
        for train in (False, True):
            path = os.path.join(folder, "rnn_%s%s.pb" % (name, "_train" if train else ""))
            if not os.path.exists(path):
                how(name, build, path, train, **(dict(with_lengths=True) if name == "lengths" else {}))


main()
