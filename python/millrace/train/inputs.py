"""inputs — input pipelines by queues: producers of strings and numbers, batches."""
from .. import dtypes, tensor_shape
import millrace.summary as summary
from ..array_ops import gather, shape as shape_of
from ..constant import constant
from ..control_flow import cond, with_dependencies
from ..convert import convert_to_tensor
from ..data_flow import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from ..graph import GraphKeys, Tensor, name_scope
from ..indexed import SparseTensor
from ..math_ops import cast, range as range_
from ..random_ops import random_shuffle
from .queue_runner import QueueRunner, add_queue_runner


def match_filenames_once(pattern, name=None):
    """The files that match, a local variable."""
    from ..file_io import matching_files
    from ..variables import Variable
    with name_scope(name, "matching_filenames", [pattern]) as name:
        return Variable(name=name, initial_value=matching_files(pattern), trainable=False, validate_shape=False,
                        collections=[GraphKeys.LOCAL_VARIABLES])


def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor, so many times; then OutOfRangeError."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError("num_epochs must be > 0 not %d." % num_epochs)
    from ..variables import Variable
    with name_scope(name, "limit_epochs", [tensor]) as name:
        epochs = Variable(constant(0, dtypes.int64), name="epochs", trainable=False,
                          collections=[GraphKeys.LOCAL_VARIABLES])
        counter = epochs.count_up_to(num_epochs)
        return with_dependencies([counter.op], tensor, name=name)


def _fullness(queue, capacity, text="fraction_of_%d_full"):
    summary.scalar(text % capacity, cast(queue.size(), dtypes.float32) * (1.0 / capacity))


