# curves.py — the same training here and in TensorFlow's Python: AlexNet on small pictures and the language model, with the
# same data in the same order, other random numbers for each seed. Writes docs/curves.md and the drawings beside it.
#
#     curves.py run            trains (minutes), adds what it measured to docs/curves.json
#     curves.py draw           draws what is there
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
build = os.environ.get("MILLRACE_BUILD", os.path.join(top, "build"))
data = os.path.join(top, "docs", "curves.json")
PICTURES = "/usr/share/datasets/fashion-mnist"
SEEDS = (1, 2)
ALEXNET = dict(steps=500, report=100, batch=64, rate=1e-3)
LSTM = dict(steps=1000, report=100, batch=16, unroll=20, words=4000, units=128, rate=2e-3)


def ours(name, options, seed):
    """Lines of step, loss, and accuracy or perplexity."""
    with tempfile.NamedTemporaryFile("r", suffix=".curve") as file:
        words = [w for key, value in options.items() for w in ("--" + key, str(value))]
        subprocess.check_call([os.path.join(build, "examples", name), *words, "--seed", str(seed), "--curve", file.name, "--save", "none"],
                              stdout=subprocess.DEVNULL)
        return [[float(x) for x in line.split()] for line in file]


# ---------------------------------------- the twins

class Draw:
    """The generator of examples/c/shared/images.c."""

    def __init__(self, seed):
        self.seed = seed

    def shuffle(self, order):
        for i in range(len(order) - 1, 0, -1):
            self.seed = (self.seed * 1664525 + 1013904223) % 2**32
            j = self.seed * (i + 1) >> 32
            order[i], order[j] = order[j], order[i]


def idx(part, what, header):
    import numpy as np
    with gzip.open(os.path.join(PICTURES, "%s-%s-ubyte.gz" % (part, what))) as file:
        return np.frombuffer(file.read()[header:], np.uint8)


def pictures(part):
    labels = idx(part, "labels-idx1", 8)
    return idx(part, "images-idx3", 16).reshape(-1, 28, 28, 1), labels


def glorot(tf, shape, seed):
    fans = (shape[-2] + shape[-1]) * (1 if len(shape) < 3 else shape[0] * shape[1])
    limit = (6 / fans) ** 0.5
    return tf.Variable(tf.random_uniform(shape, -limit, limit, seed=seed), use_resource=True)


def zeros(tf, n):
    return tf.Variable(tf.zeros([n]), use_resource=True)


def alexnet_twin(tf, seed, o):
    x, labels = tf.placeholder(tf.float32, [None, 28, 28, 1]), tf.placeholder(tf.int32, [None])
    dropped = tf.placeholder_with_default(0.0, [])

    def conv(y, size, i, n):
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, glorot(tf, [size, size, i, n], seed + n), 1, "SAME"), zeros(tf, n)))

    def dense(y, i, n):
        return tf.nn.bias_add(tf.matmul(y, glorot(tf, [i, n], seed + i + n)), zeros(tf, n))
    y = tf.nn.max_pool2d(conv(x, 5, 1, 32), 3, 2, "VALID")
    y = tf.nn.max_pool2d(conv(y, 5, 32, 96), 3, 2, "VALID")
    y = conv(conv(conv(y, 3, 96, 192), 3, 192, 128), 3, 128, 128)
    y = tf.reshape(tf.nn.max_pool2d(y, 3, 2, "VALID"), [-1, 512])
    for _ in range(2):
        y = tf.nn.relu(dense(tf.nn.dropout(y, rate=dropped, seed=seed), 512, 512))
    logits = dense(y, 512, 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(labels, tf.int64)), tf.float32))
    train = tf.train.AdamOptimizer(o["rate"]).minimize(loss)
    return x, labels, dropped, loss, right, train


def theirs_alexnet(tf, seed, o):
    x, labels, dropped, loss, right, train = alexnet_twin(tf, seed, o)
    (images, answers), (unseen, truth) = pictures("train"), pictures("t10k")
    draw, order, at, lines, total = Draw(seed), list(range(len(images))), len(images), [], 0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(1, o["steps"] + 1):
            if at + o["batch"] > len(images):
                draw.shuffle(order)
                at = 0
            now = order[at:at + o["batch"]]
            at += o["batch"]
            total += session.run([loss, train], {x: images[now] / 255.0, labels: answers[now], dropped: 0.5})[0]
            if step % o["report"] == 0:
                parts = [session.run(right, {x: unseen[i:i + 200] / 255.0, labels: truth[i:i + 200]}) for i in range(0, 10000, 200)]
                lines.append([step, float(total) / o["report"], float(sum(parts)) / len(parts)])
                total = 0
    return lines


