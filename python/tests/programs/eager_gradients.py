"""Eager tensors, operators, variables, tapes of the first and second order, Jacobians, custom gradients, functions."""
import numpy as np

EAGER = True


def main(tf):
    out = {}
    r = np.random.RandomState(0)
    a, b = tf.constant(r.randn(3, 4).astype(np.float32)), tf.constant(r.randn(4, 2).astype(np.float32))
    out["operators"] = [(a + 1).numpy(), (2.0 - a).numpy(), (a * a / 3.0).numpy(), (a @ b).numpy(), (a > 0).numpy(),
                        (-a).numpy(), abs(a).numpy(), a[1:, ::2].numpy(), a[..., -1].numpy(), (tf.constant(7) // 2).numpy(),
                        (tf.constant(7) % 4).numpy(), (tf.constant(7) / 2).numpy(), (a == a).numpy(), (a ** 2).numpy()]
    out["dtypes"] = [tf.constant(1).dtype.name, tf.constant(1.0).dtype.name, tf.constant([True]).dtype.name,
                     tf.constant("x").dtype.name, tf.constant(np.float64(1)).dtype.name, str(a.shape), a.shape[1]]
    out["functions"] = [tf.reduce_mean(a, axis=1).numpy(), tf.nn.softmax(a).numpy(), tf.concat([a, a], 0).numpy(),
                        tf.where(a > 0, a, 0.0).numpy(), tf.one_hot([0, 2], 3).numpy(), tf.transpose(a).numpy(),
                        tf.cast(a, tf.int32).numpy(), tf.argmax(a, axis=1).numpy(), tf.stack([a, a]).numpy(),
                        tf.math.log(tf.abs(a)).numpy(), tf.einsum("ij,jk->ik", a, b).numpy(), tf.range(5).numpy(),
                        tf.reshape(a, [2, 6]).numpy(), tf.gather(a, [2, 0]).numpy(), tf.tile(a, [1, 2]).numpy()]
    w = tf.Variable(r.randn(4, 2).astype(np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = tf.reduce_sum(tf.tanh(a @ w) ** 2)
        z = tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot([0, 1, 0], 2), logits=a @ w)
    out["gradient"] = [tape.gradient(y, w).numpy(), tape.gradient(y, a).numpy(), tape.gradient(z, w).numpy(),
                       [g.numpy() for g in tape.gradient(z, [a, w])]]
    x = tf.constant([0.5, -1.5, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.sin(x) * x ** 3)
        first = inner.gradient(y, x)
    out["second"] = [first.numpy(), outer.gradient(first, x).numpy()]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stack([x[0] * x[1], x[2] ** 2])
    out["jacobian"] = tape.jacobian(y, x).numpy()
    table = tf.Variable(r.randn(6, 3).astype(np.float32))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 4, 1]) ** 2)
    out["rows"] = tf.convert_to_tensor(tape.gradient(y, table)).numpy()

    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda dy: tf.clip_by_value(dy * 2 * x, -1.0, 1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(clipped(x) * 3.0)
    out["custom"] = tape.gradient(y, x).numpy()
    out["functions_of_functions"] = functions(tf, r)
    return out


def functions(tf, r):
    out, traces = {}, []
    state = tf.Variable(1.0)

    @tf.function
    def step(x, k=2):
        traces.append(k)
        state.assign_add(tf.reduce_sum(x))
        total = tf.constant(0.0)
        for i in range(k):
            total += state * float(i)
        return {"total": total, "x": x * k}
    x = tf.constant([1.0, 2.0])
    out["calls"] = [{k: v.numpy() for k, v in step(x).items()}, {k: v.numpy() for k, v in step(x, k=3).items()},
                    {k: v.numpy() for k, v in step(tf.constant([1.0])).items()}, state.numpy(), len(traces) >= 3]
    w = tf.Variable(r.randn(2, 2).astype(np.float32))

    @tf.function
    def layer(x):
        return tf.nn.relu(x @ w) + 0.1

    @tf.function
    def two(x):
        return tf.reduce_sum(layer(layer(x)) ** 2)
    inputs = tf.constant(r.randn(5, 2).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = two(inputs) + tf.reduce_sum(layer(inputs))
    out["through"] = [loss.numpy()] + [g.numpy() for g in tape.gradient(loss, [w, inputs])]
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            loss = two(tf.tanh(inputs))
        first = inner.gradient(loss, inputs)
    out["through_twice"] = [first.numpy(), outer.gradient(first, inputs).numpy()]
    count = tf.Variable(0)

    @tf.function
    def loop(n):
        def body(i, total):
            count.assign_add(1)
            return i + 1, tf.cond(i % 2 == 0, lambda: total + tf.cast(i, tf.float32), lambda: total * 2.0)
        return tf.while_loop(lambda i, total: i < n, body, [tf.constant(0), tf.constant(1.0)])
    out["loop"] = [[v.numpy() for v in loop(tf.constant(5))], count.numpy(), [v.numpy() for v in loop(tf.constant(2))],
                   count.numpy()]
    log = tf.Variable(0.0)

    @tf.function
    def branches(x):
        def yes():
            log.assign_add(10.0)
            return x + log
        before = log.read_value()
        return tf.cond(tf.reduce_sum(x) > 0, yes, lambda: x - 1.0), before, log.read_value()
    out["branches"] = [[v.numpy() for v in branches(tf.constant([1.0]))], [v.numpy() for v in branches(tf.constant([-1.0]))],
                       log.numpy()]
    signed = tf.function(lambda v: v * 2, input_signature=[tf.TensorSpec([None], tf.float32)])
    out["signature"] = [signed([1, 2, 3]).numpy(), signed(tf.constant([4.0])).numpy()]
    out["outer"] = [v.numpy() for v in tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)),
                                                     [tf.constant(0), tf.constant(0.5)])]
    out["map"] = tf.map_fn(lambda v: v * v, tf.constant([1.0, 2.0, 3.0])).numpy()
    return out
