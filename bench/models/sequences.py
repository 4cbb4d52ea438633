# sequences — models of words and sounds: recurrent ones, attention, what hears.
import numpy as np
import tensorflow as tf
from zoo import below, model, normal, sound, uniform

K = tf.keras
L = tf.keras.layers


def attention_block(x, width, heads, mask=None, memory=None, causal=False, gelu="gelu"):
    z = L.MultiHeadAttention(heads, width // heads)(x, x, attention_mask=mask, use_causal_mask=causal)
    x = L.LayerNormalization(epsilon=1e-6)(x + z)
    if memory is not None:
        x = L.LayerNormalization(epsilon=1e-6)(x + L.MultiHeadAttention(heads, width // heads)(x, memory, attention_mask=mask))
    return L.LayerNormalization(epsilon=1e-6)(x + L.Dense(width)(L.Dense(4 * width, gelu)(x)))


@model()
def bert(tiny):
    words, width, layers, length, batch = (50, 32, 2, 8, 2) if tiny else (8000, 256, 4, 128, 1)
    ids, mask, kinds = (K.Input((length,), batch, dtype="int32") for _ in range(3))
    y = L.Embedding(words, width)(ids) + L.Embedding(2, width)(kinds) + K.Variable(normal(1, length, width) * 0.02)
    y = L.LayerNormalization(epsilon=1e-12)(y)
    seen = L.Lambda(lambda t: tf.cast(t[:, tf.newaxis, :], tf.bool))(mask)
    for _ in range(layers):
        y = attention_block(y, width, 4, seen)
    pooled = L.Dense(width, "tanh")(y[:, 0])
    on = np.ones((batch, length), np.int32)
    on[:, length * 3 // 4:] = 0
    return K.Model([ids, mask, kinds], [y, pooled]), {"ids": below(words, batch, length), "mask": on, "kinds": below(2, batch, length)}


@model()
def gpt(tiny):
    words, width, layers, length = (50, 32, 2, 8) if tiny else (8000, 256, 4, 96)
    heads = 4
    ids = K.Input((length,), 1, dtype="int32")
    table = K.Variable(normal(words, width) * 0.05)
    y = L.Lambda(lambda t: tf.gather(tf.convert_to_tensor(table), t), output_shape=(length, width))(ids) + K.Variable(normal(1, length, width) * 0.02)

    def attend(t):
        q, k, v = (tf.transpose(tf.reshape(p, [1, length, heads, width // heads]), [0, 2, 1, 3]) for p in tf.split(t, 3, -1))
        score = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5
        mask = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
        score = score * mask - 1e10 * (1 - mask)
        return tf.reshape(tf.transpose(tf.matmul(tf.nn.softmax(score), v), [0, 2, 1, 3]), [1, length, width])

    def gelu(t):
        return 0.5 * t * (1 + tf.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (t + 0.044715 * tf.pow(t, 3))))
    for _ in range(layers):
        y = y + L.Dense(width)(L.Lambda(attend)(L.Dense(3 * width)(L.LayerNormalization(epsilon=1e-5)(y))))
        y = y + L.Dense(width)(L.Dense(4 * width, gelu)(L.LayerNormalization(epsilon=1e-5)(y)))
    y = L.LayerNormalization(epsilon=1e-5)(y)
    logits = L.Lambda(lambda t: tf.matmul(t, tf.convert_to_tensor(table), transpose_b=True), output_shape=(length, words))(y)
    return K.Model(ids, logits), {"ids": below(words, 1, length)}


@model()
def transformer(tiny):
    words, width, layers, length = (50, 32, 1, 8) if tiny else (4000, 192, 2, 64)
    source, target = (K.Input((length,), 2, dtype="int32") for _ in range(2))
    places = np.arange(length)[:, None] / 10000 ** (np.arange(width)[None] // 2 * 2 / width)
    places = np.where(np.arange(width) % 2, np.cos(places), np.sin(places)).astype(np.float32)
    mask = L.Lambda(lambda t: tf.not_equal(t, 0)[:, tf.newaxis, :])(source)
    x = L.Embedding(words, width)(source) * width ** 0.5 + places
    y = L.Embedding(words, width)(target) * width ** 0.5 + places
    for _ in range(layers):
        x = attention_block(x, width, 4, mask, gelu="relu")
    for _ in range(layers):
        y = attention_block(y, width, 4, None, x, causal=True, gelu="relu")
    first = below(words, 2, length)
    first[:, -length // 4:] = 0
    return K.Model([source, target], L.Dense(words)(y)), {"source": first, "target": below(words, 2, length)[::-1].copy()}


@model()
def experts(tiny):
    width, layers, length, many = (16, 1, 8, 4) if tiny else (128, 2, 64, 8)
    x = K.Input((length, width), 1)

    def mixture(t, w1, w2, gate):
        flat = tf.reshape(t, [-1, width])
        share, which = tf.math.top_k(tf.nn.softmax(tf.matmul(flat, gate)), 2)
        share = share / tf.reduce_sum(share, -1, keepdims=True)
        parts = []
        for e in range(many):
            at = tf.where(tf.equal(which, e))
            mine = tf.nn.relu(tf.matmul(tf.gather(flat, at[:, 0]), w1[e]))
            mine = tf.matmul(mine, w2[e]) * tf.gather_nd(share, at)[:, tf.newaxis]
            parts.append(tf.scatter_nd(at[:, :1], mine, tf.shape(flat, tf.int64)))
        return tf.reshape(tf.add_n(parts), tf.shape(t))
    y = x
    for i in range(layers):
        w1, w2 = normal(many, width, 2 * width) * width ** -0.5, normal(many, 2 * width, width) * width ** -0.5
        gate = normal(width, many) * (i + 1)
        z = L.LayerNormalization()(y)
        y = y + L.MultiHeadAttention(4, width // 4)(z, z)
        y = y + L.Lambda(lambda t, w=(w1, w2, gate): mixture(t, *w), output_shape=(length, width))(L.LayerNormalization()(y))
    return K.Model(x, y), {"x": normal(1, length, width)}


def recurrent(layer, tiny, batch=4):
    words, width, length = (50, 8, 6) if tiny else (5000, 128, 40)
    x = K.Input((length,), batch, dtype="int32")
    y = L.Embedding(words, width)(x)
    return K.Model(x, L.Dense(3, "softmax")(layer(width)(y))), {"x": below(words, batch, length)}


@model("loop")
def gru(tiny):
    return recurrent(L.GRU, tiny)


@model("loop")
def lstm(tiny):
    return recurrent(L.LSTM, tiny)


@model()
def lstm_frames(tiny):
    return recurrent(L.LSTM, tiny, 8)


@model()
def bidirectional(tiny):
    return recurrent(lambda n: L.Bidirectional(L.LSTM(n)), tiny)


def viterbi(scores, moves):
    """The best path and its score: forwards what the best way to each tag is, backwards which way it was."""
    def step(state, now):
        ways = tf.expand_dims(state[0], 2) + moves
        return tf.reduce_max(ways, 1) + now, tf.argmax(ways, 1, tf.int32)
    rows = tf.transpose(scores, [1, 0, 2])
    best, back = tf.scan(step, rows[1:], (rows[0], tf.zeros(tf.shape(rows[0]), tf.int32)))
    last = tf.argmax(best[-1], -1, tf.int32)
    path = tf.scan(lambda tag, ways: tf.gather(ways, tag, batch_dims=1), back, last, reverse=True)
    return tf.transpose(tf.concat([path, last[tf.newaxis]], 0)), tf.reduce_max(best[-1], -1)


@model("loop")
def tagger_crf(tiny):
    words, width, length, tags = (50, 8, 6, 5) if tiny else (5000, 96, 32, 20)
    x = K.Input((length,), 2, dtype="int32")
    y = L.Bidirectional(L.LSTM(width, return_sequences=True))(L.Embedding(words, width)(x))
    body, moves = K.Model(x, L.Dense(tags)(y)), tf.constant(normal(tags, tags))
    return lambda ids: viterbi(body(ids, training=False), moves), {"x": below(words, 2, length)}


@model("loop")
def attention_seq2seq(tiny):
    words, width, length = (40, 8, 5) if tiny else (3000, 96, 20)
    embed, encoder = L.Embedding(words, width), L.GRU(width, return_sequences=True, return_state=True)
    cell, query, out = L.GRUCell(width), L.Dense(width), L.Dense(words)
    cell.build((None, 2 * width))

    def translate(source):
        memory, state = encoder(embed(source))
        keys = query(memory)

        def step(i, token, state, written):
            score = tf.nn.softmax(tf.einsum("btd,bd->bt", keys, state))
            context = tf.einsum("bt,btd->bd", score, memory)
            value, (state,) = cell(tf.concat([embed(token), context], -1), [state])
            token = tf.argmax(out(value), -1, tf.int32)
            return i + 1, token, state, written.write(i, token)
        written = tf.TensorArray(tf.int32, length, element_shape=[2])
        first = (0, tf.zeros([2], tf.int32), state, written)
        _, _, state, written = tf.while_loop(lambda i, *_: i < length, step, first)
        return tf.transpose(written.stack()), state
    return translate, {"source": below(words, 2, length)}


@model()
def text_convolution(tiny):
    words, width, length = (50, 8, 10) if tiny else (5000, 128, 100)
    x = K.Input((length,), 4, dtype="int32")
    y = L.Embedding(words, width)(x)
    y = L.Concatenate()([L.GlobalMaxPooling1D()(L.Conv1D(width, n, activation="relu")(y)) for n in (3, 4, 5)])
    return K.Model(x, L.Dense(5, "softmax")(y)), {"x": below(words, 4, length)}


# ---- what hears

@model()
def wavenet(tiny):
    width, length, layers = (8, 64, 3) if tiny else (32, 4096, 10)
    x = K.Input((length, 1), 1)
    y, skips = L.Conv1D(width, 2, padding="causal")(x), []
    for i in range(layers):
        z = L.Conv1D(2 * width, 2, padding="causal", dilation_rate=2 ** i)(y)
        z = L.Multiply()([L.Activation("tanh")(z[..., :width]), L.Activation("sigmoid")(z[..., width:])])
        skips.append(L.Conv1D(width, 1)(z))
        y = y + L.Conv1D(width, 1)(z)
    y = L.ReLU()(L.Conv1D(2 * width, 1, activation="relu")(L.ReLU()(L.Add()(skips))))
    return K.Model(x, L.Conv1D(64, 1)(y)), {"x": sound(1, length)[..., None]}


@model()
def wavenet_batches(tiny):
    """The dilated convolutions as TensorFlow 1 wrote them, from space to batch and back."""
    width, length, layers = (8, 64, 3) if tiny else (32, 4096, 8)
    draws = [normal(2, 1 if i < 0 else width, width) * 0.3 + 0.01 * i for i in range(-1, layers)]
    tails = [normal(1, width, width) * 0.2 + 0.01 * i for i in range(layers)]

    def listen(x):
        y, total = tf.nn.conv1d(tf.pad(x, [[0, 0], [1, 0], [0, 0]]), draws[0], 1, "VALID"), 0.0
        for i in range(layers):
            step = 2 ** i
            z = tf.space_to_batch_nd(y, [step], [[step, 0]])
            z = tf.batch_to_space(tf.nn.conv1d(z, draws[i + 1], 1, "VALID"), [step], [[0, 0]])
            z = tf.tanh(z) * tf.sigmoid(z)
            y = y + tf.nn.conv1d(z, tails[i], 1, "SAME")
            total = total + z
        return tf.reduce_mean(total, 1), y
    return listen, {"x": sound(1, length)[..., None]}


def mel(x, size, step, bands):
    power = tf.abs(tf.signal.stft(x, size, step, size))
    weights = tf.signal.linear_to_mel_weight_matrix(bands, size // 2 + 1, 16000, 80.0, 7600.0)
    return tf.math.log(tf.tensordot(power, weights, 1) + 1e-2)


@model()
def audio_spectrogram(tiny):
    size, step, bands, length = (64, 32, 10, 512) if tiny else (512, 160, 64, 16000)
    body = K.Sequential([K.Input((None, bands, 1)), L.Conv2D(8, 3, 2, activation="relu"), L.Conv2D(16, 3, 1, "same", activation="relu"),
                         L.GlobalAveragePooling2D(), L.Dense(12)])
    return lambda x: body(mel(x, size, step, bands)[..., tf.newaxis], training=False), {"x": sound(1, length)}


@model()
def audio_tagger(tiny):
    """Depthwise nets over a spectrogram of a second, as YAMNet and its like."""
    size, step, bands, length, width = (64, 32, 16, 1024, 4) if tiny else (512, 160, 64, 16000, 32)
    x = K.Input((None, bands, 1), 1)
    y = L.Conv2D(width, 3, 2, "same", activation="relu")(x)
    for i in range(4):
        y = L.ReLU()(L.BatchNormalization()(L.DepthwiseConv2D(3, 1 + i % 2, "same", use_bias=False)(y)))
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width << i, 1, use_bias=False)(y)))
    body = K.Model(x, L.Dense(50, "sigmoid")(L.GlobalAveragePooling2D()(y)))

    def listen(sound):
        bands_of = mel(sound, size, step, bands)
        return body(bands_of[..., tf.newaxis], training=False), tf.signal.mfccs_from_log_mel_spectrograms(bands_of)[..., :8]
    return listen, {"x": sound(1, length)}


@model()
def audio_denoiser(tiny):
    """To frequencies, a mask, and back to sound."""
    size, step, length, width = (64, 32, 512, 16) if tiny else (512, 128, 16000, 128)
    bins = size // 2 + 1
    body = K.Sequential([K.Input((None, bins)), L.Conv1D(width, 5, padding="causal", activation="relu"),
                         L.Conv1D(width, 5, padding="causal", dilation_rate=2, activation="relu"), L.Dense(bins, "sigmoid")])

    def clean(x):
        seen = tf.signal.stft(x, size, step, size)
        mask = body(tf.math.log1p(tf.abs(seen)), training=False)
        return tf.signal.inverse_stft(seen * tf.cast(mask, tf.complex64), size, step, size,
                                      tf.signal.inverse_stft_window_fn(step))
    return clean, {"x": sound(1, length)}


@model()
def audio_raw(tiny):
    width, length = (8, 800) if tiny else (64, 16000)
    x = K.Input((length, 1), 1)
    y = L.ReLU()(L.BatchNormalization()(L.Conv1D(width, 80, 4)(x)))
    for i in range(3):
        y = L.MaxPooling1D(4, padding="same")(y)
        y = L.ReLU()(L.BatchNormalization()(L.Conv1D(width << i, 3, padding="same")(y)))
    return K.Model(x, L.Dense(10)(L.GlobalAveragePooling1D()(y))), {"x": sound(1, length)[..., None]}


@model()
def speech_ctc(tiny):
    bands, length, width, letters = (10, 20, 8, 6) if tiny else (40, 160, 96, 29)
    x = K.Input((length, bands), 2)
    y = L.Conv1D(width, 11, 2, "same", activation="relu")(x)
    y = L.Bidirectional(L.GRU(width, return_sequences=True))(y)
    body = K.Model(x, L.Dense(letters)(y))

    def hear(sound):
        logits = tf.transpose(body(sound, training=False), [1, 0, 2])
        (found,), score = tf.nn.ctc_greedy_decoder(logits, tf.fill([2], length // 2))
        return found.indices, found.values, found.dense_shape, score
    return hear, {"x": normal(2, length, bands)}
