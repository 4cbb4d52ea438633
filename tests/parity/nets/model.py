# model — what a net is written with: variables, feeds, layers; and how a net becomes a record that needs no TensorFlow.
#
# A record is a dict: graph (GraphDef bytes), start (operations that give the variables their first values), train, loss
# (names), feeds and first {placeholder: recipe}, steps. A recipe says how values.py makes the array of a step.
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.disable_resource_variables()
NETS = {}


def net(small, full, **how):
    """Declares a net: its function takes a Model and the sizes, and gives the loss. `small` are the sizes of a quick run,
    `full` the real ones; how: optimizer, rate, resource (variables), loops (2: functional While), clip; twin: the rate of
    the net of the same name in examples/c, as which it is written at its real size; calm: a smaller rate there, where
    rounding alone moves a gradient by parts of a hundred (docs/workloads.md says of which nets that is known)."""
    def declare(build):
        NETS[build.__name__] = (build, small, full, how)
        return build
    return declare


OPTIMIZERS = {
    "sgd": tf.train.GradientDescentOptimizer,
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    "nesterov": lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "adam": tf.train.AdamOptimizer,
    "rmsprop": lambda rate: tf.train.RMSPropOptimizer(rate, momentum=0.9, epsilon=1.0),
    "adagrad": tf.train.AdagradOptimizer,
}


class Model:
    def __init__(self, resource=False):
        self.resource, self.seed = resource, 0
        self.feeds, self.first, self.updates, self.names = {}, {}, [], {}

    def next_seed(self):
        self.seed += 1
        return self.seed

    def unique(self, name):
        n = self.names[name] = self.names.get(name, 0) + 1
        return name if n == 1 else "%s_%d" % (name, n)

    # ---- what goes in

    def feed(self, name, shape, *recipe, dtype=tf.float32):
        """A placeholder that gets other values each step, made as the recipe says."""
        self.feeds[name] = (recipe, list(shape), dtype.as_numpy_dtype.__name__)
        return tf.placeholder(dtype, shape, name=name)

    def variable(self, name, shape, start=0.0, trainable=True):
        """start: a number; ("normal" | "truncated" | "uniform", scale): random numbers of the graph's own; ("fed", scale):
        a placeholder that is fed once."""
        name = self.unique(name)
        if isinstance(start, tuple):
            kind, scale = start
            if kind == "fed":
                self.first[name + "_start"] = (("normal", scale), list(shape), "float32")
                value = tf.placeholder(tf.float32, shape, name=name + "_start")
            elif kind == "uniform":
                value = tf.random_uniform(shape, -scale, scale, seed=self.next_seed())
            else:
                value = {"normal": tf.random_normal, "truncated": tf.truncated_normal}[kind](
                    shape, stddev=scale, seed=self.next_seed())
        else:
            value = tf.fill(shape, tf.constant(start, tf.float32))
        return tf.Variable(value, name=name, trainable=trainable, use_resource=self.resource)

    # ---- layers

    def conv(self, x, filters, size, stride=1, padding="SAME", bias=True, relu=True, start=None):
        height, width = (size, size) if isinstance(size, int) else size
        inputs = int(x.shape[-1])
        start = start or ("truncated", (2.0 / (height * width * inputs)) ** 0.5)
        kernel = self.variable("kernel", [height, width, inputs, filters], start)
        y = tf.nn.conv2d(x, kernel, [1, stride, stride, 1], padding)
        if bias:
            y = tf.nn.bias_add(y, self.variable("bias", [filters]))
        return tf.nn.relu(y) if relu else y

    def dense(self, x, units, relu=True, start=None):
        inputs = int(x.shape[-1])
        weights = self.variable("weights", [inputs, units], start or ("truncated", (2.0 / inputs) ** 0.5))
        y = tf.nn.bias_add(tf.matmul(x, weights), self.variable("bias", [units]))
        return tf.nn.relu(y) if relu else y

    def normed(self, x, scale=True, momentum=0.9, epsilon=1e-3, start=1.0):
        """Batch normalisation of a training step; the moving averages follow it."""
        channels = [int(x.shape[-1])]
        gamma = self.variable("gamma", channels, start, trainable=scale)
        y, mean, variance = tf.nn.fused_batch_norm(x, gamma, self.variable("beta", channels), epsilon=epsilon)
        for name, start, now in (("mean", 0.0, mean), ("variance", 1.0, variance)):
            moving = self.variable("moving_" + name, channels, start, trainable=False)
            self.updates.append(moving.assign_sub((moving - now) * (1 - momentum)))
        return y

    def dropout(self, x, rate=0.5):
        return tf.nn.dropout(x, rate=rate, seed=self.next_seed())

    def response(self, x, *sizes, **how):
        return tf.nn.lrn(x, *sizes, **how)

    def padding(self, size):
        """Of a convolution that keeps the size of a picture, stride aside."""
        return "SAME"

    def decay(self, rate):
        return rate * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if len(v.shape) == 4])


