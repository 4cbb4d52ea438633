# cases_state — variables, queues, stacks, tensor arrays, lists, tables, checkpoints: what outlives an operation.
import os
import tempfile

from cases import *

FOLDER = os.environ.get("MILLRACE_PARITY_FOLDER", tempfile.gettempdir())


def ref_variable(tf, value, name="v"):
    value = np.asarray(value)
    v = tf.raw_ops.VariableV2(shape=value.shape, dtype=value.dtype, name=name)
    return v, tf.raw_ops.Assign(ref=v, value=tf.constant(value))


def resource_variable(tf, value, name="v"):
    value = np.asarray(value)
    h = tf.raw_ops.VarHandleOp(dtype=tf.as_dtype(value.dtype), shape=value.shape, shared_name=name)
    return h, tf.raw_ops.AssignVariableOp(resource=h, value=tf.constant(value))


for dtype in present(NUMBERS):
    for op in ("Assign", "AssignAdd", "AssignSub"):
        @script(op, label="%s ref" % dtype)
        def assign(tf, op=op, dtype=dtype):
            v, init = ref_variable(tf, values(dtype, (2, 3)))
            x = tf.placeholder(tf.as_dtype(dtype), [2, 3], "x")
            change = getattr(tf.raw_ops, op)(ref=v, value=x)
            feed = {x: values(dtype, (2, 3), key=1)}
            return [([v], {}, [], {"error": True}), ([init], {}, []), ([change], feed, []), ([v], {}, []), ([change], feed, []), ([v], {}, [])]

    for op in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
        @script(op, label="%s resource" % dtype)
        def assign_resource(tf, op=op, dtype=dtype):
            h, init = resource_variable(tf, values(dtype, (2, 3)))
            read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.as_dtype(dtype))
            x = tf.placeholder(tf.as_dtype(dtype), [2, 3], "x")
            change = getattr(tf.raw_ops, op)(resource=h, value=x)
            feed = {x: values(dtype, (2, 3), key=1)}
            return [([read], {}, [], {"error": True}), ([], {}, [init]), ([], feed, [change]), ([read], {}, []), ([], feed, [change]), ([read], {}, [])]


@script("IsVariableInitialized")
def initialized(tf):
    v, init = ref_variable(tf, values(f32, (2,)))
    there = tf.raw_ops.IsVariableInitialized(ref=v, dtype=tf.float32) if False else tf.raw_ops.IsVariableInitialized(ref=v)
    return [([there], {}, []), ([init], {}, []), ([there], {}, [])]


@script("VarIsInitializedOp")
def initialized_resource(tf):
    h, init = resource_variable(tf, values(f32, (2,)))
    there = tf.raw_ops.VarIsInitializedOp(resource=h)
    gone = tf.raw_ops.DestroyResourceOp(resource=h)
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    return [([there], {}, []), ([], {}, [init]), ([there], {}, []), ([], {}, [gone]), ([there], {}, []), ([read], {}, [], {"error": True})]


@script("DisableCopyOnRead")
def copy_on_read(tf):
    h, init = resource_variable(tf, values(f32, (2,)))
    disable = tf.raw_ops.DisableCopyOnRead(resource=h)
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    return [([], {}, [disable], {"error": True}), ([], {}, [init]), ([], {}, [disable]), ([read], {}, [])]


@script("Variable")
def old_variable(tf):
    v = tf.raw_ops.Variable(shape=[2], dtype=tf.float32)
    init = tf.raw_ops.Assign(ref=v, value=tf.constant([1.0, 2.0]))
    return [([init], {}, []), ([v], {}, [])]


@script("Assign", label="another shape")
def reshape_variable(tf):
    v, init = ref_variable(tf, values(f32, (2,)))
    x = tf.placeholder(tf.float32, None, "x")
    strict = tf.raw_ops.Assign(ref=v, value=x)
    free = tf.raw_ops.Assign(ref=v, value=x, validate_shape=False)
    return [([init], {}, []), ([strict], {x: values(f32, (3,))}, [], {"error": True}), ([free], {x: values(f32, (3,))}, []), ([v], {}, [])]


@script("AssignVariableOp", label="another shape")
def reshape_resource(tf):
    h = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=tf.TensorShape(None), shared_name="v")
    x = tf.placeholder(tf.float32, None, "x")
    assign = tf.raw_ops.AssignVariableOp(resource=h, value=x)
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    shape = tf.raw_ops.VariableShape(input=h)
    add = tf.raw_ops.AssignAddVariableOp(resource=h, value=x)
    twice = tf.raw_ops.Mul(x=read, y=read)
    steps = []
    for s in [(2,), (3,), (), (2, 2), (0,)]:
        steps += [([], {x: values(f32, s)}, [assign]), ([read, shape, twice], {}, [])]
    return steps + [([], {x: values(f32, (5,))}, [add], {"error": True})]


