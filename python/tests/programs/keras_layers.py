"""Layers with given weights: what they compute, and the gradients of a loss with respect to inputs and weights."""
import numpy as np

EAGER = True


def fill(layer, r):
    layer.set_weights([(0.3 * r.randn(*w.shape) if not n.endswith("variance") else 0.5 + r.rand(*w.shape)).astype(np.float32)
                       for n, w in zip([v.name for v in layer.weights], layer.get_weights())])


def main(tf):
    L, out = tf.keras.layers, {}
    image, row, steps = (2, 9, 8, 4), (3, 5), (3, 6, 5)
    cases = {
        "dense": (L.Dense(4, activation="tanh"), row), "dense3": (L.Dense(4, activation="softmax"), steps),
        "conv1d": (L.Conv1D(3, 3, padding="causal", dilation_rate=2), steps),
        "conv1d_same": (L.Conv1D(3, 3, strides=2, padding="same"), steps),
        "conv2d": (L.Conv2D(6, 3, strides=2, padding="same", activation="relu"), image),
        "conv2d_valid": (L.Conv2D(6, (3, 2), dilation_rate=2, use_bias=False), image),
        "conv3d": (L.Conv3D(2, 2, padding="same"), (1, 4, 5, 3, 2)),
        "depthwise": (L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), image),
        "separable": (L.SeparableConv2D(5, 3), image),
        "transposed": (L.Conv2DTranspose(3, 3, strides=2, padding="same"), image),
        "transposed_valid": (L.Conv2DTranspose(3, 3, strides=2), image),
        "max": (L.MaxPooling2D(2), image), "max_same": (L.MaxPooling2D(3, 2, padding="same"), image),
        "average": (L.AveragePooling2D(2), image), "average1": (L.AveragePooling1D(2), steps),
        "max1": (L.MaxPooling1D(2), steps), "max3": (L.MaxPooling3D(2), (1, 4, 4, 4, 2)),
        "global_average": (L.GlobalAveragePooling2D(), image), "global_max": (L.GlobalMaxPooling1D(), steps),
        "batch_norm": (L.BatchNormalization(), row), "batch_norm_image": (L.BatchNormalization(momentum=0.9), image),
        "layer_norm": (L.LayerNormalization(), steps), "layer_norm2": (L.LayerNormalization(axis=[1, 2]), steps),
        "group_norm": (L.GroupNormalization(2), image),
        "flatten": (L.Flatten(), image), "reshape": (L.Reshape((4, -1)), image), "permute": (L.Permute((2, 1)), steps),
        "repeat": (L.RepeatVector(3), row), "padding": (L.ZeroPadding2D(((1, 2), (0, 1))), image),
        "cropping": (L.Cropping2D(((1, 1), (2, 1))), image), "up": (L.UpSampling2D(2), image),
        "up_bilinear": (L.UpSampling2D((2, 3), interpolation="bilinear"), image),
        "relu": (L.ReLU(max_value=1.0, negative_slope=0.1), row), "leaky": (L.LeakyReLU(negative_slope=0.2), row),
        "prelu": (L.PReLU(), row), "elu": (L.ELU(), row), "softmax": (L.Softmax(), row),
        "gelu": (L.Activation("gelu"), row), "silu": (L.Activation("silu"), row), "selu": (L.Activation("selu"), row),
        "hard_sigmoid": (L.Activation("hard_sigmoid"), row), "mish": (L.Activation("mish"), row),
        "lstm": (L.LSTM(4), steps), "lstm_sequences": (L.LSTM(4, return_sequences=True, go_backwards=True), steps),
        "lstm_relu": (L.LSTM(4, activation="relu", unit_forget_bias=False), steps),
        "gru": (L.GRU(4), steps), "gru_before": (L.GRU(4, reset_after=False, return_sequences=True), steps),
        "rnn": (L.SimpleRNN(4, return_sequences=True), steps),
        "bidirectional": (L.Bidirectional(L.LSTM(3, return_sequences=True)), steps),
        "bidirectional_sum": (L.Bidirectional(L.GRU(3), merge_mode="sum"), steps),
        "stacked": (L.RNN([L.LSTMCell(3), L.GRUCell(2)]), steps),
        "distributed": (L.TimeDistributed(L.Dense(3)), steps),
    }
    for i, (name, (layer, shape)) in enumerate(sorted(cases.items())):
        out[name] = case(tf, layer, shape, np.random.RandomState(i))
    out.update(several(tf, L))
    return out


def case(tf, layer, shape, r):
    x = tf.constant(r.randn(*shape).astype(np.float32))
    layer(x)
    fill(layer, r)
    found = {"inference": layer(x, training=False).numpy()} if "training" in str(
        layer.call.__code__.co_varnames) else {"inference": layer(x).numpy()}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True) if "training" in layer.call.__code__.co_varnames else layer(x)
        loss = tf.reduce_sum(y * y * tf.constant(r.rand(*y.shape).astype(np.float32)))
    found["loss"] = loss.numpy()
    grads = tape.gradient(loss, [x] + list(layer.trainable_weights))
    found["gradients"] = [np.zeros(1) if g is None else np.clip(tf.convert_to_tensor(g).numpy(), -1e4, 1e4) for g in grads]
    found["shape"] = list(layer.compute_output_shape((None,) + shape[1:]))[1:]
    found["weights"] = [w.numpy() for w in layer.non_trainable_weights if "seed" not in w.name]
    return found


def several(tf, L):
    r, out = np.random.RandomState(99), {}
    a, b = [tf.constant(r.randn(2, 4, 6).astype(np.float32)) for _ in range(2)]
    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        out[kind] = getattr(L, kind)()([a, b]).numpy()
    out["dot"] = L.Dot(axes=2)([a, b]).numpy()
    out["attention"] = L.Attention()([a, b]).numpy()
    heads = L.MultiHeadAttention(3, 5)
    heads(a, b)
    fill(heads, r)
    mask = np.array([[[1, 1, 0, 1]] * 4, [[0, 1, 1, 1]] * 4], bool)
    out["heads"] = [heads(a, b).numpy(), heads(a, b, attention_mask=tf.constant(mask)).numpy(),
                    heads(a, a, use_causal_mask=True).numpy()]
    ids = tf.constant([[1, 2, 0, 0], [3, 0, 0, 0]])
    embedding, lstm, gru = L.Embedding(5, 3, mask_zero=True), L.LSTM(4), L.GRU(2, return_sequences=True)
    x = embedding(ids)
    for layer in (lstm, gru):
        layer(x)
    for layer in (embedding, lstm, gru):
        fill(layer, r)
    x = embedding(ids)
    out["masked"] = [x.numpy(), lstm(x).numpy(), gru(x).numpy(), L.GlobalAveragePooling1D()(x).numpy()]
    out["masking"] = L.LSTM(3, kernel_initializer="ones", recurrent_initializer="ones")(
        L.Masking()(tf.constant(np.array([[[1.0, 2.0], [0.0, 0.0]]], np.float32)))).numpy()
    text = L.TextVectorization(max_tokens=6, output_sequence_length=4)
    text.adapt(np.array(["the cat sat", "the dog sat!", "a cat"]))
    out["text"] = [list(map(str, text.get_vocabulary())), text(tf.constant([["the cat flew"], ["Sat, dog"]])).numpy()]
    lookup = L.StringLookup(vocabulary=["a", "b"])
    out["lookup"] = lookup(tf.constant([["a", "z"], ["b", "a"]])).numpy()
    return out
