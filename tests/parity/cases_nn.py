# cases_nn — what networks are made of: convolutions, pooling, activations, losses, normalisation.
from cases import *

HALF = present([f16, bfloat16])
REAL = present([f32, f64, f16, bfloat16])


def tol(dtype, single=1e-4):
    return 4e-2 if dtype in HALF else single if dtype == f32 else None


ACTIVATIONS = {"Relu": REAL + [i32, i8], "Relu6": REAL + [i32], "Elu": REAL, "Selu": REAL, "LeakyRelu": REAL, "Softplus": REAL, "Softsign": REAL}
for op, dtypes in ACTIVATIONS.items():
    for dtype in dtypes:
        for shape in SHAPES if dtype == f32 else FEW:
            case(op, values(dtype, shape, low=-8, high=8), grad=dtype in (f32, f64))
    case(op, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 100, -100, 1e-30], f32), label="special values")
for alpha in (0.0, 0.2, 1.5):
    case("LeakyRelu", values(f32, (2, 5)), attrs={"alpha": alpha}, grad=True)
for op in ("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
    for dtype in REAL:
        for shape in FEW:
            case(op, values(dtype, shape, key=5), values(dtype, shape, low=-8, high=8), grad=op in ("ReluGrad", "SoftplusGrad", "EluGrad") and dtype == f32)
    case(op, values(f32, (2,)), values(f32, (3,)), error=True)

for op in ("Softmax", "LogSoftmax"):
    for dtype in REAL:
        for shape in [(3,), (2, 3), (2, 3, 4), (1, 1), (0, 3), (64, 10), (5, 1), (2, 1000)]:
            case(op, values(dtype, shape), grad=dtype in (f32, f64), tol=3e-2 if dtype in HALF else 1e-4 if dtype == f32 else None)
        case(op, np.array([[1000, 1000], [-1000, 0]], f32).astype(dtype), label="%s no overflow" % dtype)
    case(op, np.array(1, f32), error=True)
for dtype in REAL:
    for n, k in [(1, 2), (4, 3), (0, 3), (8, 10), (64, 10)]:
        logits = values(dtype, (n, k))
        labels = np.abs(values(dtype, (n, k), key=1))
        labels = (labels.astype(np.float64) / np.maximum(labels.astype(np.float64).sum(1, keepdims=True), 1e-6)).astype(dtype)
        case("SoftmaxCrossEntropyWithLogits", logits, labels, grad=dtype == f32, tol=tol(dtype))
        for index in (i32, i64):
            case("SparseSoftmaxCrossEntropyWithLogits", logits, values(index, (n,), low=0, high=k - 1), const=(), grad=dtype == f32, tol=tol(dtype))
case("SoftmaxCrossEntropyWithLogits", values(f32, (2, 3)), values(f32, (1, 3), key=1, low=0.1), tol=1e-4)
case("SoftmaxCrossEntropyWithLogits", values(f32, (2, 3)), values(f32, (2, 4)), error=True)
case("SparseSoftmaxCrossEntropyWithLogits", values(f32, (2, 3)), ints(0, 3), const=(), error=True)
case("SparseSoftmaxCrossEntropyWithLogits", values(f32, (2, 3)), ints(0), const=(), error=True)
for dtype in REAL:
    for shape in SHAPES:
        case("L2Loss", values(dtype, shape), grad=dtype == f32, tol=tol(dtype))

for dtype in present([f32, f64, f16, bfloat16, i32]):
    for shape in [(2, 3), (1, 1), (2, 4, 4, 3), (0, 3), (2, 3, 5), (64, 32)]:
        case("BiasAdd", values(dtype, shape), values(dtype, shape[-1:], key=1), grad=dtype == f32)
        case("BiasAddGrad", values(dtype, shape), tol=tol(dtype))
    case("BiasAdd", values(dtype, (2, 3, 4, 4)), values(dtype, (3,), key=1), attrs={"data_format": "NCHW"}, grad=dtype == f32)
    case("BiasAddGrad", values(dtype, (2, 3, 4, 4)), attrs={"data_format": "NCHW"}, tol=tol(dtype))
    case("BiasAddV1", values(dtype, (2, 3)), values(dtype, (3,), key=1), grad=dtype == f32)
case("BiasAdd", values(f32, (2, 3)), values(f32, (2,)), error=True)

CONV = [  # input, filter, strides, padding, dilations, explicit padding
    ((1, 5, 5, 1), (3, 3, 1, 1), (1, 1), "VALID", (1, 1), []), ((2, 7, 6, 3), (3, 3, 3, 4), (1, 1), "SAME", (1, 1), []),
    ((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "SAME", (1, 1), []), ((2, 7, 7, 3), (3, 2, 3, 4), (2, 1), "VALID", (1, 1), []),
    ((2, 5, 5, 3), (1, 1, 3, 4), (1, 1), "SAME", (1, 1), []), ((1, 9, 9, 2), (3, 3, 2, 3), (1, 1), "VALID", (2, 2), []),
    ((1, 6, 6, 2), (3, 3, 2, 2), (1, 1), "EXPLICIT", (1, 1), [0, 0, 1, 2, 0, 1, 0, 0]), ((0, 5, 5, 2), (3, 3, 2, 2), (1, 1), "SAME", (1, 1), []),
    ((2, 4, 4, 4), (4, 4, 4, 2), (1, 1), "VALID", (1, 1), []), ((1, 5, 5, 2), (1, 1, 2, 3), (2, 2), "VALID", (1, 1), []),
    ((2, 6, 6, 4), (3, 3, 2, 4), (1, 1), "SAME", (1, 1), []), ((4, 14, 14, 32), (3, 3, 32, 64), (1, 1), "SAME", (1, 1), []),
    ((4, 28, 28, 1), (3, 3, 1, 32), (1, 1), "SAME", (1, 1), []), ((1, 16, 16, 3), (7, 7, 3, 8), (2, 2), "SAME", (1, 1), []),
    ((1, 8, 8, 8), (5, 5, 8, 8), (3, 3), "SAME", (1, 1), [])]
for shape, kernel, strides, padding, dilations, explicit in CONV:
    attrs = {"strides": [1, *strides, 1], "padding": padding, "dilations": [1, *dilations, 1], "explicit_paddings": explicit}
    for dtype in REAL if shape[0] * shape[1] < 50 else [f32]:
        x, w = values(dtype, shape), values(dtype, kernel, key=1, low=-1, high=1)
        case("Conv2D", x, w, attrs=attrs, grad=dtype == f32 and kernel[2] == shape[3], tol=tol(dtype, 1e-3))
    if kernel[2] != shape[3] or padding == "EXPLICIT" or dilations != (1, 1):    # TensorFlow's CPU has no dilated gradients
        continue
    size = [kernel[i] + (kernel[i] - 1) * (dilations[i] - 1) for i in (0, 1)]
    out = [-(-shape[1 + i] // strides[i]) if padding == "SAME" else (shape[1 + i] - size[i]) // strides[i] + 1 for i in (0, 1)]
    dy = (shape[0], *out, kernel[3])
    for dtype in present([f32, f64]):
        case("Conv2DBackpropInput", np.array(shape, i32), values(dtype, kernel), values(dtype, dy, key=2), attrs=attrs, tol=tol(dtype, 1e-3), grad=dtype == f32 and shape[0] * shape[1] < 20)
        case("Conv2DBackpropFilter", values(dtype, shape), np.array(kernel, i32), values(dtype, dy, key=2), attrs=attrs, tol=tol(dtype, 1e-3), grad=dtype == f32 and shape[0] * shape[1] < 20)
case("Conv2D", values(f32, (1, 5, 5, 3)), values(f32, (3, 3, 2, 4)), attrs={"strides": [1, 1, 1, 1], "padding": "SAME"}, error=True)
case("Conv2D", values(f32, (5, 5, 3)), values(f32, (3, 3, 3, 4)), attrs={"strides": [1, 1, 1, 1], "padding": "SAME"}, error=True)
for shape, multiplier, stride, padding in [((1, 5, 5, 2), 1, 1, "SAME"), ((2, 7, 7, 3), 2, 2, "VALID"), ((2, 8, 8, 16), 1, 1, "SAME")]:
    for dtype in present([f32, f64]):
        attrs = {"strides": [1, stride, stride, 1], "padding": padding}
        case("DepthwiseConv2dNative", values(dtype, shape), values(dtype, (3, 3, shape[3], multiplier), key=1), attrs=attrs, grad=dtype == f32, tol=tol(dtype, 1e-3))
for dtype in present([f32, f64]):
    case("Conv3D", values(dtype, (1, 4, 5, 5, 2)), values(dtype, (2, 3, 3, 2, 3), key=1), attrs={"strides": [1, 1, 1, 1, 1], "padding": "SAME"}, grad=dtype == f32, tol=tol(dtype, 1e-3))

POOLS = [((1, 4, 4, 1), (2, 2), (2, 2), "VALID"), ((2, 5, 5, 3), (2, 2), (2, 2), "SAME"), ((2, 5, 5, 3), (3, 3), (1, 1), "SAME"), ((2, 6, 4, 2), (3, 2), (2, 1), "VALID"),
         ((1, 1, 1, 1), (1, 1), (1, 1), "VALID"), ((0, 4, 4, 2), (2, 2), (2, 2), "VALID"), ((4, 28, 28, 32), (2, 2), (2, 2), "VALID"), ((1, 7, 7, 5), (3, 3), (2, 2), "SAME")]
for shape, size, strides, padding in POOLS:
    attrs = {"ksize": [1, *size, 1], "strides": [1, *strides, 1], "padding": padding}
    out = [-(-shape[1 + i] // strides[i]) if padding == "SAME" else (shape[1 + i] - size[i]) // strides[i] + 1 for i in (0, 1)]
    for dtype in REAL:
        x = distinct(dtype, shape) if dtype not in HALF else values(dtype, shape)
        case("MaxPool", x, attrs=attrs, grad=dtype == f32)
        # TensorFlow adds bfloat16 up in bfloat16: its own last bits are wrong.
        case("AvgPool", x, attrs=attrs, grad=dtype == f32, tol=0.5 if dtype == bfloat16 else tol(dtype))
        if dtype in (f32, f64) and shape[0]:
            dy = values(dtype, (shape[0], *out, shape[3]), key=2)
            y = np.full((shape[0], *out, shape[3]), -np.inf)
            case("AvgPoolGrad", np.array(shape, i32), dy, attrs=attrs, tol=tol(dtype))
    for dtype in (i32, i8):
        case("MaxPool", values(dtype, shape), attrs=attrs) if dtype == i32 else None
    case("MaxPoolWithArgmax", distinct(f32, shape), attrs=attrs) if shape[0] else None
case("MaxPoolGrad", np.arange(16, dtype=f32).reshape(1, 4, 4, 1), np.array([5, 7, 13, 15], f32).reshape(1, 2, 2, 1), np.array([1, 2, 3, 4], f32).reshape(1, 2, 2, 1),
     attrs={"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}, grad=True)
case("MaxPool", np.zeros((1, 4, 4, 1), f32), attrs={"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}, grad=True, label="ties: the first takes the gradient")
case("LRN", values(f32, (1, 2, 2, 8)), attrs={"depth_radius": 2}, grad=True, tol=1e-4)

for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    for dtype in [f32] if op == "FusedBatchNorm" else present([f32, f16, bfloat16]):
        for shape in [(2, 3, 3, 4), (1, 2, 2, 1), (4, 7, 7, 16)]:
            n = (shape[3],)
            scale, offset = values(f32, n, low=0.5, high=2), values(f32, n, key=1)
            mean, variance = values(f32, n, key=2), values(f32, n, key=3, low=0.5, high=2)
            for training in (True, False):
                empty = np.zeros((0,), f32)
                case(op, values(dtype, shape), scale, offset, empty if training else mean, empty if training else variance,
                     attrs={"is_training": training, "epsilon": 1e-3}, grad=dtype == f32, tol=tol(dtype, 1e-3), outs=3)
    shape, n = (2, 3, 3, 4), (4,)
    case(op, values(f32, shape), values(f32, n, low=0.5, high=2), values(f32, n, key=1), values(f32, n, key=2), values(f32, n, key=3, low=0.5, high=2),
         attrs={"is_training": True, "exponential_avg_factor": 0.3}, tol=1e-3, outs=3)
    case(op, values(f32, (2, 4, 3, 3)), values(f32, n, low=0.5, high=2), values(f32, n, key=1), values(f32, n, key=2), values(f32, n, key=3, low=0.5, high=2),
         attrs={"is_training": False, "data_format": "NCHW"}, tol=1e-3, outs=3)
    grad = op.replace("FusedBatchNorm", "FusedBatchNormGrad")
    extra = [values(f32, n, key=8)] if op.endswith("V3") else []
    case(grad, values(f32, shape, key=7), values(f32, shape), values(f32, n, low=0.5, high=2), values(f32, n, key=2), values(f32, n, key=3, low=0.5, high=2), *extra,
         attrs={"is_training": False}, tol=1e-3, outs=3)
# What is the greatest stays so: gradients of gradients, by size inputs and over volumes.
POOL_X = np.random.RandomState(5).permutation(64).astype(f32)
case("MaxPoolV2", POOL_X.reshape(2, 4, 4, 2), ints(1, 2, 2, 1), ints(1, 1, 2, 1), const=(1, 2), attrs=dict(padding="SAME"), grad=True)
case("MaxPoolGradV2", POOL_X.reshape(2, 4, 4, 2), POOL_X.reshape(2, 2, 2, 2, 2, 2).max((2, 4)), values(f32, (2, 2, 2, 2)), ints(1, 2, 2, 1), ints(1, 2, 2, 1), const=(3, 4),
     attrs=dict(padding="VALID"), grad=True)
VOLUMES = POOL_X.reshape(1, 4, 4, 4, 1)
POOLED = VOLUMES.reshape(1, 2, 2, 2, 2, 2, 2, 1).max((2, 4, 6))
case("MaxPool3DGrad", VOLUMES, POOLED, values(f32, (1, 2, 2, 2, 1)), grad=True,
     attrs=dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID"))
case("MaxPool3DGradGrad", VOLUMES, POOLED, values(f32, (1, 4, 4, 4, 1)), grad=True,
     attrs=dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID"))
case("ResizeBilinear", values(f32, (1, 3, 3, 2)), ints(6, 5), const=(1,), grad=True, tol=1e-4)
case("ResizeNearestNeighbor", values(f32, (1, 3, 3, 2)), ints(6, 5), const=(1,), grad=True)


# ---- cells of recurrent nets

def cell_inputs(dtype, time, batch, inputs, cells):
    """x, cs_prev, h_prev, w, wci, wcf, wco, b"""
    front = () if time is None else (time,)
    shapes = [front + (batch, inputs), (batch, cells), (batch, cells), (inputs + cells, 4 * cells), (cells,), (cells,), (cells,), (4 * cells,)]
    return [values(dtype, shape, low=-1, high=1, key=i) for i, shape in enumerate(shapes)]


CELLS = [(3, 2, 4, 5), (1, 1, 1, 1), (4, 3, 0, 2), (2, 0, 3, 2), (7, 2, 33, 17), (0, 2, 3, 2)]
for dtype in present([f32, f16]):
    near = 1e-1 if dtype == f16 else 1e-4
    for time, batch, inputs, cells in CELLS if dtype == f32 else CELLS[:1]:
        for peephole in (False, True):
            front = (batch, cells)
            one = cell_inputs(dtype, None, batch, inputs, cells)
            for attrs in ({}, {"forget_bias": 0.0, "cell_clip": 0.3}, {"cell_clip": -1.0}):
                case("LSTMBlockCell", *one, attrs=dict(attrs, use_peephole=peephole), tol=near)
            steps = [values(dtype, front, low=0.1, high=0.9, key=i) for i in range(8)]
            case("LSTMBlockCellGrad", *one, *steps, attrs={"use_peephole": peephole}, tol=near)
            if not time:
                continue    # TensorFlow divides by it
            many = cell_inputs(dtype, time, batch, inputs, cells)
            every = [values(dtype, (time,) + front, low=0.1, high=0.9, key=i) for i in range(9)]
            length = np.array(time, i64)
            for version, attrs in (("", {"forget_bias": 0.5}), ("V2", {}), ("V2", {"cell_clip": 0.3})):
                case("BlockLSTM" + version, length, *many, attrs=dict(attrs, use_peephole=peephole), const=(0,), tol=near,
                     grad=dtype == f32 and batch > 0 and inputs > 0 and not version, ys=(1, 6))    # of V2 TensorFlow's Python takes the wrong one
            for version in ("", "V2") if batch else ():    # TensorFlow leaves the gradients of no batch as they were in memory
                for steps in {time, time // 2}:
                    case("BlockLSTMGrad" + version, np.array(steps, i64), *many, *every, attrs={"use_peephole": peephole}, const=(0,), tol=near)


@script("BlockLSTM", label="fewer steps than there are", tol=2e-5)
def fewer_steps(tf):
    x, cs, h, w, wci, wcf, wco, b = cell_inputs(f32, 5, 2, 3, 4)
    length = tf.placeholder(tf.int64, [])
    y = tf.raw_ops.BlockLSTM(seq_len_max=length, x=x, cs_prev=cs, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b, use_peephole=True)
    return [([y.cs, y.h], {length: np.array(n, i64)}, []) for n in (3, 5, 0, 1)]


for batch, inputs, cells in [(2, 3, 4), (1, 1, 1), (3, 0, 2), (0, 3, 2), (5, 33, 17)]:
    shapes = [(batch, inputs), (batch, cells), (inputs + cells, 2 * cells), (inputs + cells, cells), (2 * cells,), (cells,)]
    gru = [values(f32, shape, low=-1, high=1, key=i) for i, shape in enumerate(shapes)]
    case("GRUBlockCell", *gru, tol=2e-5)
    case("GRUBlockCellGrad", *gru, *[values(f32, (batch, cells), low=0.1, high=0.9, key=i) for i in range(4)], tol=2e-5)
one = cell_inputs(f32, None, 2, 3, 4)
for i, shape in enumerate([(3, 3), (2, 5), (1, 4), (6, 16), None, None, None, (15,)]):
    if shape:
        case("LSTMBlockCell", *[values(f32, shape) if i == j else x for j, x in enumerate(one)], error=True, label="input %d has another shape" % i)

# CTC losses.
for dtype in (f32, f64):
    for repeats in (False, True):
        for merges in (False, True):
            at = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]], i64)
            case("CTCLoss", values(dtype, (8, 3, 5)), at, ints(1, 1, 3, 2, 0, 0), ints(8, 5, 7), attrs={"preprocess_collapse_repeated": repeats, "ctc_merge_repeated": merges},
                 const=(), grad=True, tol=1e-4)
    case("CTCLoss", values(dtype, (2, 2, 4)), np.array([[0, 0], [0, 1], [0, 2], [1, 0]], i64), ints(1, 2, 0, 2), ints(2, 2), attrs={"ignore_longer_outputs_than_inputs": True},
         const=(), tol=1e-4)
    case("CTCLoss", values(dtype, (4, 2, 4)), np.array([[0, 0], [0, 1], [1, 0]], i64), ints(1, 3, 2), ints(4, 0), attrs={"ignore_longer_outputs_than_inputs": True}, const=(), tol=1e-4)
case("CTCLoss", values(f32, (2, 1, 4)), np.array([[0, 0], [0, 1], [0, 2]], i64), ints(1, 2, 0), ints(2), const=(), error=True)
case("CTCLoss", values(f32, (4, 1, 4)), np.array([[0, 0], [0, 1]], i64), ints(3, 1), ints(4), const=(), error=True)
case("CTCLoss", values(f32, (4, 2, 4)), np.array([[0, 0]], i64), ints(1), ints(4, 4), const=(), error=True)

# Dilations.
for dtype in present([f32, f64, f16, bfloat16, i32, i64, i16, i8, u8, u16]):
    for shape, window, strides, rates in [((2, 5, 6, 3), (2, 3), (1, 1), (1, 1)), ((1, 7, 7, 1), (3, 2), (2, 1), (1, 2)), ((1, 4, 4, 2), (3, 3), (3, 3), (1, 1)),
                                          ((0, 4, 4, 2), (2, 2), (1, 1), (1, 1)), ((2, 6, 5, 2), (1, 1), (2, 2), (1, 1))]:
        for padding in ("SAME", "VALID"):
            attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
            case("Dilation2D", distinct(dtype, shape) if dtype in (f32, f64) else values(dtype, shape), values(dtype, window + shape[3:]), attrs=attrs, grad=dtype in (f32, f64), const=())
