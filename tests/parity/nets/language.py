# language — nets over words: the language model of the paper in several ways of writing it, and word2vec.
from model import net, softmax_loss, tf
from tensorflow.python.ops import rnn

SMALL = dict(vocabulary=1000, units=48, steps=8, batch=8, sampled=48)
FULL = dict(vocabulary=40000, units=512, steps=20, batch=16, sampled=512)


class Language:
    """Words in, words one place further out; between them what a net makes of it."""

    def __init__(self, m, vocabulary, units, steps, batch, sampled):
        self.m, self.vocabulary, self.units, self.steps, self.batch, self.sampled = m, vocabulary, units, steps, batch, sampled
        words = m.feed("words", [steps + 1, batch], "words", vocabulary, dtype=tf.int32)
        self.inputs, self.targets = words[:-1], words[1:]
        scale = ("uniform", 0.05)
        self.embedded = tf.nn.embedding_lookup(m.variable("embedding", [vocabulary, units], scale), self.inputs)
        self.softmax = m.variable("softmax", [vocabulary, units], ("fed", units ** -0.5))
        self.softmax_bias = m.variable("softmax_bias", [vocabulary])
        self.zero = tf.zeros([batch, units])

    def weights(self, gates=4, name="lstm", inputs=None):
        return (self.m.variable(name, [(inputs or self.units) + self.units, gates * self.units], ("uniform", 0.05)),
                self.m.variable(name + "_bias", [gates * self.units]))

    def full(self, hidden):
        """The loss by all words."""
        logits = tf.matmul(tf.reshape(hidden, [-1, self.units]), self.softmax, transpose_b=True) + self.softmax_bias
        return softmax_loss(logits, tf.reshape(self.targets, [-1]))

    def some(self, hidden):
        """The loss by the right words and a sample of others."""
        labels = tf.cast(tf.reshape(self.targets, [-1, 1]), tf.int64)
        return tf.reduce_mean(tf.nn.sampled_softmax_loss(
            self.softmax, self.softmax_bias, labels, tf.reshape(hidden, [-1, self.units]), self.sampled, self.vocabulary,
            seed=self.m.next_seed()))


def cell(x, c, h, weights, bias):
    """One step of an LSTM, written out."""
    i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), weights), bias), 4, axis=1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.sigmoid(o) * tf.tanh(c)


def unrolled(language):
    weights, bias = language.weights()
    c = h = language.zero
    out = []
    for x in tf.unstack(language.embedded):
        c, h = cell(x, c, h, weights, bias)
        out.append(h)
    return tf.stack(out)


@net(SMALL, FULL, rate=0.5, clip=5.0, twin=0.1)
def lstm_full(m, **sizes):
    language = Language(m, **sizes)
    return language.full(unrolled(language))


@net(SMALL, FULL, rate=0.1, optimizer="adagrad", twin=0.1)
def lstm_sampled(m, **sizes):
    language = Language(m, **sizes)
    return language.some(unrolled(language))


@net(SMALL, FULL, rate=0.1, optimizer="adagrad", resource=True)
def lstm_sampled_resource(m, **sizes):
    language = Language(m, **sizes)
    return language.some(unrolled(language))


@net(SMALL, FULL, rate=0.5, resource=True, clip=5.0)
def lstm_loop(m, **sizes):
    """A while_loop of frames over tensor arrays; its gradient runs another, which pops what the first one pushed."""
    language = Language(m, **sizes)
    weights, bias = language.weights()
    inputs = tf.TensorArray(tf.float32, language.steps).unstack(language.embedded)
    outputs = tf.TensorArray(tf.float32, language.steps)

    def turn(t, c, h, out):
        c, h = cell(inputs.read(t), c, h, weights, bias)
        return t + 1, c, h, out.write(t, h)
    _, _, _, out = tf.while_loop(lambda t, *_: t < language.steps, turn, (0, language.zero, language.zero, outputs))
    hidden = out.stack()
    hidden.set_shape([language.steps, language.batch, language.units])
    return language.full(hidden)