@script("AssignAddVariableOp", label="reads before and after, ordered by control edges")
def ordered(tf):
    h, init = resource_variable(tf, np.array(1.0, f32))
    before = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    with tf.control_dependencies([before]):
        add = tf.raw_ops.AssignAddVariableOp(resource=h, value=tf.constant(1.0))
    with tf.control_dependencies([add]):
        after = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    return [([], {}, [init])] + [([before, after], {}, [])] * 3


@script("AssignAdd", label="a ref read after the update sees it")
def ref_seen(tf):
    v, init = ref_variable(tf, np.array([1.0, 2.0], f32))
    add = tf.raw_ops.AssignAdd(ref=v, value=tf.constant([1.0, 1.0]))
    with tf.control_dependencies([add]):
        after = tf.raw_ops.Mul(x=v, y=tf.constant(10.0))
    return [([init], {}, []), ([after], {}, []), ([after, v], {}, [])]


for op in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    for dtype in present([f32, f64, i32, i64]):
        for index in (i32, i64) if dtype == f32 else (i32,):
            @script("Scatter" + op, label="%s %s" % (dtype, index))
            def scatter(tf, op=op, dtype=dtype, index=index):
                v, init = ref_variable(tf, values(dtype, (5, 2)))
                out = getattr(tf.raw_ops, "Scatter" + op)(ref=v, indices=tf.constant([1, 4, 0], tf.as_dtype(index)), updates=tf.constant(values(dtype, (3, 2), low=1, high=3)))
                one = getattr(tf.raw_ops, "Scatter" + op)(ref=v, indices=tf.constant([1], tf.as_dtype(index)), updates=tf.constant(values(dtype, (), low=1, high=3)))
                wrong = getattr(tf.raw_ops, "Scatter" + op)(ref=v, indices=tf.placeholder(tf.as_dtype(index), [1], "i"), updates=tf.constant(values(dtype, (1, 2))))
                return [([init], {}, []), ([out], {}, []), ([one], {}, []), ([wrong], {"i:0": np.array([7], index)}, [], {"error": True}), ([v], {}, [])]

            @script("ResourceScatter" + op, label="%s %s" % (dtype, index))
            def resource_scatter(tf, op=op, dtype=dtype, index=index):
                h, init = resource_variable(tf, values(dtype, (5, 2)))
                kind = tf.as_dtype(index)
                read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.as_dtype(dtype))
                make = getattr(tf.raw_ops, "ResourceScatter" + op)
                out = make(resource=h, indices=tf.constant([1, 4, 1], kind), updates=tf.constant(values(dtype, (3, 2), low=1, high=3)))
                wrong = make(resource=h, indices=tf.placeholder(kind, [1], "i"), updates=tf.constant(values(dtype, (1, 2))))
                return [([], {}, [init]), ([], {}, [out]), ([read], {}, []), ([], {"i:0": np.array([5], index)}, [wrong], {"error": True}), ([read], {}, [])]

for op in ("Update", "Add", "Sub"):
    for dtype in present([f32, i32]):
        @script("ScatterNd" + op, label=str(dtype))
        def scatter_nd(tf, op=op, dtype=dtype):
            v, init = ref_variable(tf, values(dtype, (3, 4)))
            out = getattr(tf.raw_ops, "ScatterNd" + op)(ref=v, indices=tf.constant([[0, 1], [2, 3]]), updates=tf.constant(values(dtype, (2,))))
            rows = getattr(tf.raw_ops, "ScatterNd" + op)(ref=v, indices=tf.constant([[1]]), updates=tf.constant(values(dtype, (1, 4))))
            return [([init], {}, []), ([out], {}, []), ([rows], {}, []), ([v], {}, [])]

        @script("ResourceScatterNd" + op, label=str(dtype))
        def resource_scatter_nd(tf, op=op, dtype=dtype):
            h, init = resource_variable(tf, values(dtype, (3, 4)))
            read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.as_dtype(dtype))
            out = getattr(tf.raw_ops, "ResourceScatterNd" + op)(ref=h, indices=tf.constant([[0, 1], [2, 3]]), updates=tf.constant(values(dtype, (2,))))
            return [([], {}, [init]), ([], {}, [out]), ([read], {}, [])]

