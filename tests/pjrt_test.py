# pjrt_test — what a PJRT plug-in computes is what the host computes: training, control flow, memory, failures.
#
# It runs where the plug-in for CPUs is (./run deps pjrt), and is skipped elsewhere.
import glob
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

BUILD = Path(os.environ.get("MILLRACE_BUILD", "build")).resolve()
FOUND = [os.environ["MILLRACE_TEST_PJRT"]] if os.environ.get("MILLRACE_TEST_PJRT") else sorted(
    glob.glob(os.path.expanduser("~/.cache/millrace/pjrt/**/libpjrt_cpu.so"), recursive=True))
if not FOUND:
    pytest.skip("no PJRT plug-in is here: ./run deps pjrt", allow_module_level=True)
PLUGIN = FOUND[0]
ENVIRONMENT = {**os.environ, "MILLRACE_PJRT": PLUGIN + "?cpu_device_count=2", "MILLRACE_COMPILE": "strict",
               "LD_LIBRARY_PATH": str(BUILD / "lib"), "PYTHONPATH": str(Path("python").resolve())}
DEVICE = "/device:PJRT:0"

HEAD = """
import os, sys, json, time
import numpy as np
import millrace.compat.v1 as tf
DEVICE = "/device:PJRT:0"

def losses(build, device, steps=20, resource=True):
    tf.reset_default_graph()
    with tf.Graph().as_default() as graph:
        with tf.variable_scope("", use_resource=resource), tf.device(device):
            feeds, loss, train = build()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [float(session.run([loss, train], feeds(i))[0]) for i in range(steps)]

def same(build, tolerance=1e-4, **options):
    host, device = losses(build, "/device:CPU:0", **options), losses(build, DEVICE, **options)
    assert np.all(np.isfinite(host)), host
    assert host[-1] < host[0], host
    error = np.max(np.abs(np.array(host) - np.array(device)) / np.maximum(1e-3, np.abs(host)))
    assert error < tolerance, (error, host, device)

random = np.random.RandomState(0)
def weights(name, *shape, scale=0.1):
    value = (np.random.RandomState(len(name)).randn(*shape) * scale).astype(np.float32)
    return tf.get_variable(name, initializer=value)
"""


def run(code, tmp_path, environment={}, check=True):
    """The code in a process of its own, where the plug-in is opened."""
    result = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(code)], capture_output=True, text=True, timeout=500,
                            env={**ENVIRONMENT, "MILLRACE_CACHE": str(tmp_path / "cache"), **environment})
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result.stdout if check else result


def train(code, tmp_path):
    """A `same`, of which each part is one program: no variable's value goes to the host, or back, in 20 steps."""
    result = run(code, tmp_path, {"MILLRACE_LOG": "info"}, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    clusters = re.findall(r"nodes ran (\d+) times there and (\d+) times on the host; (\d+) values", result.stderr)
    assert sorted(clusters) == [("1", "0", "0"), ("20", "0", "0")], result.stderr
    assert max(map(int, re.findall(r"(\d+) brought here", result.stderr))) == 20, result.stderr  # the losses


MLP = """
def mlp():
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    h = tf.nn.relu(tf.matmul(x, weights("w1", 20, 32)) + weights("b1", 32))
    logits = tf.matmul(h, weights("w2", 32, 5)) + weights("b2", 5)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    data, labels = np.random.RandomState(1).randn(64, 20).astype(np.float32), np.arange(64).astype(np.int32) % 5
    return lambda i: {x: data, y: labels}, loss, OPTIMIZER.minimize(loss)
"""


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer(0.5)", "MomentumOptimizer(0.1, 0.9)", "AdamOptimizer(0.01)",
                                       "AdagradOptimizer(0.1)", "RMSPropOptimizer(0.01)"])
def test_mlp(optimizer, tmp_path):
    train(MLP.replace("OPTIMIZER", "tf.train." + optimizer) + "same(mlp)", tmp_path)


