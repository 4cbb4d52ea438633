# pictures — nets that tell pictures apart: the four of the paper's table, and those that came after.
#
# Rates are small. Sums in another order differ in the last bits, and where that moves a unit over the edge of its relu, or
# makes another element the greatest of a window, a gradient differs by a unit's share: the rate keeps the loss from showing it.
from model import avg_pool, flat, max_pool, net, softmax_loss, tf


def pictures(m, batch, image, channels=3, classes=1000):
    """A batch of pictures and their labels."""
    return (m.feed("images", [batch, image, image, channels], "normal", 1.0),
            m.feed("labels", [batch], "below", classes, dtype=tf.int32))


def guess(m, x, labels):
    """The last layer, which at first says little: then rounding shows little too."""
    return softmax_loss(m.dense(x, 1000, relu=False, start=("truncated", 0.01)), labels)


def to(width, *filters):
    return [max(int(f * width), 8) for f in filters]


def one_tower(m, batch, image, width, response, rate):
    x, labels = pictures(m, batch, image)
    a, b, c, d, e, units = to(width, 64, 192, 384, 256, 256, 4096)
    normed = (lambda v: tf.nn.lrn(v, 4, bias=1.0, alpha=0.001 / 9, beta=0.75)) if response else lambda v: v
    two = [[0, 0], [2, 2], [2, 2], [0, 0]]
    x = max_pool(normed(m.conv(x, a, 11, 4, two if image == 224 else "VALID")), 3, 2)
    x = max_pool(normed(m.conv(x, b, 5)), 3, 2)
    x = m.conv(m.conv(m.conv(x, c, 3), d, 3), e, 3)
    x = flat(max_pool(x, 3, 2))
    x = m.dropout(m.dense(x, units), rate)
    x = m.dropout(m.dense(x, units), rate)
    return guess(m, x, labels)


@net(dict(batch=4, image=99, width=1 / 4), dict(batch=32, image=224, width=1), rate=0.0003, twin=1e-3)
def alexnet(m, batch, image, width):
    """One tower, as in "One weird trick" and the convnet benchmarks."""
    return one_tower(m, batch, image, width, False, 0.5)


@net(dict(batch=4, image=99, width=1 / 4), dict(batch=32, image=227, width=1), rate=0.00003, optimizer="momentum",
     resource=True)
def alexnet_lrn(m, batch, image, width):
    return one_tower(m, batch, image, width, True, 0.5)


@net(dict(batch=4, image=103, width=1 / 8), dict(batch=16, image=231, width=1), rate=0.0005, twin=1e-3)
def overfeat(m, batch, image, width):
    """The fast model."""
    x, labels = pictures(m, batch, image)
    a, b, c, d, e, f, g = to(width, 96, 256, 512, 1024, 1024, 3072, 4096)
    x = max_pool(m.conv(x, a, 11, 4, "VALID"), 2, 2)
    x = max_pool(m.conv(x, b, 5, 1, "VALID"), 2, 2)
    x = m.conv(m.conv(m.conv(x, c, 3), d, 3), e, 3)
    x = flat(max_pool(x, 2, 2))
    return guess(m, m.dense(m.dense(x, f), g), labels)


@net(dict(batch=4, image=64, width=1 / 4), dict(batch=16, image=224, width=1), rate=0.0001, resource=True,
     twin=1e-3)
def vgg_a(m, batch, image, width):
    x, labels = pictures(m, batch, image)
    for filters in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for count in to(width, *filters):
            x = m.conv(x, count, 3)
        x = max_pool(x, 2, 2)
    units, = to(width, 4096)
    x = m.dropout(m.dense(flat(x), units))
    x = m.dropout(m.dense(x, units))
    return guess(m, x, labels)


@net(dict(batch=4, image=96, width=1 / 4), dict(batch=16, image=224, width=1), rate=0.0005, optimizer="momentum",
     twin=1e-3)
def googlenet(m, batch, image, width):
    """Version 1; the small one with local response normalisation."""
    x, labels = pictures(m, batch, image)

    def inception(v, *filters):
        one, three_in, three, five_in, five, pooled = to(width, *filters)
        return tf.concat([m.conv(v, one, 1), m.conv(m.conv(v, three_in, 1), three, 3), m.conv(m.conv(v, five_in, 1), five, 5),
                          m.conv(max_pool(v, 3, 1, "SAME"), pooled, 1)], 3)
    first, second = to(width, 64, 192)
    x = max_pool(m.conv(x, first, 7, 2), 3, 2, "SAME")
    x = m.response(x, 2, bias=1.0, alpha=0.00002, beta=0.75)
    x = m.response(m.conv(m.conv(x, first, 1), second, 3), 2, bias=1.0, alpha=0.00002, beta=0.75)
    x = max_pool(x, 3, 2, "SAME")
    x = inception(x, 64, 96, 128, 16, 32, 32)
    x = inception(x, 128, 128, 192, 32, 96, 64)
    x = max_pool(x, 3, 2, "SAME")
    x = inception(x, 192, 96, 208, 16, 48, 64)
    x = inception(x, 160, 112, 224, 24, 64, 64)
    x = inception(x, 128, 128, 256, 24, 64, 64)
    x = inception(x, 112, 144, 288, 32, 64, 64)
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = max_pool(x, 3, 2, "SAME")
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = inception(x, 384, 192, 384, 48, 128, 128)
    x = flat(avg_pool(x, int(x.shape[1]), 1))
    return guess(m, m.dropout(x, 0.4), labels)


