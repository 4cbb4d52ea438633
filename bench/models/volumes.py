# volumes — the convolutions, pools and nets over volumes of `./run bench conv3d`: forward, and with the gradients of loss.
import numpy as np
import tensorflow as tf
from zoo import model, normal

K = tf.keras
L = tf.keras.layers


def gradients(network, *inputs):
    """The loss and its gradient by each input."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_mean(tf.square(network(*inputs)))
    return [loss] + list(tape.gradient(loss, inputs))


def layer(tiny, training, call, channels, filter_shape):
    n = 6 if tiny else 28
    x, w = normal(2, n, n, n, channels), normal(*filter_shape) * 0.1
    network = (lambda a, b: gradients(call, a, b)) if training else call
    return network, {"x": x, "w": w}


@model()
def conv3d_layer(tiny):
    return layer(tiny, False, lambda x, w: tf.nn.relu(tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")), 32, (3, 3, 3, 32, 48))


@model()
def conv3d_layer_step(tiny):
    return layer(tiny, True, lambda x, w: tf.nn.relu(tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")), 32, (3, 3, 3, 32, 48))


@model()
def conv3d_stride(tiny):
    return layer(tiny, False, lambda x, w: tf.nn.conv3d(x, w, [1, 2, 2, 2, 1], "SAME"), 16, (3, 3, 3, 16, 64))


@model()
def conv3d_transpose(tiny):
    def call(x, w):
        shape = [2] + [2 * n for n in x.shape[1:4]] + [w.shape[3]]
        return tf.nn.conv3d_transpose(x, w, shape, [1, 2, 2, 2, 1], "SAME")
    return layer(tiny, False, call, 32, (2, 2, 2, 16, 32))


@model()
def conv3d_max_pool(tiny):
    n = 6 if tiny else 32
    call = lambda x: tf.nn.max_pool3d(x, 2, 2, "VALID")
    return (lambda x: gradients(call, x)), {"x": normal(2, n, n, n, 32)}


@model()
def conv3d_mean_pool(tiny):
    n = 6 if tiny else 32
    call = lambda x: tf.nn.avg_pool3d(x, 3, 2, "SAME")
    return (lambda x: gradients(call, x)), {"x": normal(2, n, n, n, 32)}


@model()
def conv3d_unet_step(tiny):
    """A training step's forward and backward pass: convolution, normalisation, pool, transpose."""
    n, width = (8, 4) if tiny else (32, 16)
    shapes = [(3, 3, 3, 2, width), (3, 3, 3, width, width), (3, 3, 3, width, 2 * width), (2, 2, 2, width, 2 * width),
              (3, 3, 3, 2 * width, width)]
    weights = [normal(*shape) / np.sqrt(np.prod(shape[:4])).astype(np.float32) for shape in shapes]

    def block(x, w):
        x = tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")
        ones = tf.ones(x.shape[-1])
        return tf.nn.relu(tf.compat.v1.nn.fused_batch_norm(x, ones, 0 * ones, data_format="NDHWC")[0])

    def net(x, *w):
        first = block(block(x, w[0]), w[1])
        deep = block(tf.nn.max_pool3d(first, 2, 2, "VALID"), w[2])
        up = tf.nn.conv3d_transpose(deep, w[3], first.shape, [1, 2, 2, 2, 1], "SAME")
        return block(tf.concat([first, up], -1), w[4])
    return (lambda *values: gradients(net, *values)), dict(x=normal(1, n, n, n, 2), **{"w%d" % i: w for i, w in enumerate(weights)})
