# cases_train — the update rules as operations and whole training steps.
from cases import *

SCALARS = {"lr": 0.1, "alpha": 0.1, "momentum": 0.9, "rho": 0.9, "beta1": 0.9, "beta2": 0.999, "beta": 0.9, "epsilon": 1e-3, "beta1_power": 0.9,
           "beta2_power": 0.999, "l1": 0.01, "l2": 0.02, "lr_power": -0.5, "l2_shrinkage": 0.03, "logbase": 0.5, "sign_decay": 0.9}
DENSE = ["GradientDescent", "Momentum", "Adagrad", "AdagradV2", "Adadelta", "RMSProp", "CenteredRMSProp", "Adam", "AdaMax",
         "Ftrl", "FtrlV2", "ProximalGradientDescent", "ProximalAdagrad", "AddSign", "PowerSign"]
SPARSE = ["Momentum", "Adagrad", "AdagradV2", "Adadelta", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2", "ProximalGradientDescent", "ProximalAdagrad"]


def update(op, dtype, attrs, shape, sparse):
    """Variables for every slot that the operation's definition asks for; three updates, the slots read after each."""
    def build(tf):
        from tensorflow.python.framework import op_def_registry
        definition = op_def_registry.get(op)
        if definition is None:
            raise LookupError(op)
        inputs, inits, reads = {}, [], []
        for n, arg in enumerate(definition.input_arg):
            kind = tf.as_dtype(dtype)
            if arg.is_ref or arg.type == 20:
                start = tf.constant(values(dtype, shape, low=0.1, high=1, key=n))
                if arg.is_ref:
                    inputs[arg.name] = tf.raw_ops.VariableV2(shape=shape, dtype=kind)
                    inits.append(tf.raw_ops.Assign(ref=inputs[arg.name], value=start).op)
                    reads.append(inputs[arg.name])
                else:
                    inputs[arg.name] = tf.raw_ops.VarHandleOp(dtype=kind, shape=shape, shared_name=arg.name)
                    inits.append(tf.raw_ops.AssignVariableOp(resource=inputs[arg.name], value=start))
                    reads.append(tf.raw_ops.ReadVariableOp(resource=inputs[arg.name], dtype=kind))
            elif arg.name in ("grad", "delta"):
                inputs[arg.name] = tf.placeholder(kind, (3,) + shape[1:] if sparse else shape, "g")
            elif arg.name == "indices":
                inputs[arg.name] = tf.constant([1, 4, 0])
            else:
                inputs[arg.name] = tf.constant(SCALARS[arg.name], kind)
        out = getattr(tf.raw_ops, op)(**inputs, **attrs)
        done = out if isinstance(out, tf.Operation) else out.op
        grads = (3,) + shape[1:] if sparse else shape
        steps = [([], {}, inits)]
        for k in range(3):
            steps += [([], {"g:0": values(dtype, grads, key=k)}, [done]), (reads, {}, [])]
        return steps
    words = " ".join("%s=%s" % a for a in attrs.items())
    script(op, label="%s%s %s" % (dtype, list(shape), words), tol={f32: 1e-4, f64: 1e-10}.get(dtype, 2e-2))(build)


for op, shape in (("ResourceApplyKerasMomentum", (5, 3)), ("ResourceApplyAdamWithAmsgrad", (5, 3))):
    update(op, f32, {}, shape, False)
for rule in DENSE:
    for prefix in ("Apply", "ResourceApply"):
        for dtype in present([f32, f64, f16]):
            for shape in [(5, 3), (), (0,), (1000,)] if dtype == f32 else [(5, 3)]:
                for attrs in [{}, {"use_nesterov": True}] if rule in ("Momentum", "Adam") and dtype == f32 else [{}]:
                    update(prefix + rule, dtype, attrs, shape, False)
for rule in SPARSE:
    for prefix in ("SparseApply", "ResourceSparseApply"):
        for dtype in present([f32, f64]):
            update(prefix + rule, dtype, {}, (5, 3), True)


@script("ApplyGradientDescent", label="a gradient of another shape is refused")
def wrong_shape(tf):
    v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    init = tf.raw_ops.Assign(ref=v, value=tf.constant([1.0, 2.0]))
    g = tf.placeholder(tf.float32, None, "g")
    out = tf.raw_ops.ApplyGradientDescent(var=v, alpha=tf.constant(0.1), delta=g)
    return [([init], {}, []), ([out], {g: values(f32, (3,))}, [], {"error": True}), ([v], {}, [])]


def start(tf, name, shape, resource, key=0):
    return tf.Variable(values(f32, shape, low=-0.3, high=0.3, key=key), name=name, use_resource=resource)


def perceptron(tf, resource):
    x, labels = tf.placeholder(tf.float32, [None, 8], "x"), tf.placeholder(tf.int32, [None], "labels")
    h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, start(tf, "w1", (8, 16), resource)), start(tf, "b1", (16,), resource)))
    logits = tf.nn.bias_add(tf.matmul(h, start(tf, "w2", (16, 4), resource)), start(tf, "b2", (4,), resource))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, lambda n, k: {x: values(f32, (n, 8), key=k), labels: values(i32, (n,), low=0, high=3, key=k)}


