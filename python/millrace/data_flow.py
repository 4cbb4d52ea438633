"""data_flow — queues and accumulators."""
from . import dtypes, tensor_shape
from .control_flow import group
from .convert import convert_to_tensor
from .graph import name_scope
from .ops_apply import apply


def _types(dtypes_):
    return [dtypes.as_dtype(d) for d in (dtypes_ if isinstance(dtypes_, (list, tuple)) else [dtypes_])]


def _shapes(shapes, types, given):
    if shapes is None:
        return None
    if not isinstance(shapes, (list, tuple)) or (given == 1 and not any(
            isinstance(s, (list, tuple, tensor_shape.TensorShape)) for s in shapes)):
        shapes = [shapes]
    shapes = [tensor_shape.as_shape(s) for s in shapes]
    if len(shapes) != len(types):
        raise ValueError("Queue shapes must have the same length as dtypes, received len(shapes)=%d, len(dtypes)=%d" % (
            len(shapes), len(types)))
    return shapes


class QueueBase:
    """A queue of tensors, or of tuples of tensors."""

    def __init__(self, dtypes, shapes, names, queue_ref):
        self._dtypes, self._shapes, self._names, self._queue_ref = dtypes, shapes, names, queue_ref

    queue_ref = property(lambda self: self._queue_ref)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)
    name = property(lambda self: self._queue_ref.op.name)
    graph = property(lambda self: self._queue_ref.graph)

    @staticmethod
    def from_list(index, queues):
        refs = [q.queue_ref for q in queues]
        chosen = apply("RefSelect", None, {"index": index, "inputs": refs}) if refs[0].dtype._is_ref_dtype else refs[index]
        return QueueBase(queues[0].dtypes, queues[0].shapes, queues[0].names, chosen)

    def _values(self, vals):
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError("Keys in dictionary to enqueue do not match names of Queue.  Dictionary: %s, Queue: %s" % (
                    sorted(vals), sorted(self._names)))
            vals = [vals[k] for k in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        return [convert_to_tensor(v, d) for v, d in zip(vals, self._dtypes)]

    def _scope(self, name, default):
        return name_scope(name, "%s_%s" % (self.name.split("/")[-1], default))

    def enqueue(self, vals, name=None):
        """An operation that adds one element."""
        with self._scope(name, "enqueue") as scope:
            values = self._values(vals)
            for v, s in zip(values, self._shapes or ()):
                v.shape.assert_is_compatible_with(s)
            return apply("QueueEnqueueV2", scope, {"handle": self._queue_ref, "components": values})

    def enqueue_many(self, vals, name=None):
        with self._scope(name, "EnqueueMany") as scope:
            values = self._values(vals)
            return apply("QueueEnqueueManyV2", scope, {"handle": self._queue_ref, "components": values})

    def _result(self, tensors, lead):
        for t, s in zip(tensors, self._shapes or ()):
            t.set_shape(s if lead is None else tensor_shape.TensorShape(lead).concatenate(s))
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def dequeue(self, name=None):
        """One element."""
        with self._scope(name, "Dequeue") as scope:
            return self._result(apply("QueueDequeueV2", scope, {"handle": self._queue_ref,
                                                                "component_types": self._dtypes}), None)

    def _many(self, op, n, name, static):
        from .constant import constant_value
        with self._scope(name, op[5:-2]) as scope:
            count = convert_to_tensor(n)
            known = constant_value(count) if static else None
            return self._result(apply(op, scope, {"handle": self._queue_ref, "n": count, "component_types": self._dtypes}),
                                [None if known is None else int(known)])

    def dequeue_many(self, n, name=None):
        return self._many("QueueDequeueManyV2", n, name, True)

    def dequeue_up_to(self, n, name=None):
        return self._many("QueueDequeueUpToV2", n, name, False)

    def close(self, cancel_pending_enqueues=False, name=None):
        with self._scope(name, "Close") as scope:
            return apply("QueueCloseV2", scope, {"handle": self._queue_ref,
                                                 "cancel_pending_enqueues": cancel_pending_enqueues})

    def is_closed(self, name=None):
        return apply("QueueIsClosedV2", name, {"handle": self._queue_ref})

    def size(self, name=None):
        with self._scope(name, "Size") as scope:
            return apply("QueueSizeV2", scope, {"handle": self._queue_ref})


def _names(names, types):
    if names is None:
        return None
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(types):
        raise ValueError("Queue names must have the same length as dtypes")
    return names


class _Queue(QueueBase):
    op = None

    def _make(self, capacity, dtypes_, shapes, names, shared_name, name, **more):
        types = _types(dtypes_)
        shapes = _shapes(shapes, types, len(types))
        values = dict(component_types=types, capacity=capacity, shared_name=shared_name or "", **more)
        values["shapes"] = shapes or []
        super().__init__(types, shapes, _names(names, types), apply(self.op, name, values))


class FIFOQueue(_Queue):
    """First in, first out."""
    op = "FIFOQueueV2"

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        self._make(capacity, dtypes, shapes, names, shared_name, name)


class PaddingFIFOQueue(_Queue):
    """The same, whose batches are padded to the longest element."""
    op = "PaddingFIFOQueueV2"

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        self._make(capacity, dtypes, shapes, names, shared_name, name)


class RandomShuffleQueue(_Queue):
    """Gives elements in random order, as long as it holds `min_after_dequeue`."""
    op = "RandomShuffleQueueV2"

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
                 name="random_shuffle_queue"):
        from .graph import get_seed
        first, second = get_seed(seed)
        self._make(capacity, dtypes, shapes, names, shared_name, name, min_after_dequeue=min_after_dequeue, seed=first,
                   seed2=second)


