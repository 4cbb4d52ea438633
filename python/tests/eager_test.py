"""Eager mode from outside: what `import millrace as tf` gives. Equality with TensorFlow is in programs/eager_*.py."""
import copy
import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import millrace as tf
from millrace import graph as graphs
from millrace.eager import execute


@pytest.fixture(autouse=True)
def eager():
    with graphs.eager_mode():
        yield


def test_values():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert repr(x).startswith("<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.]") or "numpy=array" in repr(x)
    assert x.shape == (2, 2) and x.shape[0] == 2 and len(x) == 2 and [float(v[0]) for v in x] == [1.0, 3.0]
    assert float(x[0, 1]) == 2.0 and int(tf.constant(3)) == 3 and bool(tf.constant(True)) and [10, 20][tf.constant(1)] == 20
    assert (x == x).numpy().all() and not (x == None) and x.dtype == tf.float32  # noqa: E711
    assert tf.constant("é").numpy() == "é".encode() and tf.constant([b"a", b"b" * 50]).numpy().tolist() == [b"a", b"b" * 50]
    assert (np.ones(2) * tf.ones([2])).numpy().tolist() == [1.0, 1.0] and np.array(x).sum() == 10
    assert copy.deepcopy(x).numpy().tolist() == x.numpy().tolist() == pickle.loads(pickle.dumps(x)).numpy().tolist()
    assert {x.ref(): 1}[x.ref()] == 1 and x.ref().deref() is x
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(AttributeError, match="undefined when eager execution is enabled"):
        x.op
    with pytest.raises(ValueError, match="truth value"):
        bool(x)
    large = tf.ones([1000, 1000])
    array = large.numpy()
    del large
    gc.collect()
    assert array.sum() == 1e6 and not array.flags.writeable


def test_errors_are_tensorflows():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        tf.ones([2]) + tf.ones([3])
    with pytest.raises(TypeError, match="has type int32 that does not match"):
        tf.add(tf.ones([2]), tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reshape(tf.ones([6]), [4])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        tf.gather(tf.ones([2]), [7])
    with pytest.raises(ValueError, match="None values not supported"):
        tf.constant(None)
    with pytest.raises(TypeError):
        tf.constant(1.5, tf.int32)


def test_dlpack():
    x = tf.constant([[1.0, 2.0]])
    assert np.from_dlpack(x).tolist() == [[1.0, 2.0]]
    y = tf.experimental.dlpack.from_dlpack(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert y.dtype == tf.int32 and y.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)).numpy().tolist() == [[1.0, 2.0]]


def test_variables():
    v = tf.Variable([1.0, 2.0], name="v")
    assert v.name == "v:0" and v.shape == (2,) and v.trainable and "numpy=array([1., 2.]" in repr(v)
    v.assign_add([1.0, 1.0]).assign_sub([0.5, 0.5])
    assert v.numpy().tolist() == [1.5, 2.5] and (v * 2).numpy().tolist() == [3.0, 5.0] and isinstance(v, tf.Variable)
    v.scatter_update(tf.IndexedSlices([9.0], [1]))
    assert v.numpy().tolist() == [1.5, 9.0]
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([1.0])
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="can't be used in a graph"):
        v + 1.0


def test_tapes():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, {"a": x})["a"].numpy() == 6.0
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, x)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    frozen, v = tf.Variable(2.0, trainable=False), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = frozen * v + tf.stop_gradient(v * v)
        with tape.stop_recording():
            z = v * v
    assert tape.gradient(y, [frozen, v])[0] is None and tape.gradient(y, v).numpy() == 2.0 and tape.gradient(z, v) is None
    assert tape.gradient(z, v, unconnected_gradients="zero").numpy() == 0.0
    assert tape.watched_variables() == (v,)
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = tf.split(tf.stack([x, x * x]), 2)
    assert tape.gradient([a, b], x, output_gradients=[tf.constant([10.0]), tf.constant([1.0])]).numpy() == 16.0


