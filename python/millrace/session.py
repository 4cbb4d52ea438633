"""session — Session: runs parts of a graph; fetches of any structure, feeds of any values.

What a choice of fetches and feeds means is worked out once and kept by the objects named: later runs only convert values.
"""
import ctypes
import re
import threading

import numpy as np

from . import _c, dtypes, errors, interrupt, nest, tensors
from .graph import Operation, Tensor, get_default_graph
from .indexed import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue

_NODE = re.compile(r"\{\{node ([^}]+)\}\}|node '([^']+)'|\[\[([^\]=]+?)(?: =|\]\])")
_CACHED = 1024  # most choices kept by a session


class _Default(threading.local):
    def __init__(self):
        self.stack = []


_default = _Default()
_conversions = []   # (type, fetch function, feed function, feed function for partial runs)


def get_default_session():
    """The innermost session of `with` blocks of this thread, or None."""
    return _default.stack[-1] if _default.stack else None


def register_session_run_conversion_functions(tensor_type, fetch_function, feed_function=None,
                                              feed_function_for_partial_run=None):
    """How objects of a type are fetched and fed."""
    if any(t is tensor_type for t, *_ in _conversions):
        raise ValueError("%s has already been registered so ignore it." % tensor_type)
    _conversions.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


# ---------------------------------------- fetches

class _Fetches:
    """A structure of fetches: the tensors and operations that it needs, and how their values become its results."""

    def __init__(self, graph, fetches):
        self.tensors, self.targets, self._index = [], [], {}
        self.build = self._visit(graph, fetches)

    def _tensor(self, tensor):
        if id(tensor) not in self._index:
            self._index[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return self._index[id(tensor)]

    def _several(self, graph, parts, join):
        builds = [self._visit(graph, p) for p in parts]
        return lambda values: join([b(values) for b in builds])

    def _visit(self, graph, fetch):
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type %s" % type(None))
        if isinstance(fetch, (list, tuple)):
            if hasattr(fetch, "_fields") and isinstance(fetch, tuple):
                return self._several(graph, list(fetch), lambda v, t=type(fetch): t(*v))
            return self._several(graph, fetch, lambda v, t=type(fetch): v if t is list else t(v))
        if isinstance(fetch, dict) or hasattr(fetch, "keys") and hasattr(fetch, "values") and not \
                isinstance(fetch, Tensor):
            keys = list(fetch.keys())
            return self._several(graph, [fetch[k] for k in keys],
                                 lambda v, f=fetch: _same_mapping(f, dict(zip(keys, v))))
        if hasattr(type(fetch), "__attrs_attrs__"):
            names = [a.name for a in type(fetch).__attrs_attrs__]
            return self._several(graph, [getattr(fetch, n) for n in names], lambda v, t=type(fetch): t(*v))
        if isinstance(fetch, SparseTensor):
            return self._several(graph, [fetch.indices, fetch.values, fetch.dense_shape],
                                 lambda v: SparseTensorValue(*v))
        if isinstance(fetch, IndexedSlices):
            parts = [fetch.values, fetch.indices] + ([fetch.dense_shape] if fetch.dense_shape is not None else [])
            return self._several(graph, parts, lambda v: IndexedSlicesValue(v[0], v[1], v[2] if len(v) > 2 else None))
        for kind, function, *_ in _conversions:
            if isinstance(fetch, kind):
                parts, contract = function(fetch)
                return self._several(graph, parts, contract)
        return self._element(graph, fetch)

    def _element(self, graph, fetch):
        try:
            element = graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as error:
            raise TypeError("Fetch argument %r has invalid type %s, must be a string or Tensor. (%s)" % (
                fetch, type(fetch), error)) from None
        except ValueError as error:
            raise ValueError("Fetch argument %r cannot be interpreted as a Tensor. (%s)" % (fetch, error)) from None
        except KeyError as error:
            raise ValueError("Fetch argument %r cannot be interpreted as a Tensor. (%s)" % (fetch, error)) from None
        if not graph.is_fetchable(element):
            raise ValueError("%s is not fetchable." % element)
        if isinstance(element, Operation):
            if element not in self.targets:
                self.targets.append(element)
            return lambda values: None
        at = self._tensor(element)
        return lambda values: values[at]


def _same_mapping(like, values):
    if type(like) is dict:
        return values
    if type(like).__name__ == "defaultdict":
        result = type(like)(like.default_factory)
        result.update(values)
        return result
    return type(like)(values)


class _Plan:
    """One choice of fetches and feeds, as the C call wants it."""

    def __init__(self, fetches, fed):
        self.fed_at = {}
        self.kept = fetches, fed
        fed_index = {id(t): i for i, t in enumerate(fed)}
        outputs = []
        self.places = []                # of each fetched tensor: (False, index of output) or (True, index of feed)
        for tensor in fetches.tensors:
            if id(tensor) in fed_index:
                self.places.append((True, fed_index[id(tensor)]))
            else:
                self.places.append((False, len(outputs)))
                outputs.append(tensor._as_tf_output())
        self.any_fed = len(outputs) < len(fetches.tensors)
        self.build = fetches.build
        self.n_in, self.n_out, self.n_targets = len(fed), len(outputs), len(fetches.targets)
        self.inputs = (_c.Output * self.n_in)(*[t._as_tf_output() for t in fed])
        self.outputs = (_c.Output * self.n_out)(*outputs)
        self.targets = (ctypes.c_void_p * self.n_targets)(*[op._c for op in fetches.targets])
        self.input_values, self.output_values = ctypes.c_void_p * self.n_in, ctypes.c_void_p * self.n_out


# ---------------------------------------- feeds

def _feed_value(tensor, value):
    """(array, number of its DataType) of what is fed for a tensor. TypeError, ValueError."""
    if isinstance(value, Tensor):
        raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python "
                        "scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
                        "%s which was passed to the feed with key %s." % (value, tensor))
    dtype = tensor._dtype
    number = dtype._number % 100
    if number == 20:
        return np.asarray(value), number
    wanted = dtype._numpy
    if isinstance(value, int) and not isinstance(value, bool) and number != 7:
        if np.dtype(wanted).kind in "iu" and not np.iinfo(wanted).min <= value <= np.iinfo(wanted).max:
            raise TypeError("Type of feed value %s with type %s is not compatible with Tensor type %s. Try explicitly "
                            "setting the type of the feed tensor to a larger type (e.g. int64)." % (
                                value, type(value), wanted))
    if number == 7:
        array = np.asarray(value) if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    else:
        array = np.asarray(value, dtype=wanted)
    shape = array.shape
    known = tensor.shape
    if known.dims is not None and (len(known.dims) != len(shape) or any(
            k._value is not None and k._value != s for k, s in zip(known.dims, shape))):
        raise ValueError("Cannot feed value of shape %s for Tensor '%s', which has shape '%s'" % (
            shape, tensor.name, known))
    return array, number