for dtype in present([f32, i32, f64]):
    @script("ResourceGather", label=str(dtype))
    def resource_gather(tf, dtype=dtype):
        h, init = resource_variable(tf, values(dtype, (5, 2)))
        i = tf.placeholder(tf.int32, None, "i")
        out = tf.raw_ops.ResourceGather(resource=h, indices=i, dtype=tf.as_dtype(dtype))
        return [([], {}, [init]), ([out], {i: ints(0, 4, 4)}, []), ([out], {i: ints(1, 2).reshape(1, 2)}, []), ([out], {i: np.array(3, i32)}, []), ([out], {i: ints(5)}, [], {"error": True})]

    @script("ResourceGatherNd", label=str(dtype))
    def resource_gather_nd(tf, dtype=dtype):
        h, init = resource_variable(tf, values(dtype, (3, 4)))
        out = tf.raw_ops.ResourceGatherNd(resource=h, indices=tf.constant([[0, 1], [2, 2]]), dtype=tf.as_dtype(dtype))
        return [([], {}, [init]), ([out], {}, [])]


@script("ResourceStridedSliceAssign")
def slice_assign(tf):
    h, init = resource_variable(tf, values(f32, (4, 5)))
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)
    out = tf.raw_ops.ResourceStridedSliceAssign(ref=h, begin=[1, 0], end=[3, 5], strides=[1, 2], value=tf.constant(values(f32, (2, 3))))
    return [([], {}, [init]), ([], {}, [out]), ([read], {}, [])]


@script("CountUpTo")
def count_up_to(tf):
    v, init = ref_variable(tf, np.array(0, i32))
    count = tf.raw_ops.CountUpTo(ref=v, limit=2)
    return [([init], {}, []), ([count], {}, []), ([count], {}, []), ([count], {}, [], {"error": True})]


@script("TemporaryVariable")
def temporary(tf):
    v = tf.raw_ops.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    a = tf.raw_ops.Assign(ref=v, value=tf.constant([1.0, 2.0]))
    out = tf.raw_ops.DestroyTemporaryVariable(ref=a, var_name="t")
    return [([out], {}, [])] * 2


# ---- queues

@script("FIFOQueueV2")
def fifo(tf):
    q = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32, tf.int32], shapes=[[2], []], capacity=10)
    x, n = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.int32, [], "n")
    put = tf.raw_ops.QueueEnqueueV2(handle=q, components=[x, n])
    many = tf.raw_ops.QueueEnqueueManyV2(handle=q, components=[tf.constant(values(f32, (3, 2))), tf.constant([7, 8, 9])])
    get = tf.raw_ops.QueueDequeueV2(handle=q, component_types=[tf.float32, tf.int32])
    three = tf.raw_ops.QueueDequeueManyV2(handle=q, n=2, component_types=[tf.float32, tf.int32])
    up_to = tf.raw_ops.QueueDequeueUpToV2(handle=q, n=5, component_types=[tf.float32, tf.int32])
    size = tf.raw_ops.QueueSizeV2(handle=q)
    close = tf.raw_ops.QueueCloseV2(handle=q)
    closed = tf.raw_ops.QueueIsClosedV2(handle=q)
    feed = {x: values(f32, (2,)), n: np.array(5, i32)}
    return [([size], {}, []), ([], feed, [put]), ([], {}, [many]), ([size], {}, []), (list(get), {}, []), (list(three), {}, []), ([size, closed], {}, []),
            ([], {}, [close]), ([], feed, [put], {"error": True}), (list(up_to), {}, []), (list(get), {}, [], {"error": True}), ([closed], {}, [])]


@script("FIFOQueueV2", label="feeds a computation")
def fifo_compute(tf):
    q = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], capacity=4)
    x = tf.placeholder(tf.float32, None, "x")
    put = tf.raw_ops.QueueEnqueueV2(handle=q, components=[x])
    y = tf.raw_ops.Square(x=tf.raw_ops.QueueDequeueV2(handle=q, component_types=[tf.float32])[0])
    steps = []
    for shape in [(2,), (3, 2), ()]:
        steps += [([], {x: values(f32, shape)}, [put]), ([y], {}, [])]
    return steps


