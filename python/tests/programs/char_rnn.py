"""A network over characters, its steps unrolled and in a loop: the same values, and the same gradients."""
import numpy as np

TEXT = "the quick brown fox jumps over the lazy dog and then it does so again, "


def main(tf):
    letters = sorted(set(TEXT))
    ids = np.array([letters.index(c) for c in TEXT * 2])
    batch, steps, units = 2, 20, 8
    x = np.stack([ids[i * 7:i * 7 + steps] for i in range(batch)])
    y = np.stack([ids[i * 7 + 1:i * 7 + steps + 1] for i in range(batch)])
    random = np.random.RandomState(2)
    values = [(random.standard_normal(s) * 0.3).astype(np.float32) for s in
              ((len(letters), 5), (5 + units, 4 * units), (units, len(letters)))]
    with tf.Graph().as_default(), tf.Session() as session:
        table, kernel, out = [tf.get_variable("v%d" % i, initializer=v) for i, v in enumerate(values)]
        inputs = tf.transpose(tf.nn.embedding_lookup(table, tf.constant(x)), [1, 0, 2])

        def cell(x, c, h):
            i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel), 4, 1)
            c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
            return c, tf.sigmoid(o) * tf.tanh(c)
        zero = tf.zeros([batch, units])

        def unrolled():
            c, h, found = zero, zero, []
            for one in tf.unstack(inputs):
                c, h = cell(one, c, h)
                found.append(h)
            return tf.stack(found)

        def looped():
            source = tf.TensorArray(tf.float32, steps).unstack(inputs)

            def body(t, c, h, found):
                c, h = cell(source.read(t), c, h)
                return t + 1, c, h, found.write(t, h)
            return tf.while_loop(lambda t, *_: t < steps, body, [0, zero, zero, tf.TensorArray(tf.float32, steps)])[3].stack()

        def scanned():
            return tf.scan(lambda state, one: cell(one, *state), inputs, (zero, zero))[1]
        result = {}
        for name, run in (("unrolled", unrolled), ("looped", looped), ("scanned", scanned)):
            logits = tf.tensordot(run(), out, 1)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.transpose(tf.constant(y)), logits=logits))
            grads = tf.gradients(loss, [kernel, out])
            step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
            session.run(tf.global_variables_initializer())
            result[name] = session.run([loss] + grads), [session.run([loss, step])[0] for _ in range(8)]
        return result