@net(dict(batch=4, image=64, width=1 / 8), dict(batch=8, image=224, width=1), rate=0.001, optimizer="momentum", resource=True,
     twin=1e-3, calm=1e-7)
def resnet50(m, batch, image, width):
    x, labels = pictures(m, batch, image)

    def normed(v, filters, size, stride=1, relu=True, start=1.0):
        y = m.normed(m.conv(v, filters, size, stride, m.padding(size), bias=False, relu=False), epsilon=1e-5, start=start)
        return tf.nn.relu(y) if relu else y
    x = max_pool(normed(x, to(width, 64)[0], 7, 2), 3, 2, "SAME")
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, outer = to(width, 64 << stage, 256 << stage)
        for block in range(blocks):
            stride = 2 if block == 0 and stage else 1
            y = normed(normed(normed(x, inner, 1), inner, 3, stride), outer, 1, relu=False, start=0.0)
            x = tf.nn.relu(y + (x if block else normed(x, outer, 1, stride, relu=False)))
    x = tf.reduce_mean(x, [1, 2])
    return guess(m, x, labels) + m.decay(1e-4)


class Inception3:
    """The blocks of Inception version 3."""

    def __init__(self, m, width):
        self.m, self.width = m, width

    def conv(self, x, filters, size, stride=1, padding="SAME"):
        y = self.m.conv(x, to(self.width, filters)[0], size, stride, padding, bias=False, relu=False)
        return tf.nn.relu(self.m.normed(y, scale=False))

    def chain(self, x, *convs):
        for filters, size in convs:
            x = self.conv(x, filters, size)
        return x

    def pooled(self, x, filters):
        return self.conv(avg_pool(x, 3, 1, "SAME"), filters, 1)

    def wide(self, x, pooled):
        return tf.concat([self.conv(x, 64, 1), self.chain(x, (48, 1), (64, 5)), self.chain(x, (64, 1), (96, 3), (96, 3)),
                          self.pooled(x, pooled)], 3)

    def thin(self, x, n):
        return tf.concat([self.conv(x, 192, 1), self.chain(x, (n, 1), (n, (1, 7)), (192, (7, 1))),
                          self.chain(x, (n, 1), (n, (7, 1)), (n, (1, 7)), (n, (7, 1)), (192, (1, 7))), self.pooled(x, 192)], 3)

    def last(self, x):
        def fork(v):
            return [self.conv(v, 384, (1, 3)), self.conv(v, 384, (3, 1))]
        return tf.concat([self.conv(x, 320, 1)] + fork(self.conv(x, 384, 1)) + fork(self.chain(x, (448, 1), (384, 3))) +
                         [self.pooled(x, 192)], 3)


@net(dict(batch=16, image=139, width=1 / 8), dict(batch=8, image=299, width=1), rate=0.00003, clip=1.0,
     optimizer="rmsprop", twin=1e-3, calm=1e-7)
def inception3(m, batch, image, width):
    x, labels = pictures(m, batch, image)
    net3 = Inception3(m, width)
    x = net3.conv(net3.conv(net3.conv(x, 32, 3, 2, "VALID"), 32, 3, 1, "VALID"), 64, 3)
    x = net3.conv(net3.conv(max_pool(x, 3, 2), 80, 1, 1, "VALID"), 192, 3, 1, "VALID")
    x = max_pool(x, 3, 2)
    for pooled in (32, 64, 64):
        x = net3.wide(x, pooled)
    x = tf.concat([net3.conv(x, 384, 3, 2, "VALID"), net3.conv(net3.chain(x, (64, 1), (96, 3)), 96, 3, 2, "VALID"),
                   max_pool(x, 3, 2)], 3)
    for n in (128, 160, 160, 192):
        x = net3.thin(x, n)
    x = tf.concat([net3.conv(net3.conv(x, 192, 1), 320, 3, 2, "VALID"),
                   net3.conv(net3.chain(x, (192, 1), (192, (1, 7)), (192, (7, 1))), 192, 3, 2, "VALID"), max_pool(x, 3, 2)], 3)
    x = net3.last(net3.last(x))
    x = m.dropout(tf.reduce_mean(x, [1, 2]), 0.2)
    return guess(m, x, labels)


@net(dict(batch=16, width=1 / 2), dict(batch=64, width=1), rate=0.0003, optimizer="adam", twin=1e-3)
def mnist(m, batch, width):
    """Two convolutions and two dense layers, as in the tutorial."""
    x, labels = pictures(m, batch, 28, 1, 10)
    a, b, units = to(width, 32, 64, 1024)
    x = max_pool(m.conv(x, a, 5, start=("truncated", 0.1)), 2, 2, "SAME")
    x = max_pool(m.conv(x, b, 5, start=("truncated", 0.1)), 2, 2, "SAME")
    x = m.dropout(m.dense(flat(x), units, start=("truncated", 0.1)), 0.5)
    return softmax_loss(m.dense(x, 10, relu=False, start=("truncated", 0.1)), labels)


@net(dict(batch=128), dict(batch=128), rate=0.1, resource=True, twin=1e-3)
def mlp_big(m, batch):
    x, labels = pictures(m, batch, 28, 1, 10)
    return softmax_loss(m.dense(m.dense(flat(x), 256, start=("fed", 0.05)), 10, relu=False, start=("fed", 0.05)), labels)