class Cell(rnn.rnn_cell_impl.RNNCell if hasattr(rnn, "rnn_cell_impl") else object):
    """A cell for dynamic_rnn."""

    def __init__(self, language):
        self.language, self.own = language, language.weights()

    state_size = property(lambda self: (self.language.units, self.language.units))
    output_size = property(lambda self: self.language.units)

    def zero_state(self, batch_size, dtype):
        return tuple(tf.zeros([batch_size, self.language.units], dtype) for _ in range(2))

    def __call__(self, x, state, scope=None):
        c, h = cell(x, *state, *self.own)
        return h, (c, h)


@net(SMALL, FULL, rate=0.5, clip=5.0)
def lstm_dynamic(m, **sizes):
    """dynamic_rnn with a length for each line: what is past the end stays as it was."""
    language = Language(m, **sizes)
    lengths = m.feed("lengths", [language.batch], "below", language.steps, dtype=tf.int32) + 1
    hidden, _ = tf.nn.dynamic_rnn(Cell(language), language.embedded, lengths, dtype=tf.float32, time_major=True,
                                  swap_memory=True)
    return language.full(hidden)


@net(SMALL, FULL, rate=0.5, resource=True, loops=2, clip=5.0)
def lstm_while(m, **sizes):
    """The same loop as a functional While over tensor lists."""
    return lstm_loop(m, **sizes)


@net(SMALL, FULL, rate=0.5, clip=5.0)
def lstm_block(m, **sizes):
    """Two layers, each one operation over all steps: BlockLSTM with peepholes, BlockLSTMV2."""
    language = Language(m, **sizes)
    zero, hidden = language.zero, language.embedded
    weights, bias = language.weights()
    peep = [m.variable("peephole", [language.units], ("uniform", 0.05)) for _ in range(3)]
    hidden = tf.raw_ops.BlockLSTM(seq_len_max=tf.constant(language.steps, tf.int64), x=hidden, cs_prev=zero, h_prev=zero,
                                  w=weights, wci=peep[0], wcf=peep[1], wco=peep[2], b=bias, cell_clip=3.0,
                                  use_peephole=True).h
    weights, bias = language.weights(name="second")
    none = tf.zeros([language.units])
    hidden = tf.raw_ops.BlockLSTMV2(seq_len_max=tf.constant(language.steps, tf.int64), x=hidden, cs_prev=zero, h_prev=zero,
                                    w=weights, wci=none, wcf=none, wco=none, b=bias).h
    return language.full(hidden)


@tf.custom_gradient
def block_cell(x, c, h, weights, bias):
    """LSTMBlockCell, for which TensorFlow's Python knows no gradient; LSTMBlockCellGrad gives most of it."""
    none = tf.zeros([int(c.shape[1])])
    own = dict(x=x, cs_prev=c, h_prev=h, w=weights, wci=none, wcf=none, wco=none, b=bias)
    y = tf.raw_ops.LSTMBlockCell(use_peephole=False, cell_clip=-1.0, **own)

    def gradient(c_gradient, h_gradient):
        back = tf.raw_ops.LSTMBlockCellGrad(use_peephole=False, i=y.i, cs=y.cs, f=y.f, o=y.o, ci=y.ci, co=y.co,
                                            cs_grad=c_gradient, h_grad=h_gradient, **own)
        both = tf.matmul(back.dicfo, weights, transpose_b=True)
        n = int(x.shape[1])
        return (both[:, :n], back.cs_prev_grad, both[:, n:], tf.matmul(tf.concat([x, h], 1), back.dicfo, transpose_a=True),
                tf.reduce_sum(back.dicfo, 0))
    return (y.cs, y.h), gradient


@net(SMALL, FULL, rate=0.5, clip=5.0)
def lstm_block_cell(m, **sizes):
    language = Language(m, **sizes)
    weights, bias = language.weights()
    c = h = language.zero
    out = []
    for x in tf.unstack(language.embedded):
        c, h = block_cell(x, c, h, weights.value(), bias.value())
        out.append(h)
    return language.some(tf.stack(out))