def _expand_feed(graph, key, value):
    """[(tensor, value)] of one item of a feed_dict."""
    for kind, _, function, _ in _conversions:
        if isinstance(key, kind) and function is not None:
            return [(graph.as_graph_element(k, True, False), v) for k, v in function(key, value)]
    if isinstance(key, SparseTensor):
        if isinstance(value, SparseTensor):
            raise TypeError("The value of a feed cannot be a tf.SparseTensor object.")
        return list(zip([key.indices, key.values, key.dense_shape], value))
    if isinstance(key, IndexedSlices):
        parts = [key.values, key.indices] + ([key.dense_shape] if key.dense_shape is not None else [])
        return list(zip(parts, value))
    try:
        tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except Exception as error:
        raise TypeError("Cannot interpret feed_dict key as Tensor: %s" % (error.args[0] if error.args else error)) from None
    if not graph.is_feedable(tensor):
        raise ValueError("Tensor %s may not be fed." % tensor)
    return [(tensor, value)]


class _PartialRunHandle(str):
    """What partial_run_setup gives: a name, with what was promised."""
    __slots__ = ("feeds", "fetches", "pointer")


# ---------------------------------------- sessions

class BaseSession:
    """What Session and InteractiveSession share."""

    def __init__(self, target="", graph=None, config=None):
        self._session = None
        self._graph = get_default_graph() if graph is None else graph
        if not hasattr(self._graph, "_new_operation"):
            raise TypeError("graph must be a tf.Graph, but got %s" % type(graph))
        self._target = _c.encode(target or "") if isinstance(target or "", (str, bytes)) else None
        if self._target is None:
            raise TypeError("target must be a string, but got %s" % type(target))
        if config is not None and not hasattr(config, "SerializeToString"):
            raise TypeError("config must be a tf.ConfigProto, but got %s" % type(config))
        self._config = config
        self._closed, self._plans = False, {}
        self._known, self._known_at = {}, 0     # of fed tensors: dtypes and shapes
        self._add_shapes = False
        interrupt.listen()
        options = _c.TF_NewSessionOptions()
        try:
            if self._target:
                _c.TF_SetTarget(options, self._target)
            if config is not None:
                data = config.SerializeToString()
                _c.call("TF_SetConfig", options, data, len(data))
            self._session = _c.call("TF_NewSession", self._graph._c, options)
        finally:
            _c.TF_DeleteSessionOptions(options)

    graph = property(lambda self: self._graph)
    graph_def = property(lambda self: self._graph.as_graph_def())
    sess_str = property(lambda self: self._target)

    def close(self):
        """Ends the session; what it holds is freed."""
        if self._session is not None and not self._closed:
            self._closed = True
            with _c.Status() as status:
                _c.TF_CloseSession(self._session, status)

    def __del__(self):
        try:
            session, self._session = self._session, None
            if session is not None:
                with _c.Status() as status:
                    _c.TF_DeleteSession(session, status)
                    _c.lib_set_status(status, 0, b"")
        except Exception:  # the interpreter is going
            pass

    def as_default(self):
        return _AsDefault(self)

    def list_devices(self):
        """The devices of the session, with name, device_type and memory_limit_bytes."""
        devices = _c.call("TF_SessionListDevices", self._session)
        try:
            return [_DeviceAttributes(_c.call("TF_DeviceListName", devices, i).decode(),
                                      _c.call("TF_DeviceListType", devices, i).decode(),
                                      _c.call("TF_DeviceListMemoryBytes", devices, i),
                                      _c.call("TF_DeviceListIncarnation", devices, i))
                    for i in range(_c.TF_DeviceListCount(devices))]
        finally:
            _c.TF_DeleteDeviceList(devices)

    # ---- running

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of `fetches`, in their structure: a tensor gives an array, an operation None.

        >>> with tf.Session() as s:
        ...     s.run({"x": tf.constant(2.0)})
        {'x': 2.0}
        """
        self._check_open()
        fed, values = self._feeds(feed_dict) if feed_dict else ((), ())
        plan = self._plan(fetches, fed)
        return self._call(plan, values, options, run_metadata)

    def _check_open(self):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._operations:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")

    def _feeds(self, feed_dict):
        fed, values = [], []
        graph = self._graph
        try:
            items = list(feed_dict.items())
        except AttributeError:
            raise TypeError("feed_dict must be a dictionary, not %s" % type(feed_dict).__name__) from None
        if any(isinstance(k, (tuple, list)) for k, _ in items):
            items = list(nest.flatten_dict_items(dict(items)).items())
        for key, value in items:
            if type(key) is Tensor and key.op.graph is graph and not graph._unfeedable:
                fed.append(key)
                values.append(self._known_value(key, value) if type(value) is np.ndarray else _feed_value(key, value))
                continue
            for tensor, one in _expand_feed(graph, key, value):
                fed.append(tensor)
                values.append(_feed_value(tensor, one))
        return fed, values

    def _known_value(self, tensor, array):
        """_feed_value of an array, by what was found out about the tensor before."""
        if self._known_at != self._graph._shape_version:
            self._known, self._known_at = {}, self._graph._shape_version
        row = self._known.get(tensor)
        if row is None:
            number, dims = tensor._dtype._number % 100, tensor.shape.dims
            row = self._known[tensor] = (None if number in (7, 20, 21) else np.dtype(tensor._dtype._numpy), number,
                                         None if dims is None else [d.value for d in dims])
        dtype, number, dims = row
        if array.dtype != dtype:
            return _feed_value(tensor, array)
        if dims is not None:
            shape = array.shape
            if len(dims) != len(shape):
                return _feed_value(tensor, array)
            for known, n in zip(dims, shape):
                if known is not None and known != n:
                    return _feed_value(tensor, array)
        return array, number

    def _plan(self, fetches, fed):
        try:
            if type(fetches) is list:
                key = ("list", *fetches, None, *fed)
            else:
                key = (type(fetches), fetches, None, *fed)
            plan = self._plans.get(key)
        except TypeError:
            key, plan = None, None
        if plan is not None:
            return plan
        plan = _Plan(_Fetches(self._graph, fetches), list(fed))
        if key is not None and not isinstance(fetches, str):
            if len(self._plans) >= _CACHED:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _call(self, plan, values, options=None, run_metadata=None, handle=None):
        n_in, n_out = plan.n_in, plan.n_out
        given = plan.input_values()
        results = plan.output_values()
        if not n_out and not plan.n_targets and handle is None:
            return plan.build([np.asarray(values[i][0]) for _, i in plan.places])
        made = 0
        try:
            for array, number in values:
                given[made] = tensors.new(array, number)
                made += 1
            self._step(plan, given, results, options, run_metadata, handle)
        finally:
            for i in range(made):
                tensors.delete(given[i])
        found = [tensors.take(p) for p in results]
        if plan.any_fed:
            found = [values[i][0] if is_fed else found[i] for is_fed, i in plan.places]
        return plan.build(found)

    def _step(self, plan, given, results, options, run_metadata, handle):
        free = _c._statuses.free
        status = free.pop() if free else _c.lib_new_status()
        run_options = metadata = None
        try:
            if options is not None:
                data = options.SerializeToString()
                run_options = _c.TF_NewBufferFromString(data, len(data))
            if run_metadata is not None:
                metadata = _c.TF_NewBuffer()
            if handle is not None:
                _c.TF_SessionPRun(self._session, handle, plan.inputs, given, plan.n_in, plan.outputs, results,
                                  plan.n_out, plan.targets, plan.n_targets, status)
            else:
                _session_run(self._session, run_options, plan.inputs, given, plan.n_in, plan.outputs, results,
                             plan.n_out, plan.targets, plan.n_targets, metadata, status)
            code = _c.lib_code(status)
            if code:
                if code == errors.CANCELLED:
                    interrupt.pending()
                message = _c.lib_message(status).decode("utf-8", "replace")
                _c.lib_set_status(status, 0, b"")
                self._raise(code, message)
            if metadata is not None and metadata.contents.length:
                run_metadata.ParseFromString(ctypes.string_at(metadata.contents.data, metadata.contents.length))
        finally:
            free.append(status)
            if run_options is not None:
                _c.TF_DeleteBuffer(run_options)
            if metadata is not None:
                _c.TF_DeleteBuffer(metadata)

    def _raise(self, code, message):
        op = None
        for match in _NODE.finditer(message):
            op = self._graph._by_name.get(next(g for g in match.groups() if g).strip())
            if op is not None:
                break
        from . import py_func
        cause = py_func.take_error(message)
        raise errors.exception_for(code, message, op) from cause

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function that runs `fetches`; its arguments are the values for `feed_list`.

        >>> x = tf.placeholder(tf.float32)
        >>> with tf.Session() as s:
        ...     s.make_callable(x + 1, [x])(2.0)
        3.0
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        fed = [self._graph.as_graph_element(f, True, False) for f in feed_list or ()]
        plan = _Plan(_Fetches(self._graph, fetches), fed)
        self._check_open()

        def function(*args, **kwargs):
            if len(args) != len(fed):
                raise TypeError("a callable of %d values got %d" % (len(fed), len(args)))
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            values = [self._known_value(t, v) if type(v) is np.ndarray else _feed_value(t, v) for t, v in zip(fed, args)]
            return self._call(plan, values, kwargs.get("options"), kwargs.get("run_metadata"))
        return function

    def partial_run_setup(self, fetches, feeds=None):
        """Promises feeds and fetches of a step that partial_run then gives and takes bit by bit."""
        self._check_open()
        if not feeds and not fetches:
            raise errors.InvalidArgumentError(None, None, "No fetches or feeds were given")
        fed = [self._graph.as_graph_element(f, True, False) for f in feeds or ()]
        plan = _Plan(_Fetches(self._graph, fetches), fed)
        pointer = ctypes.c_void_p()
        _c.call("TF_SessionPRunSetup", self._session, plan.inputs, plan.n_in, plan.outputs, plan.n_out, plan.targets,
                plan.n_targets, ctypes.byref(pointer))
        handle = _PartialRunHandle(ctypes.string_at(pointer.value).decode())
        handle.pointer = pointer.value
        return handle

    def partial_run(self, handle, fetches, feed_dict=None):
        """The values of some of the fetches promised, given some of the feeds."""
        fed, values = self._feeds(feed_dict) if feed_dict else ((), ())
        plan = _Plan(_Fetches(self._graph, fetches), list(fed))
        return self._call(plan, values, handle=handle.pointer)


_session_run = _c.TF_SessionRun


class _DeviceAttributes:
    def __init__(self, name, device_type, memory_limit_bytes, incarnation):
        self.name, self.device_type = name, device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation
        self.memory_limit = memory_limit_bytes

    def __repr__(self):
        return "_DeviceAttributes(%s, %s, %d, %d)" % (self.name, self.device_type, self.memory_limit_bytes,
                                                      self.incarnation)


class _AsDefault:
    """`with` a session as the default one, without closing it."""

    def __init__(self, session):
        self._session = session

    def __enter__(self):
        _default.stack.append(self._session)
        return self._session

    def __exit__(self, *exc):
        if not _default.stack or _default.stack[-1] is not self._session:
            raise AssertionError("Nesting violated for default stack of %s objects" % type(self._session))
        _default.stack.pop()


class Session(BaseSession):
    """Runs a graph: here, or on the server that `target` names ("grpc://host:port").

    `with Session() as s:` makes it and its graph the default ones, and closes it at the end.
    """

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._contexts = []

    def __enter__(self):
        graph = self.graph.as_default()
        graph.__enter__()
        session = self.as_default()
        session.__enter__()
        self._contexts.append((graph, session))
        return self

    def __exit__(self, *exc):
        graph, session = self._contexts.pop()
        session.__exit__(*exc)
        graph.__exit__(*exc)
        self.close()

    @staticmethod
    def reset(target, containers=None, config=None):
        """Clears the variables and queues of a server, of the containers named or of the default one."""
        options = _c.TF_NewSessionOptions()
        try:
            _c.TF_SetTarget(options, _c.encode(target))
            if config is not None:
                data = config.SerializeToString()
                _c.call("TF_SetConfig", options, data, len(data))
            names = [_c.encode(n) for n in containers or ()]
            _c.call("TF_Reset", options, (ctypes.c_char_p * len(names))(*names), len(names))
        finally:
            _c.TF_DeleteSessionOptions(options)


class InteractiveSession(BaseSession):
    """A session that is the default one from its making to its closing."""
    _active = 0

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._own_default = self.as_default()
        self._own_default.__enter__()
        self._own_graph = None
        if graph is not None:
            self._own_graph = graph.as_default()
            self._own_graph.__enter__()

    def close(self):
        super().close()
        if self._own_default is not None:
            if self in _default.stack:
                _default.stack.remove(self)
            self._own_default = None
            if self._own_graph is not None:
                self._own_graph.__exit__(None, None, None)
                self._own_graph = None


def _eval_using_default_session(tensors_, feed_dict, graph, session=None):
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
                             "sess.as_default()` or pass an explicit session to `eval(session=sess)`")
        if session.graph is not graph:
            raise ValueError("Cannot use the default session to evaluate tensor: the tensor's graph is different from "
                             "the session's graph. Pass an explicit session to `eval(session=sess)`.")
    elif session.graph is not graph:
        raise ValueError("Cannot use the given session to evaluate tensor: the tensor's graph is different from the "
                         "session's graph.")
    return session.run(tensors_, feed_dict)


def _run_using_default_session(operation, feed_dict, graph, session=None):
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot execute operation using `run()`: No default session is registered. Use `with "
                             "sess.as_default():` or pass an explicit session to `run(session=sess)`")
        if session.graph is not graph:
            raise ValueError("Cannot use the default session to execute operation: the operation's graph is different "
                             "from the session's graph. Pass an explicit session to run(session=sess).")
    elif session.graph is not graph:
        raise ValueError("Cannot use the given session to execute operation: the operation's graph is different from "
                         "the session's graph.")
    session.run(operation, feed_dict)