@script("PaddingFIFOQueueV2")
def padding_fifo(tf):
    q = tf.raw_ops.PaddingFIFOQueueV2(component_types=[tf.float32], shapes=[[None]], capacity=10)
    x = tf.placeholder(tf.float32, [None], "x")
    put = tf.raw_ops.QueueEnqueueV2(handle=q, components=[x])
    many = tf.raw_ops.QueueDequeueManyV2(handle=q, n=3, component_types=[tf.float32])
    return [([], {x: values(f32, (n,))}, [put]) for n in (2, 0, 4)] + [(list(many), {}, [])]


@script("PaddingFIFOQueueV2", label="in two extents, beside words")
def padding_fifo_words(tf):
    types = [tf.int32, tf.string]
    q = tf.raw_ops.PaddingFIFOQueueV2(component_types=types, shapes=[[None, 2, None], [None]], capacity=10)
    x, words = tf.placeholder(tf.int32, [None, 2, None], "x"), tf.placeholder(tf.string, [None], "words")
    put = tf.raw_ops.QueueEnqueueV2(handle=q, components=[x, words])
    bad = tf.raw_ops.QueueEnqueueV2(handle=q, components=[tf.zeros([2, 3, 1], tf.int32), words])
    many = tf.raw_ops.QueueDequeueManyV2(handle=q, n=2, component_types=types)
    rest = tf.raw_ops.QueueDequeueUpToV2(handle=q, n=5, component_types=types)
    none = tf.raw_ops.QueueDequeueManyV2(handle=q, n=0, component_types=types)
    one = tf.raw_ops.QueueDequeueV2(handle=q, component_types=types)
    close = tf.raw_ops.QueueCloseV2(handle=q)
    feeds = [{x: values(i32, (a, 2, b)), words: values(object, (c,))} for a, b, c in ((1, 3, 2), (2, 1, 0), (0, 2, 1), (2, 2, 2), (1, 1, 4))]
    return [([], feed, [put]) for feed in feeds] + [(list(none), {}, []), (list(many), {}, []), (list(one), {}, []), ([], feeds[0], [bad], {"error": True}),
                                                    ([], {}, [close]), (list(rest), {}, []), (list(rest), {}, [], {"error": True})]


@script("RandomShuffleQueueV2")
def shuffle_queue(tf):
    q = tf.raw_ops.RandomShuffleQueueV2(component_types=[tf.int32], shapes=[[]], capacity=10, min_after_dequeue=0, seed=1, seed2=2)
    many = tf.raw_ops.QueueEnqueueManyV2(handle=q, components=[tf.range(6)])
    get = tf.raw_ops.QueueDequeueManyV2(handle=q, n=6, component_types=[tf.int32])
    return [([], {}, [many]), (list(get), {}, []), ([], {}, [many]), (list(get), {}, [])]


@script("RandomShuffleQueueV2", label="with a minimum, closed")
def shuffle_queue_minimum(tf):
    types = [tf.int32, tf.float32]
    q = tf.raw_ops.RandomShuffleQueueV2(component_types=types, shapes=[[], [2]], capacity=20, min_after_dequeue=4, seed=3, seed2=0)
    many = tf.raw_ops.QueueEnqueueManyV2(handle=q, components=[tf.range(12), tf.constant(values(f32, (12, 2)))])
    one = tf.raw_ops.QueueDequeueV2(handle=q, component_types=types)
    three = tf.raw_ops.QueueDequeueManyV2(handle=q, n=3, component_types=types)
    up_to = tf.raw_ops.QueueDequeueUpToV2(handle=q, n=5, component_types=types)
    size = tf.raw_ops.QueueSizeV2(handle=q)
    close = tf.raw_ops.QueueCloseV2(handle=q)
    return [([], {}, [many]), (list(one), {}, []), (list(three), {}, []), (list(three), {}, []), ([size], {}, []), ([], {}, [close]), (list(one), {}, []),
            (list(up_to), {}, []), (list(up_to), {}, [], {"error": True}), (list(one), {}, [], {"error": True}), ([], {}, [many], {"error": True})]


@script("RandomShuffleQueue", label="the ref form")
def old_shuffle(tf):
    q = tf.raw_ops.RandomShuffleQueue(component_types=[tf.float32], shapes=[[]], capacity=5, seed=7)
    many = tf.raw_ops.QueueEnqueueMany(handle=q, components=[tf.constant([1.0, 2.0, 3.0])])
    get = tf.raw_ops.QueueDequeue(handle=q, component_types=[tf.float32])
    return [([], {}, [many])] + [(list(get), {}, [])] * 3


