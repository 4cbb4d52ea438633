# cases_flow — branches, loops, calls, and the gradients that TensorFlow writes for them.
from cases import *


@script("Switch", label="both ways, met again in Merge")
def switch(tf):
    x, p = tf.placeholder(tf.float32, None, "x"), tf.placeholder(tf.bool, [], "p")
    off, on = tf.raw_ops.Switch(data=x, pred=p)
    y, which = tf.raw_ops.Merge(inputs=[tf.raw_ops.Neg(x=off), tf.raw_ops.Square(x=on)])
    steps = [([y, which], {x: values(f32, s), p: np.array(b)}, []) for s in [(2,), (3, 2)] for b in (True, False)]
    return steps + [([tf.raw_ops.Square(x=on)], {x: values(f32, (2,)), p: np.array(False)}, [], {"error": True})]


@script("Switch", label="dead through several operations and a control edge")
def dead(tf):
    x, p = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.bool, [], "p")
    off, on = tf.raw_ops.Switch(data=x, pred=p)
    a = tf.raw_ops.Exp(x=tf.raw_ops.Neg(x=tf.raw_ops.Square(x=on)))
    with tf.control_dependencies([off]):
        c = tf.raw_ops.Identity(input=tf.constant([7.0, 7.0]))
    y, which = tf.raw_ops.Merge(inputs=[a, c])
    return [([y, which], {x: values(f32, (2,)), p: np.array(b)}, []) for b in (True, False)]


@script("RefSwitch")
def ref_switch(tf):
    v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    init = tf.raw_ops.Assign(ref=v, value=tf.constant([1.0, 2.0]))
    p = tf.placeholder(tf.bool, [], "p")
    off, on = tf.raw_ops.RefSwitch(data=v, pred=p)
    add = tf.raw_ops.AssignAdd(ref=on, value=tf.constant([1.0, 1.0]))
    out = tf.raw_ops.RefMerge(inputs=[off, add])[0]
    return [([init], {}, []), ([out], {p: np.array(True)}, []), ([out], {p: np.array(False)}, []), ([v], {}, [])]


def v1(build):
    """Control flow as Switch, Merge and frames."""
    def inner(tf):
        tf.disable_control_flow_v2()
        return build(tf)
    inner.__name__ = build.__name__
    return inner


@script("Switch", label="cond with its gradient")
@v1
def cond(tf):
    x, p = tf.placeholder(tf.float32, [3], "x"), tf.placeholder(tf.bool, [], "p")
    y = tf.cond(p, lambda: tf.square(x) * 3.0, lambda: tf.exp(x))
    g = tf.gradients(y, x)[0]
    return [([y, g], {x: values(f32, (3,)), p: np.array(b)}, []) for b in (True, False)]


@script("Enter", label="while: a sum of squares")
@v1
def while_sum(tf):
    n = tf.placeholder(tf.int32, [], "n")
    i, s = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [tf.constant(0), tf.constant(0)])
    return [([i, s], {n: np.array(k, i32)}, []) for k in (10, 0, 1, 100)]


@script("Enter", label="while: nested")
@v1
def while_nested(tf):
    n = tf.placeholder(tf.int32, [], "n")

    def outer(i, s):
        _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [tf.constant(0), s])
        return i + 1, t
    out = tf.while_loop(lambda i, s: i < n, outer, [tf.constant(0), tf.constant(0)])
    return [(list(out), {n: np.array(k, i32)}, []) for k in (10, 0, 1, 3)]


@script("Enter", label="while: shapes grow")
@v1
def while_grow(tf):
    n = tf.placeholder(tf.int32, [], "n")
    out = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x[-1:] + 1.0], 0)),
                        [tf.constant(0), tf.constant([1.0])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    return [(list(out), {n: np.array(k, i32)}, []) for k in (5, 0, 2)]


@script("Enter", label="while: a branch inside")
@v1
def while_branch(tf):
    n = tf.placeholder(tf.int32, [], "n")

    def body(i, s):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s + i, lambda: s * 2)
    out = tf.while_loop(lambda i, s: i < n, body, [tf.constant(0), tf.constant(1)])
    return [(list(out), {n: np.array(k, i32)}, []) for k in (7, 0)]


@script("Enter", label="while with its gradient", tol=1e-4)
@v1
def while_gradient(tf):
    x, n = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.int32, [], "n")
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y * 1.1 + 0.1)), [tf.constant(0), x])
    g = tf.gradients(y, x)[0]
    return [([y, g], {x: values(f32, (2,)), n: np.array(k, i32)}, []) for k in (5, 0, 1)]


