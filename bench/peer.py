# peer.py — the workloads in PyTorch and ONNX Runtime, as a child of the bench: requests on stdin, one line each, answers on stdout; see child.c.
import math
import os
import sys
import tempfile
import time

threads = int(sys.argv[1]) or os.cpu_count()
os.environ.setdefault("OMP_NUM_THREADS", str(threads))
try:
    import torch
    from torch import nn
except ImportError:
    print("error no PyTorch in this Python", flush=True)
    sys.exit(1)
torch.set_num_threads(threads)
torch.manual_seed(1)


def conv(i, o, size, stride=1, padding=0):
    return [nn.Conv2d(i, o, size, stride, padding), nn.ReLU(inplace=True)]


def dense(*widths):
    layers = [nn.Flatten()]
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ReLU(inplace=True)]
    return layers[:-1]


def mnist():
    return nn.Sequential(*conv(1, 32, 5, 1, 2), nn.MaxPool2d(2), *conv(32, 64, 5, 1, 2), nn.MaxPool2d(2), *dense(3136, 1024, 10))


def alexnet():
    return nn.Sequential(*conv(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *conv(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2),
                         *conv(192, 384, 3, 1, 1), *conv(384, 256, 3, 1, 1), *conv(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2),
                         *dense(9216, 4096, 4096, 1000))


def overfeat():
    return nn.Sequential(*conv(3, 96, 11, 4), nn.MaxPool2d(2), *conv(96, 256, 5), nn.MaxPool2d(2), *conv(256, 512, 3, 1, 1),
                         *conv(512, 1024, 3, 1, 1), *conv(1024, 1024, 3, 1, 1), nn.MaxPool2d(2),
                         *dense(36864, 3072, 4096, 1000))


def vgg():
    layers, i = [], 3
    for o in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        layers += conv(i, o, 3, 1, 1) if o else [nn.MaxPool2d(2)]
        i = o or i
    return nn.Sequential(*layers, *dense(25088, 4096, 4096, 1000))


class Inception(nn.Module):
    def __init__(self, i, ones, threes_in, threes, fives_in, fives, pooled):
        super().__init__()
        self.ways = nn.ModuleList([
            nn.Sequential(*conv(i, ones, 1)), nn.Sequential(*conv(i, threes_in, 1), *conv(threes_in, threes, 3, 1, 1)),
            nn.Sequential(*conv(i, fives_in, 1), *conv(fives_in, fives, 5, 1, 2)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), *conv(i, pooled, 1))])

    def forward(self, x):
        return torch.cat([way(x) for way in self.ways], 1)


def googlenet():
    rows = [(192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64), None, (480, 192, 96, 208, 16, 48, 64),
            (512, 160, 112, 224, 24, 64, 64), (512, 128, 128, 256, 24, 64, 64), (512, 112, 144, 288, 32, 64, 64),
            (528, 256, 160, 320, 32, 128, 128), None, (832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128)]
    blocks = [Inception(*row) if row else nn.MaxPool2d(3, 2, ceil_mode=True) for row in rows]
    return nn.Sequential(*conv(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, ceil_mode=True), *conv(64, 64, 1), *conv(64, 192, 3, 1, 1),
                         nn.MaxPool2d(3, 2, ceil_mode=True), *blocks, nn.AdaptiveAvgPool2d(1), *dense(1024, 1000))


class Bottleneck(nn.Module):
    def __init__(self, i, filters, stride, first):
        super().__init__()
        o = 4 * filters
        self.body = nn.Sequential(
            nn.Conv2d(i, filters, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, o, 1, bias=False), nn.BatchNorm2d(o))
        self.way = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if first else nn.Identity()

    def forward(self, x):
        return torch.relu_(self.body(x) + self.way(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    i = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(i, 64 << stage, 2 if stage and not block else 1, not block))
            i = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), *dense(2048, 1000))


def norm(i, o, size, stride=1, padding=0):
    return nn.Sequential(nn.Conv2d(i, o, size, stride, padding, bias=False), nn.BatchNorm2d(o, 1e-3), nn.ReLU(inplace=True))


class Ways(nn.Module):
    """Several ways from the same input, joined."""

    def __init__(self, *ways):
        super().__init__()
        self.ways = nn.ModuleList(nn.Sequential(*way) for way in ways)

    def forward(self, x):
        return torch.cat([way(x) for way in self.ways], 1)


def mean_pool():
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