@script("PaddingFIFOQueue", label="the ref form")
def old_padding(tf):
    q = tf.raw_ops.PaddingFIFOQueue(component_types=[tf.float32], shapes=[[None]], capacity=5)
    put = [tf.raw_ops.QueueEnqueue(handle=q, components=[tf.ones([n])]) for n in (1, 3)]
    get = tf.raw_ops.QueueDequeueMany(handle=q, n=2, component_types=[tf.float32])
    return [([], {}, [put[0]]), ([], {}, [put[1]]), (list(get), {}, [])]


@script("PriorityQueueV2")
def priority(tf):
    q = tf.raw_ops.PriorityQueueV2(component_types=[tf.float32], shapes=[[]], capacity=10)
    many = tf.raw_ops.QueueEnqueueManyV2(handle=q, components=[tf.constant([3, 1, 2], tf.int64), tf.constant([0.3, 0.1, 0.2])])
    get = tf.raw_ops.QueueDequeueV2(handle=q, component_types=[tf.int64, tf.float32])
    return [([], {}, [many])] + [(list(get), {}, [])] * 3


@script("PriorityQueueV2", label="equal priorities, many at a time, closed")
def priority_ties(tf):
    types = [tf.int64, tf.int32]
    q = tf.raw_ops.PriorityQueueV2(component_types=[tf.int32], shapes=[[]], capacity=64)
    ranks = tf.constant(rng("ties").randint(-2, 3, 40), tf.int64)
    many = tf.raw_ops.QueueEnqueueManyV2(handle=q, components=[ranks, tf.range(40)])
    one = tf.raw_ops.QueueDequeueV2(handle=q, component_types=types)
    ten = tf.raw_ops.QueueDequeueManyV2(handle=q, n=10, component_types=types)
    up_to = tf.raw_ops.QueueDequeueUpToV2(handle=q, n=30, component_types=types)
    close = tf.raw_ops.QueueCloseV2(handle=q)
    return [([], {}, [many]), (list(one), {}, []), (list(ten), {}, []), ([], {}, [close]), (list(ten), {}, []), (list(up_to), {}, [], {"error": True})]


@script("PriorityQueue", label="the ref form")
def old_priority(tf):
    q = tf.raw_ops.PriorityQueue(component_types=[tf.bool], shapes=[[]], capacity=5)
    many = tf.raw_ops.QueueEnqueueMany(handle=q, components=[tf.constant([5, -7, 2], tf.int64), tf.constant([True, False, True])])
    get = tf.raw_ops.QueueDequeue(handle=q, component_types=[tf.int64, tf.bool])
    return [([], {}, [many])] + [(list(get), {}, [])] * 3


@script("FIFOQueue", label="the ref form")
def old_fifo(tf):
    q = tf.raw_ops.FIFOQueue(component_types=[tf.float32], shapes=[[]], capacity=3)
    put = tf.raw_ops.QueueEnqueue(handle=q, components=[tf.constant(4.0)])
    get = tf.raw_ops.QueueDequeue(handle=q, component_types=[tf.float32])
    return [([], {}, [put]), (list(get), {}, [])]


@script("StackV2")
def stack(tf):
    s = tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32)
    push = tf.raw_ops.StackPushV2(handle=s, elem=tf.constant([1.0, 2.0]))
    with tf.control_dependencies([push]):
        push = tf.raw_ops.StackPushV2(handle=s, elem=tf.constant([3.0]))
    with tf.control_dependencies([push]):
        a = tf.raw_ops.StackPopV2(handle=s, elem_type=tf.float32)
    with tf.control_dependencies([a]):
        b = tf.raw_ops.StackPopV2(handle=s, elem_type=tf.float32)
    return [([a, b], {}, [])] * 2


@script("TensorArrayV3")
def tensor_array(tf):
    a = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    a = a.unstack(tf.constant(values(f32, (3, 2))))
    a = a.write(1, tf.constant([9.0, 8.0])) if False else a
    b = tf.TensorArray(tf.float32, size=2).write(0, [1.0]).write(1, [2.0])
    return [([a.stack(), a.read(2), a.size(), b.concat(), a.gather([2, 0])], {}, [])] * 2


# ---- lists, which are values: a push makes a new list

@script("TensorListPushBack")
def list_push(tf):
    shape = tf.constant([2], tf.int32)
    empty = tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32)
    one = tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=tf.constant([1.0, 2.0]))
    two = tf.raw_ops.TensorListPushBack(input_handle=one, tensor=tf.constant([3.0, 4.0]))
    other = tf.raw_ops.TensorListPushBack(input_handle=one, tensor=tf.constant([5.0, 6.0]))
    stacked = [tf.raw_ops.TensorListStack(input_handle=h, element_shape=shape, element_dtype=tf.float32) for h in (two, other, one)]
    popped = tf.raw_ops.TensorListPopBack(input_handle=two, element_shape=shape, element_dtype=tf.float32)
    lengths = [tf.raw_ops.TensorListLength(input_handle=h) for h in (empty, one, two, popped[0])]
    return [(stacked + [popped[1]] + lengths, {}, [])] * 2


