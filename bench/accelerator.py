# accelerator.py — training steps on a PJRT device: Millrace beside JAX's jit and PyTorch, the same nets in one run.
#
#     python bench/accelerator.py [--plugin PATH] [--nets mlp,alexnet,...] [--types float32,tf32,bfloat16] [--steps 20] [--json FILE]
#
# Needs the built library (MILLRACE_BUILD, or build/) and NumPy; JAX and PyTorch are taken where they are. Without --plugin it is the
# CUDA plug-in of JAX's wheels. Each net of each framework is a process of its own, so that one that fails or takes all the
# memory ends alone. First the losses of ten steps with equal weights are compared, then steps are timed: the median of five rounds.
import argparse
import glob
import json
import os
import site
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROUNDS, COMPARED = 5, 10

# ---- the nets, as lists of layers: each framework below reads them
# ("conv", kernel, stride, channels) with bias and relu, ("norm_conv", ...) with batch normalisation, ("pool", kernel, stride),
# ("mean",) over the picture, ("dense", units), ("dense_relu", units), ("branches", [[...], ...]) side by side along the
# channels, ("residual", [...], [...]) added, then relu.


def inception(a, b3, b, c5, c, d):
    return ("branches", [[("conv", 1, 1, a)], [("conv", 1, 1, b3), ("conv", 3, 1, b)], [("conv", 1, 1, c5), ("conv", 5, 1, c)],
                         [("pool", 3, 1), ("conv", 1, 1, d)]])


def bottleneck(width, stride, project):
    inner = [("norm_conv", 1, 1, width), ("norm_conv", 3, stride, width), ("norm_conv_linear", 1, 1, 4 * width)]
    return ("residual", inner, [("norm_conv_linear", 1, stride, 4 * width)] if project else [])


def resnet50():
    layers = [("norm_conv", 7, 2, 64), ("pool", 3, 2)]
    for i, (width, n) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        layers += [bottleneck(width, 2 if i and not j else 1, not j) for j in range(n)]
    return layers + [("mean",), ("dense", 1000)]


NETS = {
    "mlp": (256, (784,), 10, [("dense_relu", 2048), ("dense_relu", 2048), ("dense", 10)]),
    "alexnet": (128, (224, 224, 3), 1000,
                [("conv", 11, 4, 64), ("pool", 3, 2), ("conv", 5, 1, 192), ("pool", 3, 2), ("conv", 3, 1, 384), ("conv", 3, 1, 256),
                 ("conv", 3, 1, 256), ("pool", 3, 2), ("dense_relu", 4096), ("dense_relu", 4096), ("dense", 1000)]),
    "vgg_a": (64, (224, 224, 3), 1000,
              [("conv", 3, 1, 64), ("pool", 2, 2), ("conv", 3, 1, 128), ("pool", 2, 2), ("conv", 3, 1, 256), ("conv", 3, 1, 256), ("pool", 2, 2),
               ("conv", 3, 1, 512), ("conv", 3, 1, 512), ("pool", 2, 2), ("conv", 3, 1, 512), ("conv", 3, 1, 512), ("pool", 2, 2),
               ("dense_relu", 4096), ("dense_relu", 4096), ("dense", 1000)]),
    "googlenet": (128, (224, 224, 3), 1000,
                  [("conv", 7, 2, 64), ("pool", 3, 2), ("conv", 1, 1, 64), ("conv", 3, 1, 192), ("pool", 3, 2),
                   inception(64, 96, 128, 16, 32, 32), inception(128, 128, 192, 32, 96, 64), ("pool", 3, 2),
                   inception(192, 96, 208, 16, 48, 64), inception(160, 112, 224, 24, 64, 64), inception(128, 128, 256, 24, 64, 64),
                   inception(112, 144, 288, 32, 64, 64), inception(256, 160, 320, 32, 128, 128), ("pool", 3, 2),
                   inception(256, 160, 320, 32, 128, 128), inception(384, 192, 384, 48, 128, 128), ("mean",), ("dense", 1000)]),
    "resnet50_b64": (64, (224, 224, 3), 1000, resnet50()),
    "resnet50_b256": (256, (224, 224, 3), 1000, resnet50()),
    "lstm": (64, "lstm", 10000, dict(words=10000, units=1024, steps=32)),
    "transformer": (32, "transformer", 512, dict(width=1024, heads=16, length=512, inner=4096)),
}
SMALL = {"mlp": (32, (20,), 5, [("dense_relu", 32), ("dense", 5)]),
         "convnet": (8, (16, 16, 3), 5, [("conv", 3, 1, 8), ("pool", 2, 2), inception(4, 4, 8, 2, 4, 4), ("mean",), ("dense", 5)]),
         "residual": (8, (16, 16, 3), 5, [("norm_conv", 3, 1, 16), bottleneck(8, 2, True), bottleneck(8, 1, False), ("mean",), ("dense", 5)]),
         "lstm": (4, "lstm", 50, dict(words=50, units=16, steps=6)),
         "transformer": (2, "transformer", 16, dict(width=16, heads=2, length=8, inner=32))}