@script("Enter", label="while over a tensor array with its gradient", tol=1e-4)
@v1
def while_array(tf):
    x, w = tf.placeholder(tf.float32, [4, 3], "x"), tf.placeholder(tf.float32, [3, 3], "w")
    rows = tf.TensorArray(tf.float32, 4).unstack(x)

    def body(i, h, out):
        h = tf.tanh(tf.linalg.matvec(w, h) + rows.read(i))
        return i + 1, h, out.write(i, h)
    _, last, out = tf.while_loop(lambda i, h, o: i < 4, body, [tf.constant(0), tf.zeros([3]), tf.TensorArray(tf.float32, 4)])
    rows_out = out.stack()
    gx, gw = tf.gradients(tf.reduce_sum(rows_out ** 2) + tf.reduce_sum(last), [x, w])
    return [([rows_out, gx, gw], {x: values(f32, (4, 3)), w: values(f32, (3, 3), low=-0.5, high=0.5)}, [])] * 2


@script("Enter", label="while: an error inside names its code")
@v1
def while_error(tf):
    n = tf.placeholder(tf.int32, [], "n")
    table = tf.placeholder(tf.float32, [None], "t")
    _, s = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.raw_ops.GatherV2(params=table, indices=i, axis=0)), [tf.constant(0), tf.constant(0.0)])
    return [([s], {n: np.array(3, i32), table: values(f32, (3,))}, []), ([s], {n: np.array(5, i32), table: values(f32, (3,))}, [], {"error": True}),
            ([s], {n: np.array(2, i32), table: values(f32, (3,))}, [])]


@script("Enter", label="while: a variable updated in each turn")
@v1
def while_variable(tf):
    h = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")
    init = tf.raw_ops.AssignVariableOp(resource=h, value=tf.constant(1.0))

    def body(i):
        with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=h, value=tf.cast(i, tf.float32))]):
            return i + 1
    out = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)], parallel_iterations=1)
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    return [([], {}, [init]), ([out], {}, []), ([read], {}, [])]


def v2():
    from tensorflow.python.ops import cond_v2, while_v2
    return cond_v2, while_v2


@script("StatelessIf", label="cond as a call, with its gradient")
def cond_call(tf):
    x, p = tf.placeholder(tf.float32, [3], "x"), tf.placeholder(tf.bool, [], "p")
    y = v2()[0].cond_v2(p, lambda: tf.square(x) * 3.0, lambda: tf.exp(x))
    g = tf.gradients(y, x)[0]
    return [([y, g], {x: values(f32, (3,)), p: np.array(b)}, []) for b in (True, False)]


@script("StatelessWhile", label="while as a call, with its gradient", tol=1e-4)
def while_call(tf):
    x, n = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.int32, [], "n")
    _, y = v2()[1].while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y * 1.1 + 0.1)), [tf.constant(0), x])
    g = tf.gradients(y, x)[0]
    return [([y, g], {x: values(f32, (2,)), n: np.array(k, i32)}, []) for k in (5, 0, 1)]


@script("While", label="with a variable in the body")
def while_call_state(tf):
    h = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")
    init = tf.raw_ops.AssignVariableOp(resource=h, value=tf.constant(1.0))

    def body(i):
        with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=h, value=tf.cast(i, tf.float32))]):
            return tf.identity(i + 1)
    out = v2()[1].while_loop(lambda i: i < 5, body, [tf.constant(0)])
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    return [([], {}, [init]), ([out], {}, []), ([read], {}, [])]


@script("PartitionedCall")
def call(tf):
    @tf.function(autograph=False)
    def f(a, b):
        return tf.square(a) + b, tf.exp(b)
    x = tf.placeholder(tf.float32, [2], "x")
    y, z = f(x, tf.constant([1.0, 2.0]))
    g = tf.gradients([y, z], x)[0]
    return [([y, z, g], {x: values(f32, (2,))}, [])]


@script("PartitionedCall", label="calls within calls")
def call_nested(tf):
    @tf.function(autograph=False)
    def f(a):
        return a * 2.0 + 1.0

    @tf.function(autograph=False)
    def g(a):
        return f(f(a)) + a
    x = tf.placeholder(tf.float32, None, "x")
    return [([g(g(x))], {x: values(f32, s)}, []) for s in [(2,), (), (2, 3)]]


@script("StatefulPartitionedCall", label="updates a variable")
def call_state(tf):
    h = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")
    init = tf.raw_ops.AssignVariableOp(resource=h, value=tf.constant(1.0))

    @tf.function(autograph=False)
    def f(a):
        tf.raw_ops.AssignAddVariableOp(resource=h, value=a)
        return tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    y = f(tf.constant(2.0))
    return [([], {}, [init]), ([y], {}, []), ([y], {}, [])]


@script("Case")
def case_call(tf):
    i, x = tf.placeholder(tf.int32, [], "i"), tf.placeholder(tf.float32, [2], "x")
    y = tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: tf.exp(x)])
    return [([y], {i: np.array(k, i32), x: values(f32, (2,))}, []) for k in (0, 1, 2, 7, -1)]