@script("TensorListSetItem")
def list_set(tf):
    shape = tf.constant([2], tf.int32)
    reserved = tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=3, element_dtype=tf.float32)
    i = tf.placeholder(tf.int32, [], "i")
    filled = tf.raw_ops.TensorListSetItem(input_handle=reserved, index=i, item=tf.constant([1.0, 2.0]))
    get = tf.raw_ops.TensorListGetItem(input_handle=filled, index=i, element_shape=shape, element_dtype=tf.float32)
    stack = tf.raw_ops.TensorListStack(input_handle=filled, element_shape=shape, element_dtype=tf.float32)
    resized = tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListResize(input_handle=filled, size=7))
    return [([get, stack, resized], {i: np.array(n, i32)}, []) for n in (0, 2)] + [([get], {i: np.array(3, i32)}, [], {"error": True})]


@script("TensorListFromTensor")
def list_from(tf):
    x = tf.constant(values(f32, (4, 3)))
    made = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([3], tf.int32))
    back = tf.raw_ops.TensorListStack(input_handle=made, element_shape=tf.constant([3], tf.int32), element_dtype=tf.float32)
    some = tf.raw_ops.TensorListGather(input_handle=made, indices=[3, 1], element_shape=tf.constant([3], tf.int32), element_dtype=tf.float32)
    scattered = tf.raw_ops.TensorListScatterV2(tensor=x, indices=[3, 1, 0, 2], element_shape=tf.constant([3], tf.int32), num_elements=-1)
    again = tf.raw_ops.TensorListStack(input_handle=scattered, element_shape=tf.constant([3], tf.int32), element_dtype=tf.float32)
    joined = tf.raw_ops.TensorListConcatV2(input_handle=made, element_shape=tf.constant([3], tf.int32), leading_dims=tf.constant([], tf.int64), element_dtype=tf.float32)
    return [([back, some, again, joined[0], joined[1]], {}, [])]


# ---- tables

@script("HashTableV2")
def table(tf):
    t = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    init = tf.raw_ops.InitializeTableV2(table_handle=t, keys=tf.constant([b"a", b"b"]), values=tf.constant([1, 2], tf.int64))
    find = tf.raw_ops.LookupTableFindV2(table_handle=t, keys=tf.constant([b"b", b"z"]), default_value=tf.constant(-1, tf.int64))
    size = tf.raw_ops.LookupTableSizeV2(table_handle=t)
    return [([find], {}, [], {"error": True}), ([], {}, [init]), ([find, size], {}, [])]


@script("MutableHashTableV2")
def mutable_table(tf):
    t = tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)
    k, v = tf.placeholder(tf.int64, [None], "k"), tf.placeholder(tf.float32, [None], "v")
    insert = tf.raw_ops.LookupTableInsertV2(table_handle=t, keys=k, values=v)
    find = tf.raw_ops.LookupTableFindV2(table_handle=t, keys=k, default_value=tf.constant(-1.0))
    size = tf.raw_ops.LookupTableSizeV2(table_handle=t)
    remove = tf.raw_ops.LookupTableRemoveV2(table_handle=t, keys=k)
    key = np.array([3, 9], i64)
    return [([], {k: key, v: values(f32, (2,))}, [insert]), ([find, size], {k: np.array([9, 4], i64)}, []), ([], {k: key[:1]}, [remove]), ([find, size], {k: key}, [])]


# ---- checkpoints

@script("SaveV2", label="what Millrace saves it restores")
def save_restore(tf):
    prefix = tf.placeholder(tf.string, [], "prefix")
    v, init = ref_variable(tf, values(f32, (3, 4)))
    h, init_h = resource_variable(tf, np.arange(5, dtype=np.int64), "h")
    read = tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.int64)
    words = tf.constant([b"", b"abc", b"x" * 300])
    save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=["v", "dir/h", "words"], shape_and_slices=["", "", ""], tensors=[v, read, words])
    back = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["dir/h", "v", "words"], shape_and_slices=["", "", ""], dtypes=[tf.int64, tf.float32, tf.string])
    part = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["v"], shape_and_slices=["3 4 1,2:0,4"], dtypes=[tf.float32])
    absent = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["none"], shape_and_slices=[""], dtypes=[tf.float32])
    feed = {prefix: np.array(os.path.join(FOLDER, "parity-own").encode(), object)}
    nowhere = {prefix: np.array(os.path.join(FOLDER, "parity-nowhere").encode(), object)}
    return [([init], {}, [init_h]), ([], feed, [save]), (list(back), feed, []), (list(part), feed, []), (list(absent), feed, [], {"error": True}), (list(absent), nowhere, [], {"error": True})]


