"""python — what Python pays: the package beside TensorFlow and PyTorch, each in a process of its own: python.py.

    MILLRACE_PYTHON, MILLRACE_ORACLE, MILLRACE_TORCH_PYTHON name the interpreters; one that isn't there is left out.

Times are the least of several rounds, in microseconds where not said otherwise. C's step is what TF_SessionRun alone takes.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHILD = r"""
import json, os, resource, sys, time
began = time.perf_counter()
import numpy as np
numpy_done, rss = time.perf_counter(), lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6
before, which, found = rss(), sys.argv[1], {}

def least(call, n, rounds=7):
    for _ in range(20):
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n)
    return min(times) * 1e6

x = np.random.RandomState(0).uniform(size=(64, 784)).astype(np.float32)
y = np.random.RandomState(1).randint(10, size=64)
many, labels = np.tile(x, (40, 1)), np.tile(y, 40)
if which == "torch":
    import torch
    found["import, s"], found["import, MB"] = time.perf_counter() - numpy_done, rss() - before
    net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    sgd, tx, ty = torch.optim.SGD(net.parameters(), 0.01), torch.tensor(x), torch.tensor(y)
    def step():
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(net(tx), ty).backward()
        sgd.step()
    step()
    found["start to first step, s"] = time.perf_counter() - began
    a = torch.ones(4)
    found["eager add"], found["MLP step"] = least(lambda: a + a, 5000), least(step, 50)
    root = os.path.dirname(torch.__file__)
else:
    if which == "tensorflow":
        import tensorflow as eager
        tf, root = eager.compat.v1, os.path.dirname(eager.__file__)
        tf.disable_v2_behavior()
    else:
        import millrace.compat.v1 as tf
        import millrace
        root = os.path.dirname(millrace.__file__)
    tf.constant
    found["import, s"], found["import, MB"] = time.perf_counter() - numpy_done, rss() - before
    if sys.argv[2] == "graph":
        p, q = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
        w = [tf.Variable(np.random.RandomState(i).standard_normal(s).astype(np.float32) * 0.05) for i, s in
             enumerate(((784, 128), (128, 10)))]
        logits = tf.matmul(tf.nn.relu(tf.matmul(p, w[0])), w[1])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=q, logits=logits))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        feed = {p: x, q: y}
        session.run(train, feed)
        found["start to first step, s"] = time.perf_counter() - began
        a = tf.placeholder(tf.float32, [])
        b = a + 1.0
        one = np.float32(2.0)
        found["session.run of x + 1"] = least(lambda: session.run(b, {a: one}), 1000)
        call = session.make_callable(b, [a])
        found["callable of x + 1"] = least(lambda: call(one), 1000)
        found["MLP step"] = least(lambda: session.run(train, feed), 30)
        if which == "millrace":
            from millrace import session as own, tensors
            plan = session._plan(b, [a])
            given, results = plan.input_values(), plan.output_values()
            given[0] = tensors.new(np.asarray(one), 1)
            def c_step():
                session._step(plan, given, results, None, None, None)
                tensors.delete(results[0])
            found["of it C and ctypes"] = least(c_step, 1000)
    else:
        eager = __import__("tensorflow" if which == "tensorflow" else "millrace")
        a = eager.constant([1.0, 2.0, 3.0, 4.0])
        found = {"eager add": least(lambda: a + a, 2000)}
        k = eager.keras
        model = k.Sequential([k.layers.Input((784,)), k.layers.Dense(128, activation="relu"), k.layers.Dense(10)])
        model.compile(optimizer=k.optimizers.SGD(0.01), loss=k.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(many, labels, batch_size=64, epochs=1, verbose=0)
        start = time.perf_counter()
        model.fit(many, labels, batch_size=64, epochs=3, verbose=0)
        found["fit, images/s"] = 3 * len(many) / (time.perf_counter() - start)
size = 0
for base, _, files in os.walk(root):
    size += sum(os.path.getsize(os.path.join(base, f)) for f in files if not f.endswith(".pyc") and not os.path.islink(os.path.join(base, f)))
if which == "millrace":
    from millrace import _c
    size += 0 if _c.path.startswith(root) else os.path.getsize(_c.path)     # in a wheel it lies in the package
found["installed, MB"] = size / 1e6
print("FOUND" + json.dumps(found))
"""
# TensorFlow decides once whether it is eager; so do these children.
EAGER = CHILD.replace("        tf.disable_v2_behavior()\n", "").replace("import millrace.compat.v1 as tf", "import millrace as tf")


def measured(python, which, mode):
    """What a child found, or nothing where it can't run."""
    if not python or not os.path.exists(python):
        return {}
    path = os.pathsep.join([os.path.join(HERE, "..", "python"), os.environ.get("PYTHONPATH", "")])
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", PYTHONPATH=path if which == "millrace" else "")
    code = EAGER if mode == "eager" else CHILD
    done = subprocess.run([python, "-c", code, which, mode], env=env, capture_output=True, text=True)
    line = next((l for l in done.stdout.splitlines() if l.startswith("FOUND")), None)
    if line is None:
        print("%s (%s): %s" % (which, mode, done.stderr.strip()[-400:]), file=sys.stderr)
        return {}
    return json.loads(line[len("FOUND"):])


def main():
    home = os.path.expanduser("~/.cache/millrace/")
    oracle = os.environ.get("MILLRACE_ORACLE", home + "oracle") + "/bin/python"
    pythons = {"millrace": os.environ.get("MILLRACE_PYTHON", "/usr/bin/python3"), "tensorflow": oracle,
               "torch": os.environ.get("MILLRACE_TORCH_PYTHON", home + "torch/bin/python")}
    columns = {}
    for which, python in pythons.items():
        columns[which] = dict(measured(python, which, "graph"))
        if which != "torch":
            columns[which].update(measured(python, which, "eager"))
    rows = ["import, s", "import, MB", "start to first step, s", "session.run of x + 1", "of it C and ctypes", "callable of x + 1",
            "eager add", "MLP step", "fit, images/s", "installed, MB"]
    print("%-26s" % "" + "".join("%14s" % c for c in columns))
    for row in rows:
        cells = [columns[c].get(row) for c in columns]
        print("%-26s" % row + "".join("%14s" % ("" if v is None else "%.4g" % v) for v in cells))


if __name__ == "__main__":
    main()
