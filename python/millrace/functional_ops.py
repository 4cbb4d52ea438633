"""functional_ops — map_fn, foldl, foldr, scan: a function over the first dimension, by a loop."""
from . import dtypes, nest, tensor_shape, variable_scope
from .array_ops import shape
from .constant import constant
from .control_flow import while_loop
from .convert import convert_to_tensor
from .graph import name_scope
from .tensor_array import TensorArray


def _caching_off():
    scope = variable_scope.get_variable_scope()
    if scope.caching_device is None:
        scope.set_caching_device(lambda op: op.device)
        return lambda: scope.set_caching_device(None)
    return lambda: None


def _arrays(flat, n):
    return [TensorArray(t.dtype, size=n, dynamic_size=False, infer_shape=True).unstack(t) for t in flat]


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True,
           name=None):
    """fn of each element, stacked; `dtype` where the result has another structure or type than the element.

    >>> with tf.Session() as s: s.run(tf.map_fn(lambda x: x * x, tf.constant([1.0, 2.0])))
    array([1., 4.], dtype=float32)
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "map", nest.flatten(elems)):
        flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        types = nest.map_structure(dtypes.as_dtype, dtype) if dtype is not None else None
        out_like = types if types is not None else nest.pack_sequence_as(elems, [t.dtype for t in flat])
        static = flat[0].shape.dims[0].value if flat[0].shape.dims else None
        if flat[0].shape.ndims == 0:
            raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        n = static if static is not None else shape(flat[0])[0]
        inputs = _arrays(flat, n)
        results = [TensorArray(t, size=n, dynamic_size=False, infer_shape=infer_shape) for t in nest.flatten(out_like)]

        def body(i, arrays):
            values = fn(nest.pack_sequence_as(elems, [a.read(i) for a in inputs]))
            nest.assert_same_structure(out_like, values, check_types=False)
            return i + 1, [a.write(i, v) for a, v in zip(arrays, nest.flatten(values))]
        _, results = while_loop(lambda i, _: i < n, body, (constant(0), results),
                                parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                                swap_memory=swap_memory, maximum_iterations=None)
        stacked = [r.stack() for r in results]
        for value in stacked:
            if value.shape.ndims is not None:
                value.set_shape(tensor_shape.TensorShape([static]).concatenate(value.shape[1:]))
        return nest.pack_sequence_as(out_like, stacked)


def _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, default, backwards):
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, default, nest.flatten(elems)):
        flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        n = flat[0].shape.dims[0].value if flat[0].shape.dims[0].value is not None else shape(flat[0])[0]
        arrays = _arrays(flat, n)
        read = lambda i: nest.pack_sequence_as(elems, [a.read(i) for a in arrays])
        if initializer is None:
            start = (n - 1) if backwards else 0
            a, begin = read(start), 1
        else:
            a, begin = nest.map_structure(convert_to_tensor, initializer), 0
        i = convert_to_tensor(n - begin) if backwards else constant(begin)
        if backwards:
            body = lambda i, a: [i - 1, fn(a, read(i - 1))]
            test = lambda i, a: i > 0
        else:
            body = lambda i, a: [i + 1, fn(a, read(i))]
            test = lambda i, a: i < n
        return while_loop(test, body, [i, a], parallel_iterations=parallel_iterations, back_prop=back_prop,
                          swap_memory=swap_memory)[1]


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """fn(... fn(fn(initializer, elems[0]), elems[1]) ...)."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldl", False)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """The same from the last element on."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldr", True)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    """All values on the way of foldl, stacked."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan", nest.flatten(elems)):
        flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        static = flat[0].shape.dims[0].value
        n = static if static is not None else shape(flat[0])[0]
        arrays = _arrays(flat, n)
        read = lambda i: nest.pack_sequence_as(elems, [a.read(i) for a in arrays])
        if initializer is None:
            a, begin = read(n - 1 if reverse else 0), 1
        else:
            a, begin = nest.map_structure(convert_to_tensor, initializer), 0
        a_flat = nest.flatten(a)
        results = [TensorArray(t.dtype, size=n, dynamic_size=False, element_shape=t.shape if infer_shape else None,
                               infer_shape=infer_shape) for t in a_flat]
        if begin:
            results = [r.write(n - 1 if reverse else 0, v) for r, v in zip(results, a_flat)]

        def body(i, a, results):
            new = fn(nest.pack_sequence_as(initializer if initializer is not None else elems, nest.flatten(a)), read(i))
            nest.assert_same_structure(elems if initializer is None else initializer, new, check_types=False)
            flat_new = nest.flatten(new)
            return [i - 1 if reverse else i + 1, flat_new, [r.write(i, v) for r, v in zip(results, flat_new)]]
        first = convert_to_tensor(n - 1 - begin) if reverse else constant(begin)
        test = (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < n)
        _, _, results = while_loop(test, body, [first, a_flat, results], parallel_iterations=parallel_iterations,
                                   back_prop=back_prop, swap_memory=swap_memory)
        stacked = [r.stack() for r in results]
        for value in stacked:
            if value.shape.ndims is not None:
                value.set_shape(tensor_shape.TensorShape([static]).concatenate(value.shape[1:]))
        return nest.pack_sequence_as(elems if initializer is None else initializer, stacked)