@script("RestoreV2", label="what TensorFlow saved is restored")
def restore_theirs(tf):
    path = os.path.join(FOLDER, "parity-theirs")
    tensors = {"f": values(f32, (100, 7)), "d/i": np.arange(9).reshape(3, 3), "s": values(string, (5,)), "b": values(boolean, (4,)), "e": np.zeros((0, 3), f32), "z": np.array(2.5)}
    if bfloat16 is not None:
        tensors["bf"] = values(bfloat16, (3,))
    graph = tf.Graph()    # written here and now, by TensorFlow
    with graph.as_default(), tf.Session() as session:
        session.run(tf.raw_ops.SaveV2(prefix=path, tensor_names=sorted(tensors), shape_and_slices=[""] * len(tensors),
                                      tensors=[tf.constant(tensors[k], tf.string if tensors[k].dtype == object else None) for k in sorted(tensors)]))
    names = sorted(tensors)
    kinds = [tf.string if tensors[k].dtype == object else tf.as_dtype(tensors[k].dtype) for k in names]
    return [(list(tf.raw_ops.RestoreV2(prefix=path, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=kinds)), {}, [])]


SAVED = [d for d in [f32, f64, f16, i8, i16, i32, i64, u8, u16, c64, c128, boolean, string]]


@script("Save", label="every type, to the byte")
def save_old(tf):
    path = tf.constant(os.path.join(FOLDER, "parity-old-own"))
    data = [values(d, shape, key=3) for d in SAVED for shape in ((2, 3), ())] + [np.zeros((0, 2), f32), np.full((300, 40), 7, f32)]
    names = ["v/%d" % i for i in range(len(data))]
    kinds = [tf.string if x.dtype == object else tf.as_dtype(x.dtype) for x in data]
    save = tf.raw_ops.Save(filename=path, tensor_names=names, data=[tf.constant(x, kind) for x, kind in zip(data, kinds)])
    back = [tf.raw_ops.Restore(file_pattern=path, tensor_name=name, dt=kind) for name, kind in zip(names, kinds)]
    absent, other = tf.raw_ops.Restore(file_pattern=path, tensor_name="none", dt=tf.float32), tf.raw_ops.Restore(file_pattern=path, tensor_name="v/0", dt=tf.int32)
    newer = tf.raw_ops.RestoreV2(prefix=path, tensor_names=names[:2], shape_and_slices=["2 3 1,1:-", ""], dtypes=kinds[:2])
    return [([], {}, [save]), ([tf.raw_ops.ReadFile(filename=path)], {}, []), (back, {}, []), ([absent], {}, [], {"error": True}), ([other], {}, [], {"error": True}),
            (list(newer), {}, [])]


@script("SaveSlices", label="two files, to the byte")
def save_old_slices(tf):
    x, paths = values(f32, (6, 5)), [tf.constant(os.path.join(FOLDER, "parity-old-%d-of-2" % i)) for i in range(2)]
    raw, pattern = tf.raw_ops, tf.constant(os.path.join(FOLDER, "parity-old-?-of-2"))
    saves = [raw.SaveSlices(filename=paths[0], tensor_names=["x", "whole"], shapes_and_slices=["6 5 0,2:-", ""], data=[tf.constant(x[:2]), tf.constant(x)]),
             raw.SaveSlices(filename=paths[1], tensor_names=["x", "x"], shapes_and_slices=["6 5 2,4:0,3", "6 5 2,4:3,2"], data=[tf.constant(x[2:, :3]), tf.constant(x[2:, 3:])])]
    parts = [raw.RestoreSlice(file_pattern=pattern, tensor_name="x", shape_and_slice=at, dt=tf.float32)
             for at in ("", "6 5 -:-", "6 5 1,3:2,2", "6 5 5,1:-", "6 5 0,2:-")]
    wrong = [raw.RestoreSlice(file_pattern=pattern, tensor_name="x", shape_and_slice=at, dt=tf.float32) for at in ("5 5 -:-",)]
    half = raw.RestoreSlice(file_pattern=paths[1], tensor_name="x", shape_and_slice="", dt=tf.float32)
    whole = raw.Restore(file_pattern=pattern, tensor_name="whole", dt=tf.float32)
    return [([], {}, saves), ([raw.ReadFile(filename=p) for p in paths], {}, []), (parts + [whole], {}, []), ([half], {}, [], {"error": True})] + [([w], {}, [], {"error": True}) for w in wrong]


