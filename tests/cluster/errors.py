# errors — errors of kernels of many kinds name the node that made them
from client import TARGET, np, refused, show, tf

a = tf.placeholder(tf.float32)
i = tf.placeholder(tf.int32)
b = tf.placeholder(tf.bool)
cases = [(tf.matmul(a, tf.ones([3, 3]), name="product"), {a: np.ones((2, 2))}, ["size", "[2,2]", "[3,3]"]),
         (tf.gather([1, 2], i, name="pick"), {i: [5]}, ["5", "2"]),
         (tf.reshape(a, [7], name="shape"), {a: np.ones(6)}, ["6", "7"]),
         (tf.check_numerics(a, "is bad", name="check"), {a: [np.inf]}, ["is bad", "Inf"]),
         (tf.concat([a, [[1.0]]], 0, name="join"), {a: np.ones((2, 2))}, ["oncat"]),
         (tf.floordiv([1], i, name="divide"), {i: [0]}, ["zero"]),
         (tf.add(a, [1.0, 2.0], name="sum"), {a: np.ones(3)}, ["ncompatible shapes", "[3]", "[2]"]),
         (tf.slice(a, [0], i, name="cut"), {a: np.ones(3), i: [9]}, ["9"]),
         (tf.one_hot(1, i, name="hot"), {i: -1}, ["-1"]),
         (tf.split(a, 2, name="halves")[0], {a: np.ones(3)}, ["2"]),
         (tf.nn.conv2d(a, tf.ones([3, 3, 2, 1]), 1, "SAME", name="conv"), {a: np.ones((1, 4, 4, 3))}, ["depth"]),
         (tf.sparse_to_dense([[1], [0]], [2], [1, 2], name="order"), {}, ["order"]),
         (tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=[[1.0, 2.0]], name="loss"), {i: [5]}, []),
         (tf.decode_raw(tf.constant(["abc"]), tf.int32, name="raw"), {}, ["4"]),
         (tf.read_file(tf.constant("/no/such/file"), name="file"), {}, ["/no/such/file"])]
with tf.control_dependencies([tf.Assert(b, ["told so", a], name="claim")]):
    cases.append((tf.identity(a, name="after"), {a: [1.0], b: False}, ["told so"]))
with tf.Session(TARGET) as session:
    for edge, feed, words in cases:
        refused(lambda: session.run(edge, feed), *words)
    show("goes on", session.run(tf.constant(1)))
    try:
        session.run(cases[1][0], {i: [7]})
    except tf.errors.InvalidArgumentError as error:
        print("Detected at node 'pick'" in str(error), "errors.py" in str(error), error.node_def.name, error.error_code)