def test_functions_are_traced_once_for_a_kind_of_arguments():
    seen = []

    @tf.function
    def f(x, flag=True):
        seen.append((tuple(x.shape), flag))
        return x + 1 if flag else x - 1
    f(tf.ones([2])), f(tf.zeros([2])), f(np.ones(2, np.float32))
    assert len(seen) == 1
    f(tf.ones([3])), f(tf.ones([2]), False), f(tf.ones([2]), flag=False)
    assert len(seen) == 3
    loose = tf.function(lambda x: tf.reduce_sum(x), reduce_retracing=True)
    for n in (1, 2, 3, 4, 5):
        assert loose(tf.ones([n])).numpy() == n
    assert loose.experimental_get_tracing_count() <= 3
    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert concrete(tf.ones([7])).shape == (7,)
    with pytest.raises(tf.errors.InvalidArgumentError):
        concrete(tf.ones([7, 1]))


def test_functions_make_variables_once():
    class Counter:
        def __init__(self):
            self.v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(tf.zeros([2]))
            return self.v.assign_add(x)
    a, b = Counter(), Counter()
    a(tf.ones([2]))
    assert a(tf.ones([2])).numpy().tolist() == [2.0, 2.0] and b(tf.ones([2])).numpy().tolist() == [1.0, 1.0]

    @tf.function
    def wrong(x):
        return tf.Variable(1.0) + x
    with pytest.raises(ValueError, match="singleton tf.Variables"):
        wrong(tf.constant(1.0))

    @tf.function
    def branches_on_a_tensor(x):
        return 1 if x > 0 else 2
    with pytest.raises(TypeError, match="tf.cond"):
        branches_on_a_tensor(tf.constant(1.0))


def test_effects_keep_their_order():
    v, order = tf.Variable(1.0), []

    @tf.function
    def f():
        a = v.read_value()
        v.assign(a * 10.0)
        b = v.read_value()
        v.assign_add(1.0)
        tf.py_function(lambda: order.append("ran"), [], [])
        return a, b
    assert [x.numpy() for x in f()] == [1.0, 10.0] and v.numpy() == 11.0 and order == ["ran"]

    @tf.function
    def nothing_fetched():
        v.assign(7.0)
    assert nothing_fetched() is None and v.numpy() == 7.0


def test_seeds():
    def draws():
        tf.random.set_seed(5)
        return [tf.random.normal([3]).numpy().tolist(), tf.random.uniform([2]).numpy().tolist(),
                tf.random.normal([3]).numpy().tolist()]
    first = draws()
    assert first == draws() and first[0] != first[2]


def test_python_control_flow():
    assert tf.cond(tf.constant(True), lambda: 1, lambda: 2) == 1
    i, total = tf.while_loop(lambda i, t: i < 3, lambda i, t: [i + 1, t * 2.0], [tf.constant(0), tf.constant(1.0)])
    assert (i.numpy(), total.numpy()) == (3, 8.0)
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for n in range(3):
        array = array.write(n, [float(n)])
    assert array.stack().numpy().tolist() == [[0.0], [1.0], [2.0]]
    assert tf.map_fn(lambda x: x * 2, tf.constant([1, 2])).numpy().tolist() == [2, 4]


def test_graphs_beside_eager_mode():
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        x = tf.compat.v1.placeholder(tf.float32, [None])
        y = x * 2 + tf.constant([1.0])
        with tf.compat.v1.Session() as s:
            assert s.run(y, {x: [1.0, 2.0]}).tolist() == [3.0, 5.0]
    assert tf.executing_eagerly()


def test_threads_share_variables():
    v = tf.Variable(0.0)

    @tf.function
    def add(x):
        v.assign_add(x)
        return v * 1.0
    add(tf.constant(0.0))

    def work():
        with graphs.eager_mode():
            for _ in range(50):
                add(tf.constant(1.0))
                (tf.ones([4]) + 1.0).numpy()
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert 0 < v.numpy() <= 200


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_memory_stays_flat():
    x = tf.ones([10])

    def rounds(n):
        for _ in range(n):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x * 2.0 + x)
            tape.gradient(y, x)
    rounds(300)
    before, calls = resident(), len(execute._calls)
    rounds(1500)
    assert resident() - before < 8 << 20 and len(execute._calls) == calls


def test_which_door_decides():
    script = ("import millrace%s as tf; print(tf.executing_eagerly(), type(tf.constant(1.0)).__name__)")
    for door, expected in (("", "True EagerTensor"), (".compat.v1", "False Tensor")):
        out = subprocess.run([sys.executable, "-c", script % door], capture_output=True, text=True)
        assert out.stdout.strip() == expected, out.stderr
