# The demo network in TensorFlow — images per second and accuracy of the convnet that Millrace's demo trains.
import argparse
import os
import time

p = argparse.ArgumentParser()
p.add_argument("--threads", type=int, default=1)
p.add_argument("--epochs", type=float, default=0.2, help="0.2: a fifth of the training set")
p.add_argument("--batch", type=int, default=64)
p.add_argument("--onednn", type=int, default=1)
p.add_argument("--rates", default="1e-3", help="learning rate of each epoch; the last one goes on")
p.add_argument("--seed", type=int, default=1)
p.add_argument("--graph", help="write the GraphDef (forward, gradients, Adam, initialisation) to this file and leave")
args = p.parse_args()
os.environ["TF_ENABLE_ONEDNN_OPTS"] = str(args.onednn)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow.compat.v1 as tf

import fashion


def network(x, labels, seed):
    def weight(name, shape, fan_in, fan_out):
        limit = (6.0 / (fan_in + fan_out)) ** 0.5
        start = tf.random_uniform(shape, -limit, limit, seed=seed)
        return tf.Variable(start, name=name, use_resource=True)

    def bias(name, n):
        return tf.Variable(tf.zeros([n]), name=name, use_resource=True)

    def conv(x, name, cin, cout):
        w = weight(name + "/w", [3, 3, cin, cout], 9 * cin, 9 * cout)
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), bias(name + "/b", cout)))
        return tf.nn.max_pool2d(y, 2, 2, "VALID")

    def dense(x, name, cin, cout):
        return tf.nn.bias_add(tf.matmul(x, weight(name + "/w", [cin, cout], cin, cout)), bias(name + "/b", cout))

    y = conv(conv(x, "conv1", 1, 32), "conv2", 32, 64)
    y = tf.reshape(y, [-1, 7 * 7 * 64])
    y = tf.nn.relu(dense(y, "dense1", 7 * 7 * 64, 128))
    logits = dense(y, "dense2", 128, 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    hits = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(labels, tf.int64)), tf.int32), name="hits")
    return tf.identity(loss, "loss"), hits


def main():
    tf.disable_eager_execution()
    x = tf.placeholder(tf.float32, [None, 28, 28, 1], "x")
    labels = tf.placeholder(tf.int32, [None], "labels")
    rate = tf.placeholder_with_default(tf.constant(1e-3), [], "rate")
    loss, hits = network(x, labels, args.seed)
    train = tf.train.AdamOptimizer(rate).minimize(loss, name="train")
    init = tf.variables_initializer(tf.global_variables(), name="init")
    if args.graph:
        with open(args.graph, "wb") as f:
            f.write(tf.get_default_graph().as_graph_def().SerializeToString())
        return
    images, targets = fashion.load("train")
    test_images, test_targets = fashion.load("t10k")
    config = tf.ConfigProto(intra_op_parallelism_threads=args.threads, inter_op_parallelism_threads=args.threads)
    session = tf.Session(config=config)
    session.run(init)
    step = session.make_callable([loss, train], [x, labels, rate])
    shuffler = np.random.RandomState(args.seed)
    for i in range(3):
        session.run(loss, {x: images[:args.batch], labels: targets[:args.batch]})
    rates_given = [float(r) for r in args.rates.split(",")]
    left = args.epochs
    epoch = 0
    while left > 1e-9:
        epoch += 1
        now = np.float32(rates_given[min(epoch, len(rates_given)) - 1])
        order = shuffler.permutation(len(images))[:int(len(images) * min(left, 1))]
        spent, seen, rates, total = 0.0, 0, [], 0.0
        for at in range(0, len(order) - args.batch + 1, args.batch):
            pick = order[at:at + args.batch]
            bx, by = images[pick], targets[pick]
            begin = time.perf_counter()
            value = step(bx, by, now)[0]
            rates.append(args.batch / (time.perf_counter() - begin))
            total += float(value)
        right = 0
        for at in range(0, len(test_images), 500):
            right += session.run(hits, {x: test_images[at:at + 500], labels: test_targets[at:at + 500]})
        print("tensorflow onednn=%d threads=%d epoch %d: %.0f images/s (median step), loss %.4f, test accuracy %.2f %%" % (
            args.onednn, args.threads, epoch, float(np.median(rates)), total / len(rates), right / 100.0), flush=True)
        left -= 1


main()
