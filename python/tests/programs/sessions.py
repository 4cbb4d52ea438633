"""What sessions take and give: structures, partial runs, callables, feeds in the middle, errors by their words."""
import collections

import numpy as np

Pair = collections.namedtuple("Pair", ["first", "second"])


def wrong(tf, call):
    try:
        call()
    except (tf.errors.OpError, ValueError, TypeError, RuntimeError, KeyError) as error:
        return type(error).__name__
    return "nothing"


def main(tf):
    result = {}
    with tf.Graph().as_default() as graph, tf.Session() as session:
        a = tf.placeholder(tf.float32, [], name="a")
        b = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [2], name="b")
        c = tf.multiply(a, b, name="c")
        d = tf.reduce_sum(c, name="d")
        feed = {a: 2.0}
        result["nested"] = session.run({"x": [c, (d, "c:0")], "y": Pair(a, {"z": d}), "none": []}, feed)
        result["middle"] = session.run(d, {c: [5.0, 6.0]})
        result["names"] = session.run("d:0", {"a:0": 1.0, "b:0": [3.0, 4.0]})
        call = session.make_callable([c, d], [a, b])
        result["callable"] = call(3.0, np.array([1, 1], np.float32))
        handle = session.partial_run_setup([c, d], [a, b])
        result["partial"] = session.partial_run(handle, c, {a: 1.0, b: [1.0, 5.0]})
        result["rest"] = session.partial_run(handle, d)
        result["kinds"] = [type(v).__name__ for v in session.run([d, c, c.op], feed)]
        words = tf.constant([["a", "bc"], ["", "d"]])
        result["words"] = session.run(words), session.run(tf.string_join([words, words], "-"))
        other = tf.Graph()
        with other.as_default():
            stranger = tf.constant(1.0)
        result["errors"] = {
            "unfed": wrong(tf, lambda: session.run(c)), "shape": wrong(tf, lambda: session.run(c, {a: [1.0, 2.0]})),
            "stranger": wrong(tf, lambda: session.run(stranger)), "fetch": wrong(tf, lambda: session.run(3)),
            "name": wrong(tf, lambda: session.run("nothing:0")), "key": wrong(tf, lambda: session.run(c, {"zz:0": 1.0})),
            "tensor": wrong(tf, lambda: session.run(c, {a: d})), "value": wrong(tf, lambda: session.run(c, {a: "word"})),
            "mixed": wrong(tf, lambda: tf.add(c, stranger)), "finalized": wrong(tf, lambda: _finalized(tf)),
            "rank": wrong(tf, lambda: tf.matmul(c, c)), "dtype": wrong(tf, lambda: c + tf.constant(1)),
            "bool": wrong(tf, lambda: bool(c)), "iterate": wrong(tf, lambda: list(a)), "twice": wrong(tf, lambda: graph.get_tensor_by_name("a")),
            "index": wrong(tf, lambda: session.run(tf.gather([1, 2], [7 + tf.cast(a, tf.int32)]), feed)),
        }
    result["closed"] = wrong(tf, lambda: session.run(d, feed))
    return result


def _finalized(tf):
    with tf.Graph().as_default() as graph:
        graph.finalize()
        tf.constant(1.0)
