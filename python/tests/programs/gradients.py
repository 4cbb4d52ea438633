"""gradients — Gradients through and inside of loops, branches, lists; gradients of one's own."""

import numpy as np


def main(tf):
    out = {}

    def case(name):

        def deco(f):
            with tf.Graph().as_default():
                try:
                    r = f()
                    with tf.Session() as s:
                        s.run(tf.global_variables_initializer())
                        out[name] = s.run(r)
                except Exception as e:
                    out[name] = type(e).__name__ + str(e)[:200]

        return deco

    @case("grad in loop")
    def _():

        def body(i, x):
            g = tf.gradients(x * x * 3.0, x)[0]
            return (i + 1, x - 0.1 * g)

        return tf.while_loop(lambda i, x: i < 3, body, [tf.constant(0), tf.constant(2.0)])[1]

    @case("grad in map")
    def _():
        return tf.map_fn(lambda x: tf.gradients(tf.sin(x) * x, x)[0], tf.constant([1.0, 2.0]))

    @case("grad in loop of var")
    def _():
        w = tf.get_variable("w", initializer=3.0)

        def body(i, a):
            g = tf.gradients(w * w * a, w)[0]
            return (i + 1, a + g)

        return tf.while_loop(lambda i, a: i < 2, body, [tf.constant(0), tf.constant(1.0)])[1]

    @case("grad in cond")
    def _():
        x = tf.constant(2.0)
        return tf.cond(x > 1, lambda: tf.gradients(x**3, x)[0], lambda: x)

    @case("grad through loop in loop")
    def _():
        x = tf.constant(1.5)

        def inner(y):
            return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * y), [0, tf.constant(1.0)])[1]

        y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v + inner(v)), [0, x])[1]
        return [y, tf.gradients(y, x)[0]]

    @case("grad of loop inside loop")
    def _():

        def body(i, x):
            y = tf.while_loop(lambda j, v: j < 2, lambda j, v: (j + 1, v * x), [0, tf.constant(1.0)])[1]
            return (i + 1, x - 0.1 * tf.gradients(y, x)[0])

        return tf.while_loop(lambda i, x: i < 2, body, [0, tf.constant(1.0)])[1]

    @case("cond in loop grad")
    def _():
        x = tf.constant(2.0)
        y = tf.while_loop(
            lambda i, v: i < 4,
            lambda i, v: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + x)),
            [0, tf.constant(1.0)],
        )[1]
        return [y, tf.gradients(y, x)[0]]

    @case("ta")
    def _():
        ta = tf.TensorArray(tf.float32, 3).unstack([1.0, 2.0, 3.0])
        x = tf.constant(2.0)
        o = tf.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, ta.read(i) * x)), [0, tf.TensorArray(tf.float32, 3)]
        )[1].stack()
        return [o, tf.gradients(o, x)[0]]

    @case("scan")
    def _():
        x = tf.constant([1.0, 2.0, 3.0])
        y = tf.scan(lambda a, b: a * b, x)
        return [y, tf.gradients(y, x)[0]]

    @case("custom")
    def _():

        @tf.custom_gradient
        def f(x):
            return (tf.log(1 + tf.exp(x)), lambda dy: dy * 7.0)

        x = tf.constant(1.0)
        return tf.gradients(f(x) * 2, x)[0]

    @case("custom vars")
    def _():
        v = tf.get_variable("v", initializer=2.0, use_resource=True)

        @tf.custom_gradient
        def f(x):

            def grad(dy, variables=None):
                return (dy * v, [dy * x * 5.0])

            return (x * v, grad)

        x = tf.constant(3.0)
        y = f(x)
        return tf.gradients(y, [x, v])

    @case("override")
    def _():
        try:

            @tf.RegisterGradient("MyId")
            def _g(op, g):
                return g * 3

        except KeyError:
            pass
        x = tf.constant(1.0)
        with tf.get_default_graph().gradient_override_map({"Identity": "MyId"}):
            y = tf.identity(x)
        return tf.gradients(y * y, x)[0]

    @case("py_func grad")
    def _():
        try:

            @tf.RegisterGradient("PyG")
            def _g(op, g):
                return g * 2 * op.inputs[0]

        except KeyError:
            pass
        x = tf.constant(3.0)
        with tf.get_default_graph().gradient_override_map({"PyFunc": "PyG"}):
            y = tf.py_func(lambda v: v * v, [x], tf.float32)
        y.set_shape([])
        return [y, tf.gradients(y, x)[0]]

    @case("stop")
    def _():
        a = tf.constant(2.0)
        b = a * 3
        c = a + b
        return tf.gradients([c], [a, b], stop_gradients=[a, b])

    @case("unconnected")
    def _():
        a, b = (tf.constant(2.0), tf.constant([1.0, 2.0]))
        return tf.gradients(a * a, [a, b], unconnected_gradients="zero")

    @case("hess")
    def _():
        x = tf.constant([1.0, 2.0])
        return tf.hessians(tf.reduce_sum(x**3) + x[0] * x[1], x)[0]

    @case("gradys")
    def _():
        x = tf.constant([1.0, 2.0])
        return tf.gradients(x * x, x, grad_ys=tf.constant([1.0, 10.0]))[0]

    @case("case")
    def _():
        x = tf.constant(2)
        return tf.case(
            [(x > 3, lambda: tf.constant(1)), (x > 1, lambda: tf.constant(2))], default=lambda: tf.constant(3)
        )

    @case("nested struct")
    def _():
        return tf.while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, {"a": s["a"] + 1, "b": (s["b"][0] * 2,)}),
            (tf.constant(0), {"a": tf.constant(0), "b": (tf.constant(1),)}),
        )

    return out