def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32,
                   shared_name=None, summary_name=None, name=None, cancel_op=None):
    """A queue of the rows of a tensor."""
    with name_scope(name, "input_producer", [input_tensor]):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(tensor_shape.as_shape(element_shape)) if \
            input_tensor.shape.ndims is not None else tensor_shape.as_shape(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            input_tensor = random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(capacity, dtypes=[input_tensor.dtype.base_dtype], shapes=[element_shape],
                          shared_name=shared_name, name=name or "input_producer")
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([input_tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            _fullness(queue, capacity, summary_name if "%" in summary_name else summary_name + "_%d")
        return queue


def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None,
                          name=None, cancel_op=None):
    """A queue of strings, names of files for the most part."""
    if not isinstance(string_tensor, Tensor) and not hasattr(string_tensor, "_as_graph_tensor") and not list(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    with name_scope(name, "input_producer", [string_tensor]) as name:
        string_tensor = convert_to_tensor(string_tensor, dtype=dtypes.string)
        from ..control_flow import Assert
        from ..array_ops import size
        check = Assert(size(string_tensor) > 0, ["string_input_producer requires a non-null input tensor"])
        string_tensor = with_dependencies([check], string_tensor)
        return input_producer(string_tensor, [], num_epochs, shuffle, seed, capacity, shared_name, "fraction_of_%d_full",
                              name, cancel_op)


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    with name_scope(name, "input_producer", [limit]) as name:
        return input_producer(range_(limit), [], num_epochs, shuffle, seed, capacity, shared_name, "fraction_of_%d_full",
                              name)


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """One row of each tensor, the same of all."""
    with name_scope(name, "input_producer", tensor_list):
        tensor_list = [convert_to_tensor(t) for t in tensor_list]
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(shape_of(tensor_list[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensor_list]


# ---------------------------------------- batches

class _Layout:
    """What is batched: a list, a dict or one tensor; sparse ones travel as three."""

    def __init__(self, tensors):
        self._keys = sorted(tensors) if isinstance(tensors, dict) else None
        self._single = not isinstance(tensors, (dict, list, tuple))

    def flat(self, tensors):
        if self._keys is not None:
            tensors = [tensors[k] for k in self._keys]
        tensors = [tensors] if self._single else list(tensors)
        if not tensors:
            raise ValueError("Expected at least one tensor in batch().")
        if any(isinstance(t, SparseTensor) for t in tensors):
            raise NotImplementedError("sparse tensors in batches of queues are not part of Millrace")
        return [convert_to_tensor(t) for t in tensors]

    def packed(self, tensors):
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        if self._keys is not None:
            return dict(zip(self._keys, tensors))
        return tensors[0] if self._single or len(tensors) == 1 and self._single else list(tensors)


def _shapes(shapes, lists, enqueue_many):
    if shapes is not None:
        return [tensor_shape.as_shape(s) for s in shapes]
    found = []
    for column in zip(*lists):
        one = column[0].shape
        for t in column[1:]:
            one = _common(one, t.shape)
        if enqueue_many:
            one = one.with_rank_at_least(1)[1:] if one.ndims is not None else one
        found.append(one)
    return found


def _common(a, b):
    if a.ndims is None or a.ndims != b.ndims:
        return tensor_shape.TensorShape(None)
    return tensor_shape.TensorShape([x.value if x.value == y.value else None for x, y in zip(a.dims, b.dims)])


def _enqueue(queue, lists, num_threads, enqueue_many, keep_input):
    put = queue.enqueue_many if enqueue_many else queue.enqueue

    def one(tensors):
        if keep_input is True:
            return put(tensors)
        keep = convert_to_tensor(keep_input, dtypes.bool)
        if keep.shape.ndims == 1:
            from ..array_ops import boolean_mask
            return put([boolean_mask(t, keep) for t in tensors])
        from ..control_flow import no_op
        return cond(keep, lambda: put(tensors), no_op)
    ops = [one(t) for t in lists] if len(lists) > 1 else [one(lists[0])] * num_threads
    add_queue_runner(QueueRunner(queue, ops))


def _batch(lists, batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad, smaller, shared_name,
           name, shuffle=None):
    """Dequeues batches of what the lists give; `shuffle` is (min_after_dequeue, seed) or None."""
    layout = _Layout(lists[0])
    flat = [layout.flat(one) for one in lists]
    with name_scope(name, "shuffle_batch" if shuffle else "batch", [t for one in flat for t in one]) as name:
        types = [t.dtype.base_dtype for t in flat[0]]
        known = _shapes(shapes, flat, enqueue_many)
        if shuffle:
            after, seed = shuffle
            queue = RandomShuffleQueue(capacity=capacity, min_after_dequeue=after, seed=seed, dtypes=types, shapes=known,
                                       shared_name=shared_name)
        elif dynamic_pad:
            queue = PaddingFIFOQueue(capacity, dtypes=types, shapes=known, shared_name=shared_name)
        else:
            queue = FIFOQueue(capacity, dtypes=types, shapes=known, shared_name=shared_name)
        _enqueue(queue, flat, num_threads, enqueue_many, keep_input)
        if not shuffle:
            _fullness(queue, capacity)
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        return layout.packed(take(batch_size, name=name))


def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
          allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches, by a queue."""
    return _batch([tensors], batch_size, True, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def maybe_batch(tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None,
                dynamic_pad=False, allow_smaller_final_batch=False, shared_name=None, name=None):
    return _batch([tensors], batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def batch_join(tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
               allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of what several threads give, one for each item of the list."""
    return _batch(list(tensors_list), batch_size, True, 1, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def maybe_batch_join(tensors_list, keep_input, batch_size, capacity=32, enqueue_many=False, shapes=None,
                     dynamic_pad=False, allow_smaller_final_batch=False, shared_name=None, name=None):
    return _batch(list(tensors_list), batch_size, keep_input, 1, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False,
                  shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Shuffled batches, by a queue."""
    return _batch([tensors], batch_size, True, num_threads, capacity, enqueue_many, shapes, False,
                  allow_smaller_final_batch, shared_name, name, (min_after_dequeue, seed))


def maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads=1, seed=None,
                        enqueue_many=False, shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    return _batch([tensors], batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, False,
                  allow_smaller_final_batch, shared_name, name, (min_after_dequeue, seed))


def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, seed=None, enqueue_many=False, shapes=None,
                       allow_smaller_final_batch=False, shared_name=None, name=None):
    return _batch(list(tensors_list), batch_size, True, 1, capacity, enqueue_many, shapes, False,
                  allow_smaller_final_batch, shared_name, name, (min_after_dequeue, seed))