def test_mlp_with_reference_variables(tmp_path):
    train(MLP.replace("OPTIMIZER", "tf.train.MomentumOptimizer(0.1, 0.9)") + "same(mlp, resource=False)", tmp_path)


def test_convnet(tmp_path):
    train("""
    def convnet():
        x, y = tf.placeholder(tf.float32, [None, 12, 12, 1]), tf.placeholder(tf.int32, [None])
        h = tf.nn.relu(tf.nn.conv2d(x, weights("k1", 5, 5, 1, 8), [1, 1, 1, 1], "SAME") + weights("c1", 8))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        h = tf.nn.relu(tf.nn.conv2d(h, weights("k2", 3, 3, 8, 16), [1, 1, 1, 1], "VALID") + weights("c2", 16))
        h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        logits = tf.matmul(tf.reshape(h, [-1, 64]), weights("d", 64, 5)) + weights("e", 5)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        data, labels = np.random.RandomState(1).randn(16, 12, 12, 1).astype(np.float32), np.arange(16).astype(np.int32) % 5
        return lambda i: {x: data, y: labels}, loss, tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    same(convnet)
    """, tmp_path)


def test_residual_blocks(tmp_path):
    train("""
    def normalised(h, name, n):
        scale, offset = tf.get_variable(name + "s", initializer=np.ones(n, np.float32)), weights(name + "o", n)
        return tf.nn.fused_batch_norm(h, scale, offset, epsilon=1e-3, is_training=True)[0]
    def residual():
        x, y = tf.placeholder(tf.float32, [8, 8, 8, 4]), tf.placeholder(tf.int32, [8])
        h = x
        for i in range(3):
            inner = tf.nn.relu(normalised(tf.nn.conv2d(h, weights("a%d" % i, 3, 3, 4, 4), [1, 1, 1, 1], "SAME"), "n%d" % i, 4))
            h = tf.nn.relu(h + normalised(tf.nn.conv2d(inner, weights("b%d" % i, 3, 3, 4, 4), [1, 1, 1, 1], "SAME"), "m%d" % i, 4))
        logits = tf.matmul(tf.reduce_mean(h, [1, 2]), weights("d", 4, 5))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        data, labels = np.random.RandomState(1).randn(8, 8, 8, 4).astype(np.float32), np.arange(8).astype(np.int32) % 5
        return lambda i: {x: data, y: labels}, loss, tf.train.MomentumOptimizer(0.02, 0.9).minimize(loss)
    same(residual)
    """, tmp_path)


def test_lstm_with_sampled_softmax(tmp_path):
    train("""
    def lstm():
        words, nexts = tf.placeholder(tf.int32, [4, 6]), tf.placeholder(tf.int32, [4, 6])
        inputs = tf.nn.embedding_lookup(weights("embedding", 50, 8), words)
        kernel, bias = weights("kernel", 24, 64), weights("bias", 64)
        c, h = tf.zeros([4, 16]), tf.zeros([4, 16])
        outputs = []
        for t in range(6):
            i, j, f, o = tf.split(tf.matmul(tf.concat([inputs[:, t], h], 1), kernel) + bias, 4, 1)
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
            outputs.append(h)
        flat, labels = tf.reshape(tf.stack(outputs, 1), [-1, 16]), tf.reshape(nexts, [-1, 1])
        sampled = (tf.constant(np.arange(10), tf.int64), tf.ones([24, 1]), tf.ones([10]))
        loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights("out", 50, 16), weights("outb", 50), tf.cast(labels, tf.int64), flat,
                                                         10, 50, sampled_values=sampled, remove_accidental_hits=False))
        r = np.random.RandomState(1)
        a, b = r.randint(0, 50, [4, 6]).astype(np.int32), r.randint(0, 50, [4, 6]).astype(np.int32)
        return lambda i: {words: a, nexts: b}, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    same(lstm)
    """, tmp_path)