OPTIMIZERS = {
    "GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1), "Momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), "Adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.01), "CenteredRMSProp": lambda tf: tf.train.RMSPropOptimizer(0.01, centered=True),
    "Adam": lambda tf: tf.train.AdamOptimizer(0.01), "Adadelta": lambda tf: tf.train.AdadeltaOptimizer(1.0), "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1)}


def training(name, resource, network, steps, label, sizes=(8, 8, 5)):
    def build(tf):
        loss, feeds = network(tf, resource)
        train = OPTIMIZERS[name](tf).minimize(loss)
        init = tf.global_variables_initializer()
        variables = [v.value() if resource else v for v in tf.trainable_variables()]
        plan = [([], {}, [init])]
        for k in range(steps):
            plan.append(([loss], feeds(sizes[k % len(sizes)], k), [train]))
        return plan + [([v.name if hasattr(v, "name") else v for v in variables], {}, [])]
    script("train", label="%s %s %s" % (label, name, "resource" if resource else "ref"), tol=2e-3)(build)


for name in OPTIMIZERS:
    for resource in (False, True):
        training(name, resource, perceptron, 5, "perceptron")


def convnet(tf, resource):
    x, labels = tf.placeholder(tf.float32, [None, 10, 10, 1], "x"), tf.placeholder(tf.int32, [None], "labels")
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, start(tf, "k1", (3, 3, 1, 4), resource), 1, "SAME"), start(tf, "c1", (4,), resource)))
    y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    y = tf.nn.relu(tf.nn.conv2d(y, start(tf, "k2", (3, 3, 4, 6), resource), 1, "VALID"))
    y = tf.reshape(tf.nn.avg_pool2d(y, 3, 3, "VALID"), [-1, 6])
    logits = tf.matmul(y, start(tf, "w", (6, 4), resource))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)) + 1e-3 * tf.nn.l2_loss(tf.trainable_variables()[0])
    return loss, lambda n, k: {x: values(f32, (n, 10, 10, 1), key=k), labels: values(i32, (n,), low=0, high=3, key=k)}


def normalised(tf, resource):
    x, t = tf.placeholder(tf.float32, [None, 4, 4, 3], "x"), tf.placeholder(tf.float32, [None, 4, 4, 3], "t")
    scale, offset = start(tf, "scale", (3,), resource), start(tf, "offset", (3,), resource, 1)
    y = tf.nn.fused_batch_norm(tf.nn.conv2d(x, start(tf, "k", (3, 3, 3, 3), resource), 1, "SAME"), scale, offset)[0]
    return tf.reduce_mean(tf.square(y - t)), lambda n, k: {x: values(f32, (n, 4, 4, 3), key=k), t: values(f32, (n, 4, 4, 3), key=k + 9)}


def embedding(tf, resource):
    ids, t = tf.placeholder(tf.int32, [None, 3], "ids"), tf.placeholder(tf.float32, [None, 5], "t")
    table = start(tf, "table", (20, 5), resource)
    y = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)
    return tf.reduce_mean(tf.square(y - t)), lambda n, k: {ids: values(i32, (n, 3), low=0, high=19, key=k), t: values(f32, (n, 5), key=k)}


def recurrent(tf, resource):
    tf.disable_control_flow_v2()
    x, t = tf.placeholder(tf.float32, [None, 6, 3], "x"), tf.placeholder(tf.float32, [None, 4], "t")
    w, u = start(tf, "w", (3, 4), resource), start(tf, "u", (4, 4), resource)
    rows = tf.TensorArray(tf.float32, 6).unstack(tf.transpose(x, [1, 0, 2]))

    def body(i, h):
        return i + 1, tf.tanh(tf.matmul(rows.read(i), w) + tf.matmul(h, u))
    _, h = tf.while_loop(lambda i, h: i < 6, body, [tf.constant(0), tf.zeros([tf.shape(x)[0], 4])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 4])])
    return tf.reduce_mean(tf.square(h - t)), lambda n, k: {x: values(f32, (n, 6, 3), key=k), t: values(f32, (n, 4), key=k)}


for network in (convnet, normalised, embedding, recurrent):
    for name in ("GradientDescent", "Adam", "Momentum") if network is not recurrent else ("GradientDescent", "Adam"):
        for resource in (False, True):
            training(name, resource, network, 4, network.__name__)
