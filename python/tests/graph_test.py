"""Graphs, sessions, variables, control flow and training, from outside."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import millrace.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feeds=None):
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        return s.run(fetches, feeds)


def test_names_are_tensorflows():
    names = [tf.constant(0, name=n).op.name for n in ("a", "a", "a", "A", "a_1")]
    assert names == ["a", "a_1", "a_2", "A_3", "a_1_1"]
    with tf.name_scope("s") as scope:
        assert scope == "s/" and tf.zeros([2]).op.name == "s/zeros"
    with tf.name_scope("s") as scope:
        assert scope == "s_1/"
    x = tf.placeholder(tf.float32, name="x")
    assert [(x + 1).op.name, (x * 2).op.name, (1 - x).op.name, (-x).op.name, x[0].op.name] == \
        ["add", "mul", "sub", "Neg", "strided_slice"]
    assert (x + 1).op.inputs[1].name == "add_1/y:0"
    with pytest.raises(ValueError, match="not a valid root scope name"):
        with tf.name_scope("_bad"):
            pass


def test_fetches_keep_their_structure():
    x = tf.constant(1.0)
    got = run({"a": x, "b": [x, (x, x.op)], "c": "Const:0"})
    assert got == {"a": 1.0, "b": [1.0, (1.0, None)], "c": 1.0}
    assert type(got["a"]) is np.float32
    assert run(tf.constant("é")) == "é".encode() and run([]) == []
    strings = run(tf.constant([["a", "b" * 100]]))
    assert strings.dtype == object and strings[0, 1] == b"b" * 100


def test_feeds_are_checked():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as s:
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            s.run(x, {x: [1, 2, 3]})
        with pytest.raises(TypeError, match="cannot be a tf.Tensor object"):
            s.run(x, {x: tf.zeros([2])})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            s.run(x, {3: 4})
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'") as e:
            s.run(x + 1)
        assert e.value.op is x.op and __file__ in str(e.value)
        with pytest.raises(TypeError, match="Fetch argument"):
            s.run(3)
    with pytest.raises(RuntimeError, match="closed Session"):
        s.run(x)


def test_construction_errors_are_value_and_type_errors():
    with pytest.raises(ValueError):
        tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
    with pytest.raises(TypeError, match="that does not match type float32"):
        tf.zeros([1]) + tf.zeros([1], tf.int64)
    with pytest.raises(TypeError, match="as a Python `bool`"):
        bool(tf.zeros([]))
    with pytest.raises(KeyError, match="does not exist"):
        tf.get_default_graph().get_tensor_by_name("nothing:0")
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.zeros([])


def test_variable_scopes():
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [2])
        with pytest.raises(ValueError, match="already exists, disallowed"):
            tf.get_variable("v", [2])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v", [2]) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("v", [3])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v") is v
    assert [tf.layers.dense(tf.zeros([1, 2]), 1).op.name for _ in range(2)] == ["dense/BiasAdd", "dense_1/BiasAdd"]
    assert [x.name for x in tf.trainable_variables("a")] == ["a/v:0"]


def test_a_template_shares_its_variables_and_passes_keywords_on():
    def layer(x, custom_getter, units):
        with tf.variable_scope("layer", custom_getter=custom_getter):
            return x @ tf.get_variable("w", [1, units])

    seen = []

    def own(getter, name, *args, **kwargs):
        seen.append(name)
        return getter(name, *args, **kwargs)

    template = tf.make_template("t", layer, custom_getter=own, units=3)
    assert [template(tf.ones([2, 1])).shape.as_list() for _ in range(2)] == [[2, 3]] * 2
    assert seen == ["t/layer/w"] * 2 and [v.name for v in template.variables] == ["t/layer/w:0"]


@pytest.mark.parametrize("resource", [False, True])
def test_variables(resource):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=resource)
    assert v.name == "v:0" and v.dtype == (tf.float32 if resource else tf.as_dtype("float32_ref"))
    with tf.Session() as s:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            s.run(v.value())
        s.run(tf.global_variables_initializer())
        assert s.run(v.assign_add([1, 1])).tolist() == [2, 3]
        assert s.run(v + 1).tolist() == [3, 4] and s.run(v[0]) == 2
        v.load([7.0, 8.0], s)
        assert v.eval(s).tolist() == [7, 8]


def test_control_flow_and_its_gradients():
    x, p = tf.constant(3.0), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: x * x, lambda: x + 1)
    dy = tf.gradients(y, x)[0]
    i, z = tf.while_loop(lambda i, z: i < 5, lambda i, z: [i + 1, z * x], [0, 1.0])
    m = tf.map_fn(lambda e: e * x, tf.constant([1.0, 2.0]))
    with tf.Session() as s:
        assert s.run([y, dy], {p: True}) == [9, 6] and s.run([y, dy], {p: False}) == [4, 1]
        assert s.run([i, z, tf.gradients(z, x)[0]]) == [5, 243, 405]
        assert s.run(m).tolist() == [3, 6] and s.run(tf.gradients(m, x)) == [3]
        assert s.run(tf.scan(lambda a, b: a + b, tf.constant([1.0, 2.0, 3.0]))).tolist() == [1, 3, 6]
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda a: True, lambda a: [tf.concat([a, a], 0)], [tf.zeros([1])])


def test_gradients_of_ones_own():
    @tf.RegisterGradient("TestTenfold")
    def tenfold(op, dy):
        return dy * 10
    x = tf.constant(2.0)
    with tf.get_default_graph().gradient_override_map({"Identity": "TestTenfold"}):
        y = tf.identity(x)

    @tf.custom_gradient
    def square(a):
        return a * a, lambda dy: dy * 7
    assert run([tf.gradients(y, x)[0], square(x), tf.gradients(square(x), x)[0]]) == [10, 4, 7]
    assert tf.gradients(tf.constant(1.0), x) == [None]
    with pytest.raises(LookupError, match="No gradient defined for operation"):
        tf.gradients(tf.py_func(lambda a: a, [x], tf.float32), x)
    table = tf.get_variable("table", [5, 2])
    grad = tf.gradients(tf.reduce_sum(tf.gather(table, [1, 1])), table)[0]
    assert isinstance(grad, tf.IndexedSlices)


def test_py_func():
    def fails(a):
        raise ZeroDivisionError("on purpose")
    assert run(tf.py_func(lambda a: a * 2, [tf.constant([1.0, 2.0])], tf.float32)).tolist() == [2, 4]
    with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError: on purpose") as e:
        run(tf.py_func(fails, [1.0], tf.float32))
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        run(tf.py_func(lambda a: np.float64(a), [1.0], tf.float32))


OPTIMIZERS = ["GradientDescentOptimizer(.1)", "MomentumOptimizer(.05, .9)", "AdamOptimizer(.1)", "AdagradOptimizer(.5)",
              "RMSPropOptimizer(.05)", "RMSPropOptimizer(.05, centered=True)", "FtrlOptimizer(.5)",
              "AdadeltaOptimizer(30.)", "ProximalGradientDescentOptimizer(.1)"]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_and_saver(optimizer, resource, tmp_path):
    with tf.variable_scope("", use_resource=resource):
        w = tf.get_variable("w", [3], initializer=tf.zeros_initializer())
        table = tf.get_variable("table", [4, 2], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum((w - [1.0, 2.0, 3.0]) ** 2) + tf.reduce_sum((tf.gather(table, [1, 1, 2]) - 1) ** 2)
    step = tf.train.get_or_create_global_step()
    train = eval("tf.train." + optimizer).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        first = s.run(loss)
        for _ in range(100):
            s.run(train)
        assert s.run(loss) < first / 2 and s.run(step) == 100
        path = saver.save(s, str(tmp_path / "m"), global_step=step)
        kept = s.run([w, table])
        s.run(tf.global_variables_initializer())
        saver.restore(s, path)
        assert all((a == b).all() for a, b in zip(kept, s.run([w, table])))
    assert tf.train.latest_checkpoint(str(tmp_path)) == path == str(tmp_path / "m-100")
    with tf.Graph().as_default(), tf.Session() as s:
        tf.train.import_meta_graph(path + ".meta").restore(s, path)
        again = {v.op.name: s.run(v) for v in tf.global_variables()}
    assert (again["w"] == kept[0]).all() and (tf.train.load_variable(path, "table") == kept[1]).all()


def test_graphs_come_back():
    x = tf.placeholder(tf.float32, name="x")
    y = tf.identity(x * 2 + 1, name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    assert tf.GraphDef.FromString(graph_def.SerializeToString()) == graph_def
    with tf.Graph().as_default(), tf.Session() as s:
        a = tf.constant(5.0)
        z, = tf.import_graph_def(graph_def, {"x:0": a}, ["y:0"])
        assert z.name == "import/y:0" and s.run(z) == 11
        with pytest.raises(ValueError, match="were not found in graph_def"):
            tf.import_graph_def(graph_def, {"zz:0": a})
    assert y.consumers() == []


def test_threads_and_memory():
    x = tf.placeholder(tf.float32)
    y = x + 1
    big = np.ones((256, 256), np.float32)
    with tf.Session() as s:
        threads = [threading.Thread(target=lambda: [s.run(y, {x: big}) for _ in range(50)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        result = s.run(y, {x: big})
    assert result.flags.writeable and (result == 2).all()


def test_messages():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    config.device_count["GPU"] = 0
    assert tf.ConfigProto.FromString(config.SerializeToString()) == config and config.HasField("gpu_options")
    assert "allow_growth: true" in str(config)
    example = tf.train.Example(features=tf.train.Features(feature={
        "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -2]))}))
    again = tf.train.Example.FromString(example.SerializeToString())
    assert list(again.features.feature["a"].int64_list.value) == [1, -2]


def test_unmodified_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import sys\nimport tensorflow as tf\nfrom tensorflow.python.framework import ops\n"
                      "from tensorflow.python.ops import array_ops, math_ops\nimport tensorflow.contrib.slim as slim\n"
                      "x = ops.convert_to_tensor([1.0, 2.0])\n"
                      "with tf.Session() as s:\n    print(s.run(math_ops.reduce_sum(array_ops.identity(x))), sys.argv[1])\n")
    out = subprocess.run([sys.executable, "-m", "millrace.tf1", "--force", str(script), "word"], capture_output=True,
                         text=True, cwd=tmp_path, env=dict(os.environ))
    assert out.stdout.split() == ["3.0", "word"], out.stderr