def test_word2vec(tmp_path):
    train("""
    def word2vec():
        centre, context = tf.placeholder(tf.int32, [16]), tf.placeholder(tf.int32, [16])
        emb, out, bias = weights("emb", 40, 12), weights("nce", 40, 12), weights("nceb", 40)
        near = tf.nn.embedding_lookup(emb, centre)
        true = tf.reduce_sum(near * tf.nn.embedding_lookup(out, context), 1) + tf.nn.embedding_lookup(bias, context)
        negatives = tf.constant(np.arange(8, dtype=np.int32) * 5)
        noise = tf.matmul(near, tf.nn.embedding_lookup(out, negatives), transpose_b=True) + tf.nn.embedding_lookup(bias, negatives)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(true), logits=true)) + tf.reduce_mean(
            tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(noise), logits=noise), 1))
        r = np.random.RandomState(1)
        a, b = r.randint(0, 40, 16).astype(np.int32), r.randint(0, 40, 16).astype(np.int32)
        return lambda i: {centre: a, context: b}, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    same(word2vec)
    """, tmp_path)


def test_transformer_block(tmp_path):
    train("""
    def layer_norm(h, name):
        mean, variance = tf.nn.moments(h, [-1], keep_dims=True)
        scale = tf.get_variable(name + "s", initializer=np.ones(16, np.float32))
        return (h - mean) * tf.rsqrt(variance + 1e-5) * scale + weights(name + "o", 16)
    def transformer():
        x, y = tf.placeholder(tf.float32, [4, 6, 16]), tf.placeholder(tf.float32, [4, 6, 16])
        def heads(name):
            flat = tf.matmul(tf.reshape(x, [24, 16]), weights(name, 16, 16))
            return tf.transpose(tf.reshape(flat, [4, 6, 2, 8]), [0, 2, 1, 3])
        q, k, v = heads("q"), heads("kk"), heads("vvv")
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.float32(np.sqrt(8)))
        mixed = tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [24, 16])
        h = layer_norm(tf.reshape(x, [24, 16]) + tf.matmul(mixed, weights("o", 16, 16)), "n1")
        inner = tf.matmul(h, weights("f1", 16, 32)) + weights("g1", 32)
        inner = 0.5 * inner * (1.0 + tf.erf(inner / np.float32(np.sqrt(2))))
        out = layer_norm(h + tf.matmul(inner, weights("f2", 32, 16)), "n2")
        loss = tf.reduce_mean(tf.square(out - tf.reshape(y, [24, 16])))
        r = np.random.RandomState(1)
        a, b = r.randn(4, 6, 16).astype(np.float32), r.randn(4, 6, 16).astype(np.float32)
        return lambda i: {x: a, y: b}, loss, tf.train.AdamOptimizer(0.01).minimize(loss)
    same(transformer)
    """, tmp_path)


# ---- state

def test_a_training_killed_goes_on(tmp_path):
    code = MLP.replace("OPTIMIZER", "tf.train.MomentumOptimizer(0.1, 0.9)") + """
with tf.variable_scope("", use_resource=True), tf.device(DEVICE):
    feeds, loss, train = mlp()
saver, folder, most = tf.train.Saver(), sys.argv[1], int(sys.argv[2])
with tf.Session() as session:
    kept = tf.train.latest_checkpoint(folder)
    saver.restore(session, kept) if kept else session.run(tf.global_variables_initializer())
    first = int(kept.split("-")[-1]) if kept else 0
    for i in range(first, 30):
        print(json.dumps([i, float(session.run([loss, train], feeds(i))[0])]), flush=True)
        if i % 5 == 4:
            saver.save(session, folder + "/model", global_step=i + 1)
        if i == most:
            os.kill(os.getpid(), 9)
"""
    def steps(folder, most):
        (tmp_path / folder).mkdir(exist_ok=True)
        out = subprocess.run([sys.executable, "-c", HEAD + code, str(tmp_path / folder), str(most)], capture_output=True, text=True,
                             timeout=300, env={**ENVIRONMENT, "MILLRACE_CACHE": str(tmp_path / "cache")})
        return dict(json.loads(line) for line in out.stdout.splitlines()), out.stderr
    whole, said = steps("whole", 99)
    assert len(whole) == 30, said
    parts = {**steps("parts", 7)[0], **steps("parts", 18)[0], **steps("parts", 99)[0]}
    assert len(parts) == 30
    for i in whole:
        assert abs(whole[i] - parts[i]) < 1e-5