def words(most):
    """The numbers of the words of the text, as examples/c/shared/words.c gives them."""
    text = subprocess.run(["bible", "-l9999", "gen1:1-rev22:21"], stdin=subprocess.DEVNULL, capture_output=True).stdout.decode("latin-1")
    text = re.sub(r"(?m)^[^ \n:]*:[0-9][^ \n]*", "", text)
    found = [w.lower() for w in re.findall(r"[A-Za-z](?:[A-Za-z]|'(?=[A-Za-z]))*|[.,;:!?]", text)]
    times = {}
    for word in found:
        times[word] = times.get(word, 0) + 1
    numbers = {word: min(i, most - 1) for i, word in enumerate(sorted(times, key=lambda w: (-times[w], w.encode())))}
    return [numbers[word] for word in found]


def lstm_twin(tf, seed, o):
    steps, batch, units, n = o["unroll"], o["batch"], o["units"], o["words"]
    ids, labels = tf.placeholder(tf.int32, [steps, batch]), tf.placeholder(tf.int32, [steps * batch])
    h0, c0, rate = (tf.placeholder(tf.float32, s) for s in ([batch, units], [batch, units], []))
    table = tf.Variable(tf.random_uniform([n, units], -0.05, 0.05, seed=seed), use_resource=True)
    kernel, recurrent = glorot(tf, [units, 4 * units], seed), glorot(tf, [units, 4 * units], seed + 1)
    bias = tf.Variable(tf.concat([tf.zeros([2 * units]), tf.ones([units]), tf.zeros([units])], 0), use_resource=True)
    x, h, c, outputs = tf.nn.embedding_lookup(table, ids), h0, c0, []
    for t in range(steps):
        i, j, f, out = tf.split(tf.nn.bias_add(tf.matmul(x[t], kernel) + tf.matmul(h, recurrent), bias), 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
        h = tf.sigmoid(out) * tf.tanh(c)
        outputs.append(h)
    logits = tf.nn.bias_add(tf.matmul(tf.concat(outputs, 0), glorot(tf, [units, n], seed + 2)), zeros(tf, n))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5)
    return ids, labels, h0, c0, rate, h, c, loss, tf.train.AdamOptimizer(rate).apply_gradients(zip(gradients, variables))