def inception3():
    def a(i, pooled):
        return Ways([norm(i, 64, 1)], [norm(i, 48, 1), norm(48, 64, 5, 1, 2)],
                    [norm(i, 64, 1), norm(64, 96, 3, 1, 1), norm(96, 96, 3, 1, 1)], [mean_pool(), norm(i, pooled, 1)])

    def b(n):
        flat, upright = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
        return Ways([norm(768, 192, 1)], [norm(768, n, 1), norm(n, n, *flat), norm(n, 192, *upright)],
                    [norm(768, n, 1), norm(n, n, *upright), norm(n, n, *flat), norm(n, n, *upright), norm(n, 192, *flat)],
                    [mean_pool(), norm(768, 192, 1)])

    def wide(i):
        return Ways([norm(i, 384, (1, 3), 1, (0, 1))], [norm(i, 384, (3, 1), 1, (1, 0))])

    def c(i):
        return Ways([norm(i, 320, 1)], [norm(i, 384, 1), wide(384)], [norm(i, 448, 1), norm(448, 384, 3, 1, 1), wide(384)],
                    [mean_pool(), norm(i, 192, 1)])
    smaller_a = Ways([norm(288, 384, 3, 2)], [norm(288, 64, 1), norm(64, 96, 3, 1, 1), norm(96, 96, 3, 2)], [nn.MaxPool2d(3, 2)])
    smaller_b = Ways([norm(768, 192, 1), norm(192, 320, 3, 2)],
                     [norm(768, 192, 1), norm(192, 192, (1, 7), 1, (0, 3)), norm(192, 192, (7, 1), 1, (3, 0)), norm(192, 192, 3, 2)],
                     [nn.MaxPool2d(3, 2)])
    return nn.Sequential(norm(3, 32, 3, 2), norm(32, 32, 3), norm(32, 64, 3, 1, 1), nn.MaxPool2d(3, 2), norm(64, 80, 1),
                         norm(80, 192, 3), nn.MaxPool2d(3, 2), a(192, 32), a(256, 64), a(288, 64), smaller_a, b(128), b(160),
                         b(160), b(192), smaller_b, c(1280), c(2048), nn.AdaptiveAvgPool2d(1), *dense(2048, 1000))


