# shapes_models — Keras models and their gradients as graphs: {name: GraphDef}, pickled, to standard output. A process of its
# own: models are made with eager execution, the tables of shapes_cases without.
import os
import pickle
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import tensorflow as tf
from keras import layers


def image():
    x = inputs = keras.Input((33, 31, 3))
    for n in (4, 8):
        x = layers.Conv2D(n, 3, strides=2, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D()(layers.ReLU()(x))
    x = layers.UpSampling2D(interpolation="bilinear")(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.Conv2DTranspose(4, 3, strides=2)(layers.ZeroPadding2D()(x))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def words():
    x = inputs = keras.Input((None,), dtype="int32")
    x = layers.Embedding(30, 8)(x)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    x = layers.Bidirectional(layers.GRU(4, return_sequences=True))(x)
    return keras.Model(inputs, layers.Dense(3)(layers.LSTM(5)(x)))


def sizes():
    x = inputs = keras.Input((12, 6))
    y = layers.Conv1D(4, 3, padding="causal", dilation_rate=2)(x)
    y = layers.Flatten()(layers.Permute((2, 1))(layers.Cropping1D(1)(y)))
    z = layers.Reshape((6, -1))(layers.Dense(36)(layers.Concatenate()([y, layers.GlobalMaxPooling1D()(x)])))
    return keras.Model(inputs, layers.Dot((1, 1))([z, layers.Dropout(0.1)(z)]))


def graph_of(net):
    """The forward pass and the gradients of its sum, with layers written out and functions beside them."""
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net(x, training=True))
        return tape.gradient(loss, net.trainable_variables)

    made = step.get_concrete_function(tf.TensorSpec(net.inputs[0].shape, net.inputs[0].dtype))
    return made.graph.as_graph_def().SerializeToString()


if __name__ == "__main__":
    graphs = {"keras_" + build.__name__: graph_of(build()) for build in (image, words, sizes)}
    sys.stdout.buffer.write(pickle.dumps(graphs))