@script("RestoreSlice", label="what TensorFlow saved is restored")
def restore_old_theirs(tf):
    path = os.path.join(FOLDER, "parity-old-theirs")
    x = values(f32, (400, 300))
    graph = tf.Graph()    # written here and now, by TensorFlow
    with graph.as_default(), tf.Session() as session:
        session.run(tf.raw_ops.SaveSlices(filename=path, tensor_names=["a", "b", "b"], shapes_and_slices=["", "400 300 0,100:-", "400 300 100,300:-"],
                                          data=[tf.constant(x), tf.constant(x[:100]), tf.constant(x[100:])]))
    return [([tf.raw_ops.Restore(file_pattern=path, tensor_name="a", dt=tf.float32),
              tf.raw_ops.RestoreSlice(file_pattern=path, tensor_name="b", shape_and_slice="400 300 50,100:10,20", dt=tf.float32)], {}, [])]


@script("WriteFile")
def files(tf):
    name = tf.constant(os.path.join(FOLDER, "parity-file"))
    write = tf.raw_ops.WriteFile(filename=name, contents=tf.constant(b"some bytes"))
    read = tf.raw_ops.ReadFile(filename=name)
    missing = tf.raw_ops.ReadFile(filename=tf.constant(os.path.join(FOLDER, "parity-no-such-file")))
    return [([], {}, [write]), ([read], {}, []), ([missing], {}, [], {"error": True})]


# ---- references and session handles

@script("RefIdentity")
def ref_identity(tf):
    v, init = ref_variable(tf, values(f32, (2, 3)))
    same = tf.raw_ops.RefIdentity(input=v)
    add = tf.raw_ops.AssignAdd(ref=same, value=tf.ones([2, 3]))
    return [([init], {}, []), ([same], {}, []), ([add], {}, []), ([v], {}, []), ([tf.raw_ops.Square(x=same)], {}, [])]


@script("RefSelect")
def ref_select(tf):
    pairs = [ref_variable(tf, values(f32, (2,), key=i), "v%d" % i) for i in range(3)]
    index = tf.placeholder(tf.int32, [], "index")
    chosen = tf.raw_ops.RefSelect(index=index, inputs=[v for v, _ in pairs])
    add = tf.raw_ops.AssignAdd(ref=chosen, value=tf.ones([2]))
    every = [v for v, _ in pairs]
    return [([], {}, [init.op for _, init in pairs])] + [step for i in range(3) for step in (([add], {index: np.array(i, i32)}, []), (every, {}, []))] + [
        ([chosen], {index: np.array(i, i32)}, [], {"error": True}) for i in (3, -1)]


@script("GetSessionTensor", label="no such handle")
def session_tensor(tf):
    name = tf.placeholder(tf.string, [], "name")
    feed = {name: np.array(b"nobody", object)}
    return [([tf.raw_ops.GetSessionTensor(handle=name, dtype=tf.float32)], feed, [], {"error": True}), ([], feed, [tf.raw_ops.DeleteSessionTensor(handle=name)], {"error": True})]


@script("ParallelConcat")
def parallel_concat(tf):
    # TensorFlow has no kernel of its own for it: its session rewrites the graph.
    rows = [tf.placeholder(tf.float32, [1, 3], "row%d" % i) for i in range(3)]
    both = tf.raw_ops.ParallelConcat(values=rows, shape=[3, 3])
    words = tf.raw_ops.ParallelConcat(values=[tf.constant([b"a"]), tf.constant([b"bc"])], shape=[2])
    return [([both, words], {row: values(f32, (1, 3), key=i) for i, row in enumerate(rows)}, [])]


@script("ImmutableConst")
def immutable(tf):
    path, small = os.path.join(FOLDER, "parity-immutable"), os.path.join(FOLDER, "parity-immutable-small")
    for name, n in ((path, 6), (small, 3)):
        with open(name, "wb") as f:
            f.write(values(f32, (n,)).tobytes())
    whole = tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[2, 3], memory_region_name=path)
    return [([whole, tf.raw_ops.Square(x=whole)], {}, [])]