@tf.custom_gradient
def gru_cell(x, h, w_ru, b_ru, w_c, b_c):
    """GRUBlockCell with the gradient that its authors wrote for it."""
    own = dict(x=x, h_prev=h, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c)
    y = tf.raw_ops.GRUBlockCell(**own)

    def gradient(h_gradient):
        back = tf.raw_ops.GRUBlockCellGrad(r=y.r, u=y.u, c=y.c, d_h=h_gradient, **own)
        return (back.d_x, back.d_h_prev, tf.matmul(tf.concat([x, h], 1), back.d_r_bar_u_bar, transpose_a=True),
                tf.reduce_sum(back.d_r_bar_u_bar, 0), tf.matmul(tf.concat([x, h * y.r], 1), back.d_c_bar, transpose_a=True),
                tf.reduce_sum(back.d_c_bar, 0))
    return y.h, gradient


@net(SMALL, FULL, rate=0.5, clip=5.0)
def gru_block_cell(m, **sizes):
    language = Language(m, **sizes)
    w_ru, b_ru = language.weights(2, "gates")
    w_c, b_c = language.weights(1, "candidate")
    h = language.zero
    out = []
    for x in tf.unstack(language.embedded):
        h = gru_cell(x, h, w_ru.value(), b_ru.value(), w_c.value(), b_c.value())
        out.append(h)
    return language.full(tf.stack(out))


# ---- word2vec

WORDS, ALL_WORDS = dict(vocabulary=2000, size=32, batch=64, negatives=16), dict(vocabulary=50000, size=128, batch=128, negatives=64)


def skip_gram(m, vocabulary, size, batch):
    """Words and a neighbour of each; the variables of the guess."""
    words = m.feed("words", [batch], "words", vocabulary, dtype=tf.int32)
    neighbours = tf.cast(m.feed("neighbours", [batch, 1], "words", vocabulary, dtype=tf.int32), tf.int64)
    embedding = m.variable("embedding", [vocabulary, size], ("uniform", 1.0))
    weights = m.variable("weights", [vocabulary, size], ("truncated", size ** -0.5))
    return tf.nn.embedding_lookup(embedding, words), neighbours, weights, m.variable("bias", [vocabulary])


@net(WORDS, ALL_WORDS, rate=0.2, twin=0.2)
def word2vec_nce(m, vocabulary, size, batch, negatives):
    embedded, neighbours, weights, bias = skip_gram(m, vocabulary, size, batch)
    return tf.reduce_mean(tf.nn.nce_loss(weights, bias, neighbours, embedded, negatives, vocabulary))


@net(WORDS, ALL_WORDS, rate=0.2, resource=True)
def word2vec_negative(m, vocabulary, size, batch, negatives):
    """Negative sampling, with how often each word is said told by a list."""
    embedded, neighbours, weights, bias = skip_gram(m, vocabulary, size, batch)
    told = [float(vocabulary // (k + 1) + 1) for k in range(vocabulary)]
    sampled, _, _ = tf.nn.fixed_unigram_candidate_sampler(neighbours, 1, negatives, True, vocabulary, distortion=0.75,
                                                          unigrams=told, seed=m.next_seed())
    right = tf.reduce_sum(embedded * tf.nn.embedding_lookup(weights, neighbours[:, 0]), 1) + tf.gather(bias, neighbours[:, 0])
    wrong = tf.matmul(embedded, tf.nn.embedding_lookup(weights, sampled), transpose_b=True) + tf.gather(bias, sampled)
    losses = [tf.nn.sigmoid_cross_entropy_with_logits(labels=label(logits), logits=logits)
              for logits, label in ((right, tf.ones_like), (wrong, tf.zeros_like))]
    return (tf.reduce_sum(losses[0]) + tf.reduce_sum(losses[1])) / batch