def test_many_steps_take_no_more_memory(tmp_path):
    out = run(MLP.replace("OPTIMIZER", "tf.train.GradientDescentOptimizer(0.01)") + """
with tf.variable_scope("", use_resource=True), tf.device(DEVICE):
    feeds, loss, train = mlp()
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    feed = feeds(0)
    for i in range(int(os.environ.get("MILLRACE_STEPS", 2000))):
        session.run(train, feed)
        if i == 1000:
            before = resident()
    print((resident() - before) / 2**20)
""", tmp_path)
    assert float(out) < 8, out


def test_the_next_process_finds_programs(tmp_path):
    code = MLP.replace("OPTIMIZER", "tf.train.GradientDescentOptimizer(0.1)") + "print(losses(mlp, DEVICE, 3))"
    first = run(code, tmp_path)
    files = list((tmp_path / "cache").iterdir())
    assert files and (tmp_path / "cache").stat().st_mode & 0o077 == 0
    assert run(code, tmp_path) == first
    for file in files:  # what is broken is made anew
        file.write_bytes(b"no program")
    assert run(code, tmp_path) == first
    (tmp_path / "cache").chmod(0o777)  # others could write there: not used
    assert run(code, tmp_path) == first


# ---- failures

def test_what_is_no_plug_in_is_refused(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library")
    for path, said in [(tmp_path / "none.so", "cannot open"), (text, "MILLRACE_PJRT"), (BUILD / "lib/libmillrace.so", "GetPjrtApi")]:
        result = run("tf.Session().run(tf.constant(1))", tmp_path, {"MILLRACE_PJRT": str(path)}, check=False)
        assert result.returncode != 0 and said in result.stderr and "MILLRACE_PJRT" in result.stderr, result.stderr


LIBTPU = [os.environ["MILLRACE_TEST_LIBTPU"]] if os.environ.get("MILLRACE_TEST_LIBTPU") else sorted(
    glob.glob(os.path.expanduser("~/.cache/millrace/pjrt/**/libtpu.so"), recursive=True))


@pytest.mark.skipif(not LIBTPU, reason="libtpu is not here: pip install --target ~/.cache/millrace/pjrt/tpu libtpu")
@pytest.mark.skipif(os.path.exists("/dev/accel0") or os.path.exists("/dev/vfio/0"), reason="a TPU is here")
def test_another_plug_in_is_refused_where_its_device_is_missing():
    result = subprocess.run([BUILD / "bin/millrace", "devices"], capture_output=True, text=True, timeout=120,
                            env={**ENVIRONMENT, "MILLRACE_PJRT": LIBTPU[0]})
    assert result.returncode > 0 and "libtpu.so: TPU initialization failed" in result.stderr, result.stderr


def test_a_forked_child_is_told(tmp_path):
    run("""
    with tf.device(DEVICE):
        x = tf.placeholder(tf.float32, [4])
        y = tf.tanh(x * x + x)
    session = tf.Session()
    session.run(y, {x: np.ones(4, np.float32)})
    child = os.fork()
    if not child:
        try:
            session.run(y, {x: np.ones(4, np.float32)})
        except Exception as error:
            os._exit(7 if "fork" in str(error) else 8)
        os._exit(9)
    assert os.waitpid(child, 0)[1] == 7 << 8
    """, tmp_path)


def test_devices_are_listed():
    out = subprocess.run([BUILD / "bin/millrace", "devices", "--json"], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert [device["type"] for device in json.loads(out.stdout)] == ["CPU", "PJRT", "PJRT"]


# ---- control flow, random numbers, data types

def test_random_numbers_are_the_hosts(tmp_path):
    run("""
    def numbers(device):
        tf.reset_default_graph()
        with tf.device(device):
            x = tf.placeholder(tf.float32, [])
            a, b = tf.random_uniform([3, 5], seed=7) * x, tf.random_normal([4], seed=9) * x
        with tf.Session() as session:
            return [session.run([a, b], {x: 2.0}) for i in range(3)]
    for host, device in zip(numbers("/cpu:0"), numbers(DEVICE)):
        np.testing.assert_array_equal(host[0], device[0])
        np.testing.assert_allclose(host[1], device[1], rtol=1e-5)
    """, tmp_path)


def test_gathering_out_of_range_is_an_error(tmp_path):
    run("""
    with tf.device(DEVICE):
        x, at = tf.placeholder(tf.float32, [4, 2]), tf.placeholder(tf.int32, [3])
        y = tf.gather(x, at) * 2.0
    with tf.Session() as session:
        data = np.arange(8, dtype=np.float32).reshape(4, 2)
        np.testing.assert_array_equal(session.run(y, {x: data, at: [3, 0, 1]}), data[[3, 0, 1]] * 2)
        try:
            session.run(y, {x: data, at: [3, 4, 1]})
            assert False
        except tf.errors.InvalidArgumentError as error:
            assert "Gather" in str(error), error
        np.testing.assert_array_equal(session.run(y, {x: data, at: [0, 0, 1]}), data[[0, 0, 1]] * 2)
    """, tmp_path)


FUNCTIONS = """
from millrace.defun import Defun
graph = tf.get_default_graph()

def function(*types):
    def made(code):
        f = Defun(*types)(code)
        f.add_to_graph(graph)
        return f
    return made

def functions(*list):
    from millrace import messages
    proto = messages.AttrValue()
    for f in list:
        proto.list.func.add().name = f.name
    return proto

F, I, H = tf.float32, tf.int32, tf.resource
raw = tf.raw_ops
"""


def run_with_functions(code, tmp_path, environment={}):
    return run(FUNCTIONS + textwrap.dedent(code), tmp_path, environment)


def test_conditionals_and_loops_are_part_of_a_program(tmp_path):
    run_with_functions("""
    @function(I, F)
    def more(i, a): return i < 4
    @function(I, F)
    def body(i, a): return i + 1, tf.tanh(a) * 1.5 + 0.25
    @function(F, F)
    def thrice(a, b): return a * 3.0 + b
    @function(F, F)
    def looped(a, b): return raw.StatelessWhile(input=[tf.constant(0), a], cond=more, body=body)[1] - b
    @function(F, F)
    def nested(a, b): return raw.StatelessIf(cond=tf.reduce_sum(b) > 1.0, input=[a, b], Tout=[F], then_branch=thrice, else_branch=looped)[0]
    def net(device):
        with tf.device(device):
            x, at = tf.placeholder(F, [4]), tf.placeholder(I, [])
            y = raw.StatelessIf(cond=tf.reduce_mean(x) > 0.5, input=[x, x * 2.0], Tout=[F], then_branch=thrice, else_branch=looped)[0]
            z = raw.StatelessCase(branch_index=at, input=[y, x], Tout=[F], branches=functions(thrice, looped, nested))[0]
            count, w = raw.StatelessWhile(input=[tf.constant(0), z], cond=more, body=body)
            return x, at, [w * 2.0, tf.cast(count, F) + w]
    host, device = net("/cpu:0"), net(DEVICE)
    with tf.Session() as session:
        for at in (0, 1, 2, 7, -3):
            for first in (0.0, 3.0):
                data = np.linspace(first, first - 1, 4, dtype=np.float32)
                a, b = (session.run(outs, {x: data, i: at}) for x, i, outs in (host, device))
                np.testing.assert_allclose(a, b, rtol=1e-5)
    """, tmp_path)


def test_variables_in_branches_and_loops(tmp_path):
    run_with_functions("""
    @function(H, F)
    def add(v, by):
        raw.AssignAddVariableOp(resource=v, value=by)
        return raw.ReadVariableOp(resource=v, dtype=F)
    @function(H, F)
    def leave(v, by): return raw.ReadVariableOp(resource=v, dtype=F) * 1.0
    @function(I, H, F)
    def more(i, v, by): return i < 3
    @function(I, H, F)
    def again(i, v, by):
        raw.AssignAddVariableOp(resource=v, value=by)
        return i + 1, v, by * 2.0
    def net(device):
        with tf.device(device):
            v = tf.get_variable("v" + device[1:4], initializer=np.ones(3, np.float32), use_resource=True)
            x, yes = tf.placeholder(F, [3]), tf.placeholder(tf.bool, [])
            now = raw.If(cond=yes, input=[v.handle, x * 2.0], Tout=[F], then_branch=add, else_branch=leave)[0]
            with tf.control_dependencies([now]):
                i, _, by = raw.While(input=[tf.constant(0), v.handle, x], cond=more, body=again)
            with tf.control_dependencies([by]):
                return x, yes, [now + 0.0, by + tf.cast(i, F), v.read_value() + 0.0]
    nets = net("/cpu:0"), net(DEVICE)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(6):
            data = np.arange(3, dtype=np.float32) + step
            a, b = (session.run(outs, {x: data, yes: step % 2 == 0}) for x, yes, outs in nets)
            np.testing.assert_allclose(a, b, rtol=1e-5)
    """, tmp_path)


def test_a_loop_whose_shapes_change_runs_on_the_host(tmp_path):
    run_with_functions("""
    @function(I, F)
    def more(i, a): return i < 3
    @function(I, F)
    def grow(i, a): return i + 1, tf.concat([a, a * 2.0], 0)
    with tf.device(DEVICE):
        x = tf.placeholder(F, [None])
        y = raw.StatelessWhile(input=[tf.constant(0), x + 1.0], cond=more, body=grow)[1] * 1.0
    with tf.Session() as session:
        for i in range(3):
            found = session.run(y, {x: [1.0, 2.0]})
            np.testing.assert_array_equal(found, np.outer([1, 2, 2, 4, 2, 4, 4, 8], [2, 3]).reshape(-1))
    """, tmp_path, {"MILLRACE_COMPILE": "now"})


def test_a_device_that_does_not_answer_ends_with_the_step(tmp_path):
    run_with_functions("""
    @function(I, F)
    def more(i, a): return (a[0, 0] > -1.0) & (i < 2000000000)
    @function(I, F)
    def body(i, a): return i + 1, tf.tanh(tf.matmul(a, a) + 0.1)
    with tf.device(DEVICE):
        x = tf.placeholder(F, [32, 32])
        y = raw.StatelessWhile(input=[tf.constant(0), x], cond=more, body=body)[1] * 2.0
    with tf.Session() as session:
        data = np.full((32, 32), -9, np.float32)
        np.testing.assert_array_equal(session.run(y, {x: data}), data * 2)
        begun = time.time()
        try:
            session.run(y, {x: data * 0}, options=tf.RunOptions(timeout_in_ms=300))
            assert False
        except tf.errors.DeadlineExceededError as error:
            assert "has not answered" in str(error), error
        assert time.time() - begun < 60
        os._exit(0)  # it goes on for ever
    """, tmp_path)


def test_an_error_in_a_branch_is_the_steps(tmp_path):
    run_with_functions("""
    @function(F, I)
    def take(a, at): return tf.gather(a, at)
    @function(F, I)
    def leave(a, at): return a[:2]
    with tf.device(DEVICE):
        x, at, yes = tf.placeholder(F, [4]), tf.placeholder(I, [2]), tf.placeholder(tf.bool, [])
        y = raw.StatelessIf(cond=yes, input=[x, at], Tout=[F], then_branch=take, else_branch=leave)[0] * 2.0
    with tf.Session() as session:
        data = np.arange(4, dtype=np.float32)
        np.testing.assert_array_equal(session.run(y, {x: data, at: [9, 9], yes: False}), [0, 2])
        np.testing.assert_array_equal(session.run(y, {x: data, at: [3, 1], yes: True}), [6, 2])
        try:
            session.run(y, {x: data, at: [9, 9], yes: True})
            assert False
        except tf.errors.InvalidArgumentError as error:
            assert "If" in str(error), error
    """, tmp_path)


def test_two_tasks_with_a_device_each(tmp_path):
    """Data-parallel over both: the losses of one device."""
    run("""
    import socket, subprocess
    sockets = [socket.socket() for _ in range(2)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    hosts = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    code = "import sys, millrace.compat.v1 as tf; tf.train.Server({'worker': sys.argv[2:]}, 'worker', int(sys.argv[1])).join()"
    tasks = [subprocess.Popen([sys.executable, "-c", code, str(i)] + hosts) for i in range(2)]
    data, labels = np.random.RandomState(1).randn(64, 20).astype(np.float32), np.arange(64).astype(np.int32) % 5

    def losses(devices, target, home):
        tf.reset_default_graph()
        with tf.variable_scope("", use_resource=True), tf.device(home):
            values = [weights("w1", 20, 32), weights("b1", 32), weights("w22", 32, 5), weights("b22", 5)]
        x, y = tf.placeholder(tf.float32, [64, 20]), tf.placeholder(tf.int32, [64])
        n, each, gradients = len(devices), [], []
        for i, device in enumerate(devices):
            with tf.device(device):
                hidden = tf.nn.relu(tf.matmul(tf.split(x, n)[i], values[0]) + values[1])
                logits = tf.matmul(hidden, values[2]) + values[3]
                each.append(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.split(y, n)[i], logits=logits)))
                gradients.append(tf.gradients(each[-1], values))
        with tf.device(home):
            loss = tf.add_n(each) / n
            train = tf.group(*[tf.assign_sub(v, 0.5 * tf.add_n([g[k] for g in gradients]) / n) for k, v in enumerate(values)])
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=120000)) as session:
            session.run(tf.global_variables_initializer())
            return [float(session.run([loss, train], {x: data, y: labels})[0]) for _ in range(20)]

    try:
        for port in (int(host.split(":")[1]) for host in hosts):
            until = time.time() + 120
            while socket.socket().connect_ex(("127.0.0.1", port)) and time.time() < until:
                time.sleep(0.1)
        at = "/job:worker/replica:0/task:%d" + DEVICE
        one, two = losses([DEVICE], "", DEVICE), losses([at % 0, at % 1], "grpc://" + hosts[0], at % 0)
        np.testing.assert_allclose(one, two, rtol=1e-5)
    finally:
        for task in tasks:
            task.kill()
    """, tmp_path, {"MILLRACE_COMPILE": "now"})


def test_lines_beside_the_operations(tmp_path):
    """The ops' own `.test` lines, as programs."""
    out = subprocess.run([BUILD / "tests/op_suite", "--device", "PJRT", "--every", os.environ.get("MILLRACE_EVERY", "8"), "src/ops"],
                         capture_output=True, text=True, timeout=500, env={**ENVIRONMENT, "MILLRACE_CACHE": str(tmp_path / "cache")})
    print(out.stdout)
    assert out.returncode == 0, out.stdout
    assert int(re.search(r"(\d+) lines ran on PJRT", out.stdout)[1]) > 50, out.stdout
