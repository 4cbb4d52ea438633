"""py_func — Python functions as operations: kernels of PyFunc and its kin that call back into this interpreter."""
import ctypes
import itertools
import threading
import weakref

import numpy as np

from . import _c, dtypes, tensors
from .convert import convert_to_tensor
from .graph import get_default_graph

_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_COMPUTE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_DELETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_functions = weakref.WeakValueDictionary()   # by token; graphs keep the functions alive
_numbers = itertools.count()
_tokens, _token_numbers = {}, itertools.count(1)   # of kernels: their state is a small number
_errors = {}                                  # message -> exception, to be its cause
_lock = threading.Lock()
_CODES = [(StopIteration, 11), (ValueError, 3), (TypeError, 3), (MemoryError, 8), (NotImplementedError, 12)]


class _Function:
    def __init__(self, function, is_grad=False):
        self.function = function


def take_error(message):
    """The Python exception behind a step's error, or None."""
    for key in list(_errors):
        if key in message:
            return _errors.pop(key)
    return None


def _create(construction):
    size, total = ctypes.c_int32(), ctypes.c_int32()
    try:
        with _c.Status() as status:
            _c.TF_OpKernelConstruction_GetAttrSize(construction, b"token", ctypes.byref(size), ctypes.byref(total),
                                                   status)
        text = ctypes.create_string_buffer(total.value + 1)
        with _c.Status() as status:
            _c.TF_OpKernelConstruction_GetAttrString(construction, b"token", text, total.value, status)
        number = next(_token_numbers)
        _tokens[number] = text.value.decode()
        return number
    except Exception as error:
        _fail(_c.TF_OpKernelConstruction_Failure, construction, 13, str(error))
        return 0


def _fail(function, context, code, message):
    status = _c.lib_new_status()
    _c.lib_set_status(status, code, message.encode("utf-8", "replace"))
    function(context, status)
    _c.TF_DeleteStatus(status)


def _input(context, i):
    pointer = ctypes.c_void_p()
    with _c.Status() as status:
        _c.TF_GetInput(context, i, ctypes.byref(pointer), status)
    value = tensors.take(pointer.value)
    if isinstance(value, bytes):
        return value
    return np.asarray(value).copy() if isinstance(value, np.ndarray) and not value.flags.owndata else np.asarray(value)


def _results(token, values, context):
    n = _c.TF_NumOutputs(context)
    if values is None:
        values = []
    if not isinstance(values, (list, tuple)):
        values = [values]
    elif n == 1 and len(values) != 1:
        values = [values]
    if len(values) != n:
        raise _Wrong("%s returns %d values, but expects to see %d values." % (token, len(values), n))
    for i, value in enumerate(values):
        wanted = dtypes.as_dtype(_c.TF_ExpectedOutputDataType(context, i))
        array = _as_array(value, wanted)
        found = dtypes.as_dtype(array.dtype)
        if found != wanted and not (wanted._number == 14):
            raise _Wrong("%d-th value returned by %s is %s, but expects %s" % (
                i, token, _c_name(found), _c_name(wanted)))
        pointer = tensors.new(array, wanted._number)
        try:
            with _c.Status() as status:
                _c.TF_SetOutput(context, i, pointer, status)
        finally:
            _c.TF_DeleteTensor(pointer)


def _c_name(dtype):
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def _as_array(value, wanted):
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
    else:
        array = np.asarray(value, dtype=object if wanted._number == 7 else wanted.as_numpy_dtype)
    return array.astype(object) if array.dtype.kind in "SU" else array


class _Wrong(Exception):
    pass


def _compute(state, context):
    try:
        token = _tokens[state]
        entry = _functions.get(token)
        if entry is None:
            raise _Wrong("callback %s is not found" % token)
        arguments = [_input(context, i) for i in range(_c.TF_NumInputs(context))]
        _results(token, entry.function(*arguments), context)
    except _Wrong as error:
        _fail(_c.TF_OpKernelContext_Failure, context, 3, str(error))
    except BaseException as error:  # whatever it is, the step ends with it, not the process
        code = next((c for kind, c in _CODES if isinstance(error, kind)), 2)
        message = "%s: %s" % (type(error).__name__, error)
        if len(_errors) < 64:
            _errors[message] = error
        _fail(_c.TF_OpKernelContext_Failure, context, code, message)


def _delete(state):
    _tokens.pop(state, None)


_callbacks = _CREATE(_create), _COMPUTE(_compute), _DELETE(_delete)
_ready = False


def register_kernels():
    """Makes PyFunc, PyFuncStateless and EagerPyFunc run; once in a process, before the first of them is made."""
    global _ready
    with _lock:
        if _ready:
            return
        for op in (b"PyFunc", b"PyFuncStateless", b"EagerPyFunc"):
            builder = _c.TF_NewKernelBuilder(op, b"CPU", *[ctypes.cast(f, ctypes.c_void_p) for f in _callbacks])
            _c.call("TF_RegisterKernelBuilder", b"millrace_python_" + op, builder)
        _ready = True


def py_func(func, inp, Tout, stateful=True, name=None):
    """A tensor, or a list where Tout is one, that func computes from arrays when it runs. Shapes are unknown.

    >>> y = tf.py_func(lambda x: x * 2, [tf.constant(3.0)], tf.float32)
    >>> with tf.Session() as s: s.run(y)
    6.0
    """
    from . import ops_apply
    register_kernels()
    graph = get_default_graph()
    token = "pyfunc_%d" % next(_numbers)
    entry = _functions[token] = _Function(func)
    outer = graph
    while outer is not None:
        outer._kept.append(entry)
        outer = getattr(outer, "outer_graph", None)
    is_list = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in (Tout if is_list else [Tout])]
    op = ops_apply.apply_op("PyFunc" if stateful else "PyFuncStateless", name, {
        "input": [convert_to_tensor(x) for x in inp], "token": token, "Tout": types})
    results = list(op.outputs)
    if not is_list:
        return results[0] if results else op
    return results if results else op


def numpy_function(func, inp, Tout, name=None):
    return py_func(func, inp, Tout, stateful=True, name=name)


def py_function(func, inp, Tout, name=None):
    return py_func(func, inp, Tout, stateful=True, name=name)