class Twin(Model):
    """Writes a net as examples/c has it: Glorot's first values, no dropout, nothing that is fed but the batch."""

    def __init__(self):
        super().__init__(True)

    def variable(self, name, shape, start=0.0, trainable=True):
        fed = isinstance(start, tuple) and start[0] == "fed"
        return super().variable(name, shape, ("truncated", start[1]) if fed else start, trainable)

    def conv(self, x, filters, size, stride=1, padding="SAME", bias=True, relu=True, start=None):
        height, width = (size, size) if isinstance(size, int) else size
        return super().conv(x, filters, size, stride, padding, bias, relu,
                            ("uniform", (6.0 / (height * width * (int(x.shape[-1]) + filters))) ** 0.5))

    def dense(self, x, units, relu=True, start=None):
        return super().dense(x, units, relu, ("uniform", (6.0 / (int(x.shape[-1]) + units)) ** 0.5))

    def normed(self, x, scale=True, momentum=0.99, epsilon=1e-3, start=1.0):
        return super().normed(x, True, 0.99, 1e-3)

    def dropout(self, x, rate=0.5):
        return x

    def response(self, x, *sizes, **how):
        return x

    def padding(self, size):
        return [[0, 0], [size // 2] * 2, [size // 2] * 2, [0, 0]] if size > 1 else "VALID"

    def decay(self, rate):
        return 0.0


def flat(x):
    return tf.reshape(x, [int(x.shape[0]), -1])


def max_pool(x, size, stride, padding="VALID"):
    return tf.nn.max_pool2d(x, size, stride, padding)


def avg_pool(x, size, stride, padding="VALID"):
    return tf.nn.avg_pool2d(x, size, stride, padding)


def softmax_loss(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def record(name, full=False):
    """The net as a record: TensorFlow's Python writes the graph, the gradients in it, and the optimizer."""
    build, small, large, how = NETS[name]
    twin = full and "twin" in how
    calm = twin and how.get("calm")
    how = dict(rate=calm or how["twin"]) if twin else how
    (tf.enable_control_flow_v2 if how.get("loops") == 2 else tf.disable_control_flow_v2)()
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(20)
        model = Twin() if twin else Model(how.get("resource", False))
        loss = tf.identity(build(model, **(large if full else small)), "loss")
        optimizer = OPTIMIZERS[how.get("optimizer", "sgd")](how["rate"])
        pairs = optimizer.compute_gradients(loss)
        if "clip" in how:
            gradients, _ = tf.clip_by_global_norm([g for g, _ in pairs], how["clip"])
            pairs = list(zip(gradients, [v for _, v in pairs]))
        with tf.control_dependencies(model.updates):
            train = optimizer.apply_gradients(pairs, name="train_step")
        tf.variables_initializer(tf.global_variables(), "init")
        start = [v.initializer.name for v in tf.global_variables()]
    parameters = sum(int(v.shape.num_elements() or 1) for v in graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES))
    return dict(name=name, calm=calm, graph=graph.as_graph_def().SerializeToString(), start=start, train=train.name, loss=loss.name,
                feeds=model.feeds, first=model.first, nodes=len(graph.get_operations()), parameters=parameters)