class PriorityQueue(_Queue):
    """Gives the element of the lowest first component, an int64."""
    op = "PriorityQueueV2"

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = _types(types)
        shapes = _shapes(shapes, types, len(types))
        ref = apply(self.op, name, {"component_types": types, "capacity": capacity, "shared_name": shared_name or "",
                                    "shapes": shapes or []})
        full = [dtypes.int64] + types
        QueueBase.__init__(self, full, [tensor_shape.TensorShape([])] + shapes if shapes else None, _names(names, full), ref)


class ConditionalAccumulatorBase:
    """Gradients gathered from several steps."""
    prefix = ""

    def __init__(self, dtype, shape, ref):
        self._dtype, self._shape, self._ref = dtypes.as_dtype(dtype), shape, ref

    accumulator_ref = property(lambda self: self._ref)
    name = property(lambda self: self._ref.op.name)
    dtype = property(lambda self: self._dtype)

    def num_accumulated(self, name=None):
        return apply("AccumulatorNumAccumulated", name, {"handle": self._ref})

    def set_global_step(self, new_global_step, name=None):
        return apply("AccumulatorSetGlobalStep", name, {"handle": self._ref,
                                                        "new_global_step": convert_to_tensor(new_global_step, dtypes.int64)})


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Of dense gradients."""

    def __init__(self, dtype, shape=None, shared_name=None, name="conditional_accumulator", reduction_type="MEAN"):
        shape = tensor_shape.TensorShape(shape)
        super().__init__(dtype, shape, apply("ConditionalAccumulator", name, {
            "dtype": dtype, "shape": shape, "shared_name": shared_name or "", "reduction_type": reduction_type}))

    def apply_grad(self, grad, local_step=0, name=None):
        grad = convert_to_tensor(grad, self._dtype)
        return apply("AccumulatorApplyGradient", name, {"handle": self._ref, "gradient": grad,
                                                        "local_step": convert_to_tensor(local_step, dtypes.int64)})

    def take_grad(self, num_required, name=None):
        out = apply("AccumulatorTakeGradient", name, {"handle": self._ref, "num_required": num_required,
                                                      "dtype": self._dtype})
        out.set_shape(self._shape)
        return out


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Of rows."""

    def __init__(self, dtype, shape=None, shared_name=None, name="sparse_conditional_accumulator",
                 reduction_type="MEAN"):
        shape = tensor_shape.TensorShape(shape)
        super().__init__(dtype, shape, apply("SparseConditionalAccumulator", name, {
            "dtype": dtype, "shape": shape, "shared_name": shared_name or "", "reduction_type": reduction_type}))

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        int64 = lambda v: apply("Cast", None, {"x": convert_to_tensor(v), "DstT": dtypes.int64})
        known = grad_shape is not None
        return apply("SparseAccumulatorApplyGradient", name, {
            "handle": self._ref, "local_step": int64(local_step), "gradient_indices": int64(grad_indices),
            "gradient_values": grad_values, "gradient_shape": int64(grad_shape) if known else convert_to_tensor(
                [], dtypes.int64), "has_known_shape": known})

    def take_grad(self, num_required, name=None):
        return apply("SparseAccumulatorTakeGradient", name, {"handle": self._ref, "num_required": num_required,
                                                             "dtype": self._dtype})

    def take_indexed_slices_grad(self, num_required, name=None):
        from .indexed import IndexedSlices
        r = self.take_grad(num_required, name)
        return IndexedSlices(r.values, r.indices, r.shape)


def dynamic_stitch(indices, data, name=None):
    return apply("DynamicStitch", name, {"indices": indices, "data": data})


def dynamic_partition(data, partitions, num_partitions, name=None):
    return apply("DynamicPartition", name, {"data": data, "partitions": partitions, "num_partitions": num_partitions})


def close_all(queues):
    return group(*[q.close() for q in queues])
