"""A translator of sequences into their reverse: attention, training on the right tokens, search with beams."""
import numpy as np

SYMBOLS, LENGTH, UNITS, BEAMS = 8, 4, 10, 3


def main(tf):
    random = np.random.RandomState(3)
    source = random.randint(2, SYMBOLS, size=(12, LENGTH))
    target = np.concatenate([source[:, ::-1], np.zeros((12, 1), int)], 1)     # 0 ends, 1 begins
    before = np.concatenate([np.ones((12, 1), int), target[:, :-1]], 1)
    value = lambda *s: (random.standard_normal(s) * 0.4).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        table, key, recur = (tf.Variable(value(SYMBOLS, UNITS)), tf.Variable(value(UNITS, UNITS)),
                             tf.Variable(value(3 * UNITS, UNITS)))
        encode, out = tf.Variable(value(2 * UNITS, UNITS)), tf.Variable(value(UNITS, SYMBOLS))
        x = tf.placeholder(tf.int32, [None, LENGTH])
        state, memory = tf.zeros([tf.shape(x)[0], UNITS]), []
        for one in tf.unstack(tf.gather(table, x), axis=1):
            state = tf.tanh(tf.matmul(tf.concat([one, state], 1), encode))
            memory.append(state)
        memory = tf.stack(memory, 1)

        def step(token, state, memory):
            scores = tf.einsum("bu,btu->bt", tf.matmul(state, key), memory)
            seen = tf.einsum("bt,btu->bu", tf.nn.softmax(scores), memory)
            state = tf.tanh(tf.matmul(tf.concat([tf.gather(table, token), state, seen], 1), recur))
            return state, tf.matmul(state, out)
        given, wanted = tf.placeholder(tf.int32, [None, LENGTH + 1]), tf.placeholder(tf.int32, [None, LENGTH + 1])
        now, logits = state, []
        for t in range(LENGTH + 1):
            now, one = step(given[:, t], now, memory)
            logits.append(one)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=tf.stack(logits, 1)))
        train = tf.train.MomentumOptimizer(0.5, 0.5).minimize(loss)

        rows = tf.shape(x)[0]
        wide = tf.reshape(tf.tile(tf.expand_dims(memory, 1), [1, BEAMS, 1, 1]), [-1, LENGTH, UNITS])
        first = tf.reshape(tf.tile(tf.expand_dims(state, 1), [1, BEAMS, 1]), [-1, UNITS])
        scores = tf.tile(tf.constant([[0.0] + [-1e9] * (BEAMS - 1)]), [rows, 1])

        def search(t, state, token, scores, ids):
            state, logits = step(token, state, wide)
            total = tf.reshape(tf.expand_dims(scores, 2) + tf.reshape(tf.nn.log_softmax(logits), [-1, BEAMS, SYMBOLS]), [rows, -1])
            scores, at = tf.nn.top_k(total, BEAMS)
            beam = tf.reshape(at // SYMBOLS + tf.expand_dims(tf.range(rows), 1) * BEAMS, [-1])
            token = tf.reshape(at % SYMBOLS, [-1])
            return t + 1, tf.gather(state, beam), token, scores, tf.concat([tf.gather(ids, beam), tf.expand_dims(token, 1)], 1)
        begin = tf.ones([rows * BEAMS], tf.int32)
        found = tf.while_loop(lambda t, *_: t <= LENGTH, search, [
            tf.constant(0), first, begin, scores, tf.zeros([rows * BEAMS, 0], tf.int32)], shape_invariants=[
            tf.TensorShape([]), tf.TensorShape([None, UNITS]), tf.TensorShape([None]), tf.TensorShape([None, BEAMS]),
            tf.TensorShape([None, None])])
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], {x: source, given: before, wanted: target})[0] for _ in range(12)]
        ids, scores = session.run([found[4], found[3]], {x: source[:4]})
        return {"losses": losses, "ids": ids, "scores": scores}