RATE, MOMENTUM, EPSILON = 0.01, 0.9, 1e-3


class Weights:
    """The weights in the order in which a net asks for them: the same numbers in every framework."""

    def __init__(self):
        self.random, self.values = np.random.RandomState(0), []

    def take(self, *shape, fan=None):
        scale = np.sqrt(2.0 / fan) if fan else 0
        self.values.append((self.random.standard_normal(shape) * scale if fan else np.zeros(shape)).astype(np.float32))
        return len(self.values) - 1

    def ones(self, *shape):
        self.values.append(np.ones(shape, np.float32))
        return len(self.values) - 1


def data(net):
    batch, shape, classes, spec = net
    random = np.random.RandomState(1)
    if shape == "lstm":
        words = random.randint(0, spec["words"], (batch, spec["steps"] + 1)).astype(np.int32)
        return words[:, :-1].copy(), words[:, 1:].copy()
    if shape == "transformer":
        x = random.standard_normal((batch, spec["length"], spec["width"])).astype(np.float32)
        return x, random.standard_normal(x.shape).astype(np.float32)
    return random.standard_normal((batch, *shape)).astype(np.float32), random.randint(0, classes, batch).astype(np.int32)


# ---- a net in words that every framework has


def forward(net, ops, weights, take, x):
    """Logits, or what a transformer gives. `ops` has the framework's words, `take(index)` gives a weight."""
    _, shape, classes, spec = net

    def weight(*dims, fan=None):
        return take(weights.take(*dims, fan=fan))

    def dense(h, units):
        n = h.shape[-1]
        return ops.matmul(h, weight(int(n), units, fan=int(n))) + weight(units)

    def convolution(h, kernel, stride, channels, norm):
        n = int(h.shape[-1])
        h = ops.conv(h, weight(kernel, kernel, n, channels, fan=kernel * kernel * n), stride)
        if norm:
            return ops.norm(h, take(weights.ones(channels)), weight(channels))
        return h + weight(channels)

    def layers(h, spec):
        for kind, *args in spec:
            if kind in ("conv", "norm_conv", "norm_conv_linear"):
                h = convolution(h, *args, kind != "conv")
                h = h if kind == "norm_conv_linear" else ops.relu(h)
            elif kind == "pool":
                h = ops.pool(h, *args)
            elif kind == "mean":
                h = ops.mean(h, (1, 2))
            elif kind == "branches":
                h = ops.concat([layers(h, branch) for branch in args[0]])
            elif kind == "residual":
                h = ops.relu(layers(h, args[0]) + layers(h, args[1]))
            else:
                h = dense(ops.flat(h), *args)
                h = ops.relu(h) if kind == "dense_relu" else h
        return h

    if shape == "lstm":
        units, n = spec["units"], spec["steps"]
        inputs = ops.take(weight(spec["words"], units, fan=units), x)
        kernel, bias = weight(2 * units, 4 * units, fan=2 * units), weight(4 * units)
        c = h = ops.zeros((net[0], units), inputs)
        outputs = []
        for t in range(n):
            i, j, f, o = ops.split(ops.matmul(ops.concat([inputs[:, t], h]), kernel) + bias, 4)
            c = c * ops.sigmoid(f + 1.0) + ops.sigmoid(i) * ops.tanh(j)
            h = ops.tanh(c) * ops.sigmoid(o)
            outputs.append(h)
        return dense(ops.reshape(ops.stack(outputs), (net[0] * n, units)), spec["words"])
    if shape == "transformer":
        width, heads, length = spec["width"], spec["heads"], spec["length"]
        flat = ops.reshape(x, (net[0] * length, width))

        def normalised(h):
            mean = ops.mean(h, (-1,), True)
            variance = ops.mean(ops.square(h - mean), (-1,), True)
            return (h - mean) * ops.rsqrt(variance + 1e-5) * take(weights.ones(width)) + weight(width)

        def head():
            h = ops.reshape(ops.matmul(flat, weight(width, width, fan=width)), (net[0], length, heads, width // heads))
            return ops.transpose(h, (0, 2, 1, 3))
        q, k, v = head(), head(), head()
        scores = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * float((width // heads) ** -0.5))
        mixed = ops.reshape(ops.transpose(ops.matmul(scores, v), (0, 2, 1, 3)), (net[0] * length, width))
        h = normalised(flat + ops.matmul(mixed, weight(width, width, fan=width)))
        return normalised(h + dense(ops.relu(dense(h, spec["inner"])), width))
    return layers(x, spec)


# ---- Millrace


def run_millrace(net, kind, rounds, steps, device, optimise=True):
    import millrace.compat.v1 as tf

    class Ops:
        matmul, relu, sigmoid, tanh, square, rsqrt, softmax = tf.matmul, tf.nn.relu, tf.sigmoid, tf.tanh, tf.square, tf.rsqrt, tf.nn.softmax
        take, reshape, transpose = staticmethod(tf.gather), staticmethod(tf.reshape), staticmethod(tf.transpose)
        conv = staticmethod(lambda h, k, stride: tf.nn.conv2d(h, k, [1, stride, stride, 1], "SAME"))
        pool = staticmethod(lambda h, k, stride: tf.nn.max_pool(h, [1, k, k, 1], [1, stride, stride, 1], "SAME"))
        mean = staticmethod(lambda h, axes, keep=False: tf.reduce_mean(h, list(axes), keepdims=keep))
        concat = staticmethod(lambda hs: tf.concat(hs, -1))
        split = staticmethod(lambda h, n: tf.split(h, n, -1))
        stack = staticmethod(lambda hs: tf.stack(hs, 1))
        flat = staticmethod(lambda h: tf.reshape(h, [int(h.shape[0]), -1]) if len(h.shape) > 2 else h)
        zeros = staticmethod(lambda shape, like: tf.zeros(shape, like.dtype))

        @staticmethod
        def norm(h, scale, offset):
            return tf.nn.fused_batch_norm(h, tf.cast(scale, tf.float32), tf.cast(offset, tf.float32), epsilon=EPSILON, is_training=True)[0]
    low = tf.bfloat16 if kind == "bfloat16" else tf.float32
    inputs, wanted = data(net)
    weights, made = Weights(), {}
    with tf.device(device), tf.variable_scope("", use_resource=True):
        x = tf.placeholder(tf.as_dtype(inputs.dtype), inputs.shape)
        y = tf.placeholder(tf.as_dtype(wanted.dtype), wanted.shape)

        def take(i):
            made[i] = tf.get_variable("w%d" % i, initializer=weights.values[i])
            return tf.cast(made[i], low)
        out = tf.cast(forward(net, Ops, weights, take, tf.cast(x, low) if inputs.dtype == np.float32 else x), tf.float32)
        if wanted.dtype == np.float32:
            loss = tf.reduce_mean(tf.square(out - tf.reshape(y, out.shape)))
        else:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(y, [-1]), logits=out))
        train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {x: inputs, y: wanted}
        begun = time.perf_counter()
        losses = [float(session.run([loss, train], feed)[0]) for _ in range(COMPARED)]
        first = time.perf_counter() - begun

        def step():
            session.run(train, feed)
        return losses, timed(step, lambda: session.run(loss, feed), rounds, steps), first


def timed(step, end, rounds, steps):
    """Milliseconds a step, the median of the rounds; and processor time."""
    if not rounds:
        return None, None
    for _ in range(3):
        step()
    end()
    walls, processor = [], time.process_time()
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(steps):
            step()
        end()
        walls.append((time.perf_counter() - begun) / steps * 1000)
    return statistics.median(walls), (time.process_time() - processor) / rounds / steps * 1000


# ---- JAX


def run_jax(net, kind, rounds, steps, device):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if kind == "tf32" else "highest" if kind == "float32" else "default")
    lax = jax.lax

    class Ops:
        matmul, relu, sigmoid, tanh = staticmethod(jnp.matmul), staticmethod(jax.nn.relu), staticmethod(jax.nn.sigmoid), staticmethod(jnp.tanh)
        square, rsqrt, softmax = staticmethod(jnp.square), staticmethod(lax.rsqrt), staticmethod(jax.nn.softmax)
        reshape, transpose = staticmethod(jnp.reshape), staticmethod(jnp.transpose)
        take = staticmethod(lambda table, at: table[at])
        conv = staticmethod(lambda h, k, s: lax.conv_general_dilated(h, k, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        pool = staticmethod(lambda h, k, s: lax.reduce_window(h, -jnp.inf, lax.max, (1, k, k, 1), (1, s, s, 1), "SAME"))
        mean = staticmethod(lambda h, axes, keep=False: jnp.mean(h, axes, keepdims=keep))
        concat = staticmethod(lambda hs: jnp.concatenate(hs, -1))
        split = staticmethod(lambda h, n: jnp.split(h, n, -1))
        stack = staticmethod(lambda hs: jnp.stack(hs, 1))
        flat = staticmethod(lambda h: h.reshape(h.shape[0], -1) if h.ndim > 2 else h)
        zeros = staticmethod(lambda shape, like: jnp.zeros(shape, like.dtype))

        @staticmethod
        def norm(h, scale, offset):
            wide = h.astype(jnp.float32)
            mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
            return ((wide - mean) * lax.rsqrt(variance + EPSILON) * scale + offset).astype(h.dtype)
    low = jnp.bfloat16 if kind == "bfloat16" else jnp.float32
    inputs, wanted = data(net)

    def loss_of(values, x, y, weights):
        def take(i):
            return jnp.asarray(weights.values[i] if values is None else values[i], low)
        out = forward(net, Ops, weights, take, x.astype(low) if x.dtype == jnp.float32 else x).astype(jnp.float32)
        if wanted.dtype == np.float32:
            return jnp.mean(jnp.square(out - y.reshape(out.shape)))
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(out), y.reshape(-1, 1), 1))
    collected = Weights()
    jax.eval_shape(lambda x, y: loss_of(None, x, y, collected), inputs, wanted)

    def step_of(values, slots, x, y):
        loss, gradients = jax.value_and_grad(lambda v: loss_of(v, x, y, Weights()))(values)
        slots = [MOMENTUM * s + g for s, g in zip(slots, gradients)]
        return [v - RATE * s for v, s in zip(values, slots)], slots, loss
    jitted = jax.jit(step_of, donate_argnums=(0, 1))
    state = [[jnp.asarray(v) for v in collected.values], [jnp.zeros_like(v) for v in collected.values]]
    x, y = inputs, wanted
    begun, losses = time.perf_counter(), []
    for _ in range(COMPARED):
        *state, loss = jitted(*state, x, y)
        losses.append(float(loss))
    first = time.perf_counter() - begun

    def step():
        *state[:], _ = jitted(*state, x, y)
    return losses, timed(step, lambda: jax.block_until_ready(state), rounds, steps), first


# ---- PyTorch


def run_torch(net, kind, rounds, steps, device, compiled):
    import torch
    import torch.nn.functional as F
    cuda = torch.cuda.is_available()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
    torch.backends.cudnn.benchmark = True
    place = torch.device("cuda" if cuda else "cpu")

    def padded(h, k, stride, value=0.0):
        pads = []
        for n in (h.shape[2], h.shape[1]):
            total = max((-(-n // stride) - 1) * stride + k - n, 0)
            pads += [total // 2, total - total // 2]
        return F.pad(h.permute(0, 3, 1, 2), pads, value=value)

    class Ops:
        matmul, relu, sigmoid, tanh = staticmethod(torch.matmul), staticmethod(torch.relu), staticmethod(torch.sigmoid), staticmethod(torch.tanh)
        square, rsqrt = staticmethod(torch.square), staticmethod(torch.rsqrt)
        softmax = staticmethod(lambda h: torch.softmax(h, -1))
        reshape, transpose = staticmethod(torch.reshape), staticmethod(torch.permute)
        take = staticmethod(lambda table, at: F.embedding(at, table))
        conv = staticmethod(lambda h, k, s: F.conv2d(padded(h, k.shape[0], s), k.permute(3, 2, 0, 1), stride=s).permute(0, 2, 3, 1))
        pool = staticmethod(lambda h, k, s: F.max_pool2d(padded(h, k, s, -3e38), k, s).permute(0, 2, 3, 1))
        mean = staticmethod(lambda h, axes, keep=False: torch.mean(h, axes, keepdim=keep))
        concat = staticmethod(lambda hs: torch.cat(hs, -1))
        split = staticmethod(lambda h, n: torch.chunk(h, n, -1))
        stack = staticmethod(lambda hs: torch.stack(hs, 1))
        flat = staticmethod(lambda h: h.reshape(h.shape[0], -1) if h.dim() > 2 else h)
        zeros = staticmethod(lambda shape, like: torch.zeros(shape, dtype=like.dtype, device=like.device))
        norm = staticmethod(lambda h, scale, offset: F.batch_norm(h.permute(0, 3, 1, 2), None, None, scale.to(h.dtype), offset.to(h.dtype), True, 0.0,
                                                                  EPSILON).permute(0, 2, 3, 1))
    low = torch.bfloat16 if kind == "bfloat16" else torch.float32
    inputs, wanted = (torch.from_numpy(a).to(place) for a in data(net))
    inputs, wanted = (a.long() if a.dtype == torch.int32 else a for a in (inputs, wanted))
    parameters = []

    def take(i):
        return parameters[i].to(low)

    def loss_of():
        out = forward(net, Ops, Weights(), take, inputs.to(low) if inputs.dtype == torch.float32 else inputs).float()
        return torch.mean(torch.square(out - wanted.reshape(out.shape))) if wanted.dtype == torch.float32 else F.cross_entropy(out, wanted.reshape(-1))
    collected = Weights()

    def collecting(i):
        return torch.from_numpy(collected.values[i]).to(place).to(low)
    with torch.no_grad():
        forward(net, Ops, collected, collecting, inputs.to(low) if inputs.dtype == torch.float32 else inputs)
    parameters += [torch.nn.Parameter(torch.from_numpy(v).to(place)) for v in collected.values]
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM, foreach=True)
    loss_call = torch.compile(loss_of) if compiled else loss_of

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = loss_call()
        loss.backward()
        optimiser.step()
        return loss

    def end():
        if cuda:
            torch.cuda.synchronize()
    begun = time.perf_counter()
    losses = [float(step()) for _ in range(COMPARED)]
    first = time.perf_counter() - begun
    if cuda and not compiled and rounds:  # eager, as one graph of kernels
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            step()
        step = graph.replay
    return losses, timed(step, end, rounds, steps), first


# ---- one framework, one net, in a process of its own

RUNS = {"millrace": run_millrace, "jax": run_jax, "torch": lambda *a: run_torch(*a, False), "torch_compile": lambda *a: run_torch(*a, True)}


def cuda_plugin():
    for folder in site.getsitepackages() + [site.getusersitepackages()]:
        for path in glob.glob(os.path.join(folder, "jax_plugins", "*cuda*", "xla_cuda_plugin.so")):
            return path
    return None


def preload_cuda():
    """The plug-in's own libraries, from NVIDIA's wheels: it looks for them by their names alone."""
    import ctypes
    names = ["cudart", "nvrtc", "nvJitLink", "cublas", "cublasLt", "nccl", "cupti", "cusparse", "cusolver", "cufft", "nvshmem_host", "cudnn"]
    for name in names * 2:  # some need others that come later
        for folder in site.getsitepackages() + [site.getusersitepackages()]:
            for path in glob.glob(os.path.join(folder, "nvidia", "*", "lib", "lib%s.so*" % name)):
                try:
                    ctypes.CDLL(path)
                except OSError:
                    pass


def child(options):
    net = (SMALL if options.small else NETS)[options.net]
    if options.framework == "millrace":
        if "cuda" in os.environ["MILLRACE_PJRT"]:
            preload_cuda()
        sys.path.insert(0, str(HERE.parent / "python"))
    losses, (step, processor), first = RUNS[options.framework](net, options.kind, 0 if options.small else ROUNDS, options.steps, options.device)
    print(json.dumps({"losses": losses, "step_ms": step, "processor_ms": processor, "first_s": first}))


def measure(options, framework, net, kind, small=False):
    build = Path(os.environ.get("MILLRACE_BUILD", HERE.parent / "build")).resolve()
    environment = {**os.environ, "MILLRACE_PJRT": options.plugin or "", "LD_LIBRARY_PATH": "%s:%s" % (build / "lib", os.environ.get("LD_LIBRARY_PATH", "")),
                   "MILLRACE_COMPILE": "strict,tf32" if kind == "tf32" else "strict", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                   "TF_CPP_MIN_LOG_LEVEL": "3"}
    if framework != "millrace":
        environment.pop("MILLRACE_PJRT")
    words = [sys.executable, __file__, "--child", "--framework", framework, "--net", net, "--kind", kind, "--steps", str(options.steps),
             "--device", options.device] + (["--small"] if small else [])
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=options.limit, env=environment)
        return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"error": done.stderr.strip().splitlines()[-1:]}
    except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
        return {"error": [str(error)[:200]]}


def compare(options, results):
    for net in SMALL:
        found = {f: measure(options, f, net, "float32", True) for f in options.frameworks}
        results["losses"][net] = found
        base = found["millrace"].get("losses")
        for framework, result in found.items():
            error = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(base, result["losses"])) if base and "losses" in result else None
            print("losses  %-12s %-14s %s" % (net, framework, "differ by %.1e at most" % error if error is not None else result.get("error")), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", default=cuda_plugin())
    parser.add_argument("--device", default=None)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--types", default="tf32,bfloat16,float32")
    parser.add_argument("--frameworks", default=",".join(RUNS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--json")
    parser.add_argument("--losses", action="store_true", help="compare losses only")
    for name in ("--child", "--small"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name in ("--framework", "--net", "--kind"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    options.frameworks = options.frameworks.split(",")
    options.device = options.device or ("/device:GPU:0" if options.plugin and "cuda" in options.plugin else "/device:PJRT:0")
    results = {"losses": {}, "steps": {}}
    compare(options, results)
    for kind in [] if options.losses else options.types.split(","):
        for net in options.nets.split(","):
            for framework in options.frameworks:
                result = results["steps"]["%s %s %s" % (net, kind, framework)] = measure(options, framework, net, kind)
                if result.get("step_ms"):
                    print("step  %-14s %-9s %-14s %9.3f ms  %8.3f ms of processor  first %.1f s" % (
                        net, kind, framework, result["step_ms"], result["processor_ms"], result["first_s"]), flush=True)
                else:
                    print("step  %-14s %-9s %-14s %s" % (net, kind, framework, result.get("error")), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