def theirs_lstm(tf, seed, o):
    import numpy as np
    ids, labels, h0, c0, rate, h, c, loss, train = lstm_twin(tf, seed, o)
    text, lines, total = np.array(words(o["words"])), [], 0
    aside = np.arange(len(text)) // 500 % 10 == 9
    text, learned = np.concatenate([text[~aside], text[aside]]), int((~aside).sum())
    steps, batch = o["unroll"], o["batch"]
    empty = np.zeros([batch, o["units"]], np.float32)

    def take(start, n, at):
        stream = n // batch
        places = start + np.arange(batch)[None, :] * stream + (at + np.arange(steps)[:, None]) % (stream - 1)
        return {ids: text[places], labels: text[places + 1].reshape(-1)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        hs, cs = empty, empty
        for step in range(1, o["steps"] + 1):
            now = {h0: hs, c0: cs, rate: o["rate"] * (1 - 0.9 * step / o["steps"]), **take(0, learned, step * steps)}
            hs, cs, value, _ = session.run([h, c, loss, train], now)
            total += value
            if step % o["report"] == 0:
                ht, ct, n, tested = hs, cs, len(text) - learned, 0
                rounds = min((n // batch - 1) // steps, 40)
                for i in range(rounds):
                    ht, ct, value = session.run([h, c, loss], {h0: ht, c0: ct, **take(learned, n, i * steps)})
                    tested += value
                lines.append([step, float(total) / o["report"], float(np.exp(tested / rounds))])
                total = 0
    return lines


def theirs(name, options, seed):
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    tf.reset_default_graph()
    tf.set_random_seed(seed)
    return {"alexnet": theirs_alexnet, "lstm": theirs_lstm}[name](tf, seed, options)


# ---------------------------------------- drawing

WHAT = {"alexnet": ("AlexNet on Fashion-MNIST: part of 10,000 unseen pictures that is right", 2, False),
        "lstm": ("Language model: perplexity of unseen pages of the Bible", 2, True)}
COLOURS = {"Millrace": "#c2410c", "TensorFlow": "#1d4ed8"}


def mean(curves, column):
    return [sum(curve[i][column] for curve in curves) / len(curves) for i in range(len(curves[0]))]


def svg(name, found, path):
    title, column, logarithmic = WHAT[name]
    import math
    scale = math.log if logarithmic else float
    values = [scale(line[column]) for curves in found.values() for curve in curves for line in curve]
    low, high, last = min(values), max(values), next(iter(found.values()))[0][-1][0]

    def place(line):
        return "%.1f,%.1f" % (60 + 520 * line[0] / last, 260 - 220 * (scale(line[column]) - low) / (high - low))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 300" font-family="sans-serif" font-size="12">',
             '<rect width="600" height="300" fill="white"/><text x="60" y="20">%s</text>' % title,
             '<path d="M60,40V260H580" fill="none" stroke="#888"/>']
    for value in (low, high):
        shown = math.exp(value) if logarithmic else value
        y = 260 - 220 * (value - low) / (high - low)
        parts.append('<text x="54" y="%.0f" text-anchor="end">%s</text>' % (y + 4, "%.3g" % shown))
    parts += ['<text x="%d" y="278" text-anchor="middle">%d</text>' % (60 + 520 * s / 4, last * s / 4) for s in range(5)]
    for i, (who, curves) in enumerate(found.items()):
        for curve in curves:
            parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.4" opacity="0.75"/>' % (
                " ".join(place(line) for line in curve), COLOURS[who]))
        parts.append('<text x="%d" y="296" fill="%s">%s</text>' % (60 + 120 * i, COLOURS[who], who))
    open(path, "w").write("\n".join(parts) + "\n</svg>\n")


def draw(results):
    lines = ["# Curves", "", "The same training by Millrace and by TensorFlow's own Python: the same data in the same order, the mean of the seeds in", "the tables. `bench/demo/curves.py` trains and draws; the networks are `examples/c/alexnet.c` and `lstm.c`.", ""]
    for name, found in results.items():
        title, column, _ = WHAT[name]
        svg(name, found, os.path.join(top, "docs", name + ".svg"))
        digits = "%.4f" if name == "alexnet" else "%.1f"
        lines += ["## " + title, "", "![%s](%s.svg)" % (name, name), "", "| step | " + " | ".join(
            "%s loss | %s" % (who, who) for who in found) + " |", "|---" * (1 + 2 * len(found)) + "|"]
        steps = [line[0] for line in next(iter(found.values()))[0]]
        columns = [mean(curves, c) for curves in found.values() for c in (1, column)]
        for i, step in enumerate(steps):
            lines.append("| %d | " % step + " | ".join(("%.4f" if j % 2 == 0 else digits) % c[i] for j, c in enumerate(columns)) + " |")
        ends = {who: [curve[-1][column] for curve in curves] for who, curves in found.items()}
        lines += ["", "At the end, by seed: " + "; ".join("%s %s" % (who, ", ".join(digits % e for e in end)) for who, end in ends.items()) + ".", ""]
    open(os.path.join(top, "docs", "curves.md"), "w").write("\n".join(lines))


def main():
    results = json.load(open(data)) if os.path.exists(data) else {}
    if sys.argv[1:2] == ["run"]:
        for name, options in (("lstm", LSTM), ("alexnet", ALEXNET)):
            if name not in sys.argv[2:] and sys.argv[2:]:
                continue
            results[name] = {"Millrace": [], "TensorFlow": []}
            for seed in SEEDS:
                for who, way in (("Millrace", ours), ("TensorFlow", theirs)):
                    begin = time.time()
                    results[name][who].append(way(name, options, seed))
                    print(name, who, seed, results[name][who][-1][-1], "%.0f s" % (time.time() - begin), flush=True)
                os.makedirs(os.path.dirname(data), exist_ok=True)
                json.dump(results, open(data, "w"))
    draw(results)


main()
