# mlp_graph — writes the mlp bench's network as TensorFlow's Python makes it, with its gradients: mlp_graph.py FILE.
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def weights(*shape):
    state, out = 12345, []
    for _ in range(int(np.prod(shape))):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        out.append((np.float32(state >> 8) / np.float32(1 << 24) - np.float32(0.5)) * np.float32(0.2))
    return np.array(out, np.float32).reshape(shape)


x, labels = tf.placeholder(tf.float32, [8, 32], "x"), tf.placeholder(tf.float32, [8, 10], "labels")
w1, b1, w2, b2 = (tf.Variable(weights(*s), use_resource=True) for s in ((32, 64), (64,), (64, 10), (10,)))
h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
logits = tf.nn.bias_add(tf.matmul(h, w2), b2)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits))
tf.identity(loss, "loss")
tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
tf.variables_initializer(tf.global_variables(), name="init")
with open(sys.argv[1], "wb") as f:
    f.write(tf.get_default_graph().as_graph_def().SerializeToString())