@script("Where", label="late shapes run on through arithmetic", tol=1e-5)
def late_chain(tf):
    x = tf.placeholder(tf.float32, [None], "x")
    kept = tf.boolean_mask(x, x > 0.0)
    mean = tf.reduce_mean(kept)
    y = (kept - mean) * 2.0
    g = tf.gradients(tf.reduce_sum(y * y), x)[0]
    return [([kept, y, g], {x: values(f32, (n,), key=k)}, []) for n, k in [(6, 0), (6, 1), (20, 0), (1, 3)]]


@script("Unique", label="late shapes into a matrix product", tol=1e-4)
def late_unique(tf):
    x = tf.placeholder(tf.int32, [None], "x")
    u, index = tf.unique(x)
    m = tf.one_hot(u, 5)
    y = tf.matmul(m, m, transpose_b=True)
    return [([u, index, y, tf.reduce_sum(y, 0)], {x: ints(*v)}, []) for v in ([1, 2, 1], [3, 3, 3], [0, 1, 2, 3], [4])]


@script("NoOp", label="control edges alone")
def control(tf):
    v = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32)
    init = tf.raw_ops.Assign(ref=v, value=tf.constant(0.0))
    add = tf.raw_ops.AssignAdd(ref=v, value=tf.constant(1.0))
    with tf.control_dependencies([add]):
        group = tf.no_op("group")
    return [([init], {}, []), ([], {}, [group]), ([], {}, [group]), ([v], {}, [])]


@script("Placeholder", label="feeding an inner edge cuts the graph")
def feed_inside(tf):
    x = tf.placeholder(tf.float32, None, "x")
    y = tf.square(x, name="y")
    z = tf.exp(y, name="z")
    w = tf.raw_ops.PlaceholderWithDefault(input=tf.constant([1.0, 2.0]), shape=[None])
    return [([z], {x: values(f32, (2,))}, []), ([z], {"y:0": values(f32, (3,))}, []), ([z], {"y:0": values(f32, ())}, []),
            ([w], {}, []), ([y], {}, [], {"error": True})]


@script("Assert")
def assertion(tf):
    x = tf.placeholder(tf.float32, [], "x")
    with tf.control_dependencies([tf.raw_ops.Assert(condition=x > 0.0, data=[x, tf.constant(b"not positive")])]):
        y = tf.sqrt(x)
    return [([y], {x: np.array(4, f32)}, []), ([y], {x: np.array(-1, f32)}, [], {"error": True})]


@script("CheckNumerics")
def check_numerics(tf):
    x = tf.placeholder(tf.float32, [None], "x")
    y = tf.raw_ops.CheckNumerics(tensor=x, message="here")
    return [([y], {x: values(f32, (3,))}, []), ([y], {x: np.array([1, np.nan], f32)}, [], {"error": True}), ([y], {x: np.array([np.inf], f32)}, [], {"error": True})]


def number_lists(tf):
    """Two lists of three numbers each, the second with one that was never set."""
    full = tf.raw_ops.TensorListFromTensor(tensor=tf.constant([1.0, 2.0, 3.0]), element_shape=tf.constant([], tf.int32))
    part = tf.raw_ops.TensorListReserve(element_shape=tf.constant([], tf.int32), num_elements=3, element_dtype=tf.float32)
    part = tf.raw_ops.TensorListSetItem(input_handle=part, index=1, item=tf.constant(10.0))
    return full, part


def stacked(tf, a_list):
    return tf.raw_ops.TensorListStack(input_handle=a_list, element_shape=tf.constant([], tf.int32), element_dtype=tf.float32)


@script("AddN", label="lists")
def add_lists(tf):
    full, part = number_lists(tf)
    return [([stacked(tf, tf.raw_ops.AddN(inputs=lists))], {}, []) for lists in ([full, part], [part, full, part], [full], [full, full])]


@script("AddN", label="lists of other lengths")
def add_other_lists(tf):
    full, _ = number_lists(tf)
    more = tf.raw_ops.TensorListPushBack(input_handle=full, tensor=tf.constant(1.0))
    return [([stacked(tf, tf.raw_ops.AddN(inputs=[full, more]))], {}, [], {"error": True})]


@script("ZerosLike", label="of a list")
def zeros_like_list(tf):
    full, part = number_lists(tf)
    nested = tf.raw_ops.TensorListFromTensor(tensor=tf.stack([full, part]), element_shape=tf.constant([], tf.int32))
    zeros = tf.raw_ops.TensorListGetItem(input_handle=tf.raw_ops.ZerosLike(x=nested), index=0, element_shape=tf.constant([], tf.int32), element_dtype=tf.variant)
    return [([stacked(tf, tf.raw_ops.ZerosLike(x=full)), stacked(tf, tf.raw_ops.ZerosLike(x=part)), stacked(tf, zeros)], {}, []),
            ([stacked(tf, full)], {}, [])]