def answer_step(net, size):
    """One picture through the network as ONNX Runtime runs it, from the file that PyTorch writes."""
    import onnxruntime
    net, x = nn.Sequential(net(), nn.Softmax(1)).eval(), torch.rand(1, 3, size, size)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.onnx")
        torch.onnx.export(net, (x,), path, dynamo=False, input_names=["images"], output_names=["answer"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {"images": x.numpy()}
    return lambda: float(session.run(None, feed)[0].max())


def descend(parameters, loss_of):
    """A step of gradient descent."""
    descent = torch.optim.SGD(parameters, 1e-3)

    def step():
        descent.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        descent.step()
        return loss.item()
    return step


def eager(loss_of):
    return loss_of


def image_step(net, batch, size, channels, classes, layout, prepared):
    """A step in that memory layout, its loss as `prepared` (eager, or torch.compile) makes it."""
    net = net().to(memory_format=layout)
    x = torch.rand(batch, channels, size, size).to(memory_format=layout)
    labels = torch.randint(0, classes, (batch,))
    return descend(net.parameters(), prepared(lambda: nn.functional.cross_entropy(net(x), labels)))


def image_steps(*shape, layouts=(torch.channels_last, torch.contiguous_format)):
    return [lambda layout=layout, prepared=prepared: image_step(*shape, layout, prepared)
            for prepared in (eager, torch.compile) for layout in layouts]


class LanguageModel(nn.Module):
    def __init__(self, words, units):
        super().__init__()
        self.words, self.lstm = nn.Embedding(words, units, sparse=True), nn.LSTM(units, units)

    def forward(self, ids):
        return self.lstm(self.words(ids))[0].flatten(0, 1)


def log_uniform(samples, n):
    """Classes drawn as often as in the graph, and how often each class is expected, as a logarithm."""
    drawn = (torch.rand(samples).mul_(math.log(n + 1)).exp_() - 1).long().clamp_(max=n - 1)
    return drawn, lambda ids: torch.log(torch.log1p(1 / (ids + 1.0)) * (samples / math.log(n + 1)))


class Sampled(nn.Module):
    """Rows of a table of classes: the logits of the true class and of the samples."""

    def __init__(self, classes, width, samples):
        super().__init__()
        self.classes, self.samples = classes, samples
        self.kernel, self.bias = nn.Embedding(classes, width, sparse=True), nn.Embedding(classes, 1, sparse=True)

    def forward(self, x, labels):
        drawn, expected = log_uniform(self.samples, self.classes)
        ids = torch.cat([labels, drawn])
        w, b, n = self.kernel(ids), self.bias(ids).squeeze(1) - expected(ids), len(labels)
        others = torch.addmm(b[n:], x, w[n:].t()).masked_fill(labels[:, None] == drawn, -1e9)
        return torch.cat([((x * w[:n]).sum(1) + b[:n])[:, None], others], 1)


def lm_step(samples, prepared, words=40000, units=512, steps=20, batch=16):
    net = LanguageModel(words, units)
    last = Sampled(words, units, samples) if samples else nn.Linear(units, words)
    ids, labels = torch.randint(0, words, (steps, batch)), torch.randint(0, words, (steps * batch,))
    zeros = torch.zeros_like(labels)
    loss = (lambda: nn.functional.cross_entropy(last(net(ids), labels), zeros)) if samples else (
        lambda: nn.functional.cross_entropy(last(net(ids)), labels))
    return descend([*net.parameters(), *last.parameters()], prepared(loss))


def word2vec_step(prepared, words=50000, width=128, batch=128, samples=64):
    table, last = nn.Embedding(words, width, sparse=True), Sampled(words, width, samples)
    center, context = torch.randint(0, words, (batch,)), torch.randint(0, words, (batch,))
    targets = torch.zeros(batch, samples + 1)
    targets[:, 0] = 1

    def loss():
        z = last(table(center), context)
        return nn.functional.binary_cross_entropy_with_logits(z, targets, reduction="sum") / batch
    return descend([*table.parameters(), *last.parameters()], prepared(loss))


def each_way(make, *arguments):
    return [lambda prepared=prepared: make(*arguments, prepared) for prepared in (eager, torch.compile)]


WORKLOADS = {
    "infer.resnet50.constants": lambda: [lambda: answer_step(resnet50, 224)],
    "infer.resnet50.variables": lambda: [lambda: answer_step(resnet50, 224)],
    "infer.inception3.constants": lambda: [lambda: answer_step(inception3, 299)],
    "infer.inception3.variables": lambda: [lambda: answer_step(inception3, 299)],
    "mlp_big": lambda: image_steps(lambda: nn.Sequential(*dense(784, 256, 10)), 128, 28, 1, 10,
                                   layouts=(torch.contiguous_format,)),
    "lm.full": lambda: each_way(lm_step, 0),
    "lm.sampled": lambda: each_way(lm_step, 512),
    "word2vec": lambda: each_way(word2vec_step),
    "convnets.mnist": lambda: image_steps(mnist, 64, 28, 1, 10),
    "convnets.alexnet": lambda: image_steps(alexnet, 32, 224, 3, 1000),
    "convnets.overfeat": lambda: image_steps(overfeat, 16, 231, 3, 1000),
    "convnets.vgg": lambda: image_steps(vgg, 16, 224, 3, 1000),
    "convnets.googlenet": lambda: image_steps(googlenet, 16, 224, 3, 1000),
    "convnets.resnet50": lambda: image_steps(resnet50, 8, 224, 3, 1000),
    "convnets.inception3": lambda: image_steps(inception3, 8, 299, 3, 1000),
}
ROUND = 0.05  # seconds that a round takes at least


def timed(step, n):
    begin = time.perf_counter()
    for _ in range(n):
        value = step()
    return (time.perf_counter() - begin) / n, value


def best(ways):
    """The fastest of the ways to do it: by the second and third step, or where these take seconds by one of them."""
    found, least, value = None, None, 0
    for way in ways:
        try:
            step = way()
            spent, value = timed(step, 1)
        except Exception as error:  # what can't be compiled here (no C++ compiler, sparse gradients) is no way
            if found is None:
                raise
            print("peer.py:", type(error).__name__, str(error).split("\n")[0], file=sys.stderr)
            continue
        if spent < 2 or least is None:
            spent, value = timed(step, 2 if spent < 2 else 1)
        if least is None or spent < least:
            found, least = step, spent
        del step
    return found, max(1, round(ROUND / least)), value


def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def main():
    print("library", torch.__version__, flush=True)
    step, n = None, 0
    for line in sys.stdin:
        request, _, name = line.strip().removesuffix(".theirs").partition(" ")
        if request == "open" and name in WORKLOADS:
            step, n, value = best(WORKLOADS[name]())
            print("value", value, flush=True)
        elif request == "open":
            print("error not a workload here", flush=True)
        elif request == "round":
            print("seconds", timed(step, n)[0], flush=True)
        elif request == "memory":
            print("memory", peak(), 0, 0, flush=True)
        else:
            step = None
            print("closed", flush=True)


main()
