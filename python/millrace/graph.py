"""graph — Graph over TF_Graph; scopes of names, devices, control dependencies; collections; the default graph."""
import contextlib
import ctypes
import re
import sys
import threading

from . import _c, op_table
from .device import DeviceSpec
from .nodes import Operation, Tensor, _attr_proto, _set_proto, _set_string, _set_string_list, _SETTERS, _where

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class GraphKeys:
    """Names of collections that the library itself uses."""
    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"
    _VARIABLE_COLLECTIONS = [GLOBAL_VARIABLES, LOCAL_VARIABLES, METRIC_VARIABLES, MODEL_VARIABLES, TRAINABLE_VARIABLES,
                             MOVING_AVERAGE_VARIABLES, CONCATENATED_VARIABLES, TRAINABLE_RESOURCE_VARIABLES]


# ---------------------------------------- graphs

class _Controls:
    """One `with control_dependencies(...)` block."""

    def __init__(self, graph, inputs, new_stack):
        self._graph, self._inputs, self._new_stack = graph, inputs, new_stack
        self._seen = set()
        self._old_stack = self._old_context = None

    def __enter__(self):
        if self._new_stack:
            self._old_stack = self._graph._control_stack
            self._graph._control_stack = []
            self._old_context = self._graph._get_control_flow_context()
            self._graph._set_control_flow_context(None)
        self._graph._control_stack.append(self)
        return self

    def __exit__(self, *exc):
        self._graph._control_stack.remove(self)
        if self._new_stack:
            self._graph._control_stack = self._old_stack
            self._graph._set_control_flow_context(self._old_context)


class _Stacks(threading.local):
    def __init__(self):
        self.name, self.device, self.control, self.colocation, self.context = "", [], [], [], None


def _stack_property(name):
    return property(lambda self: getattr(self._stacks, name), lambda self, v: setattr(self._stacks, name, v))


class Graph:
    """Operations and the tensors between them. `with graph.as_default():` makes it the one that functions add to."""

    def __init__(self):
        self._c = _c.TF_NewGraph()
        self._lock = threading.RLock()
        self._operations, self._by_name, self._by_pointer = [], {}, {}
        self._names_in_use, self._collections = {}, {}
        self._position = ctypes.c_size_t(0)
        self._stacks = _Stacks()
        self._next_id = 0
        self._finalized = False
        self._seed = None
        self._shape_version = 0           # how often what is known of shapes was added to
        self._container = ""
        self._unfeedable, self._unfetchable = set(), set()
        self._gradient_overrides, self._labels, self._attr_scopes = {}, {}, {}
        self._own_gradients = {}          # operations whose gradient is made in Python, by pointer
        self._functions = {}
        self._kept = []                   # what must live as long as the graph: functions of py_func
        self._op_cache = {}
        self.building_function = False
        self._traced = False              # whether it is the graph of a function of eager mode
        self._building_function = False
        self._auto_cast_variable_read_dtype = None

    _name_stack, _device_stack = _stack_property("name"), _stack_property("device")
    _control_stack, _colocation_stack = _stack_property("control"), _stack_property("colocation")
    _control_flow_context = _stack_property("context")

    def __del__(self):
        try:
            _c.TF_DeleteGraph(self._c)
        except Exception:  # the interpreter is going
            pass

    # ---- what there is

    seed = property(lambda self: self._seed)

    @seed.setter
    def seed(self, value):
        self._seed = value

    finalized = property(lambda self: self._finalized)
    version = property(lambda self: self._next_id)
    _version = version
    _last_id = property(lambda self: self._next_id)

    @property
    def graph_def_versions(self):
        from . import messages
        return messages.VersionDef.FromString(_c.filled("TF_GraphVersions", self._c))

    def finalize(self):
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _operation(self, pointer):
        op = self._by_pointer.get(pointer)
        if op is None:
            self._sync()
            op = self._by_pointer[pointer]
        return op

    def _sync(self, where=None):
        """Operations for the nodes that C has made: gradients, imports. Gives the new ones."""
        new = []
        with self._lock:
            while True:
                pointer = _c.TF_GraphNextOperation(self._c, ctypes.byref(self._position))
                if not pointer:
                    return new
                if pointer not in self._by_pointer:
                    op = Operation(self, pointer, where if where is not None else _where())
                    self._register(op)
                    new.append(op)

    def _register(self, op):
        self._by_pointer[op._c] = op
        self._by_name[op.name] = op
        self._operations.append(op)
        self._mark_name(op.name)
        return op

    def _mark_name(self, name):
        parts = name.lower().split("/")
        for i in range(1, len(parts) + 1):
            self._names_in_use.setdefault("/".join(parts[:i]), 1)

    def get_operations(self):
        return list(self._operations)

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError("Operation names are strings (or similar), not %s." % type(name).__name__)
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    _get_operation_by_name_unsafe = get_operation_by_name

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError("Tensor names are strings (or similar), not %s." % type(name).__name__)
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """The tensor or operation that an object or name stands for. KeyError, ValueError, TypeError."""
        what = " or ".join((["Tensor"] if allow_tensor else []) + (["Operation"] if allow_operation else []))
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            converted = convert()
            obj = obj if converted is None else converted
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError("%s %s is not an element of this graph." % (
                    "Tensor" if isinstance(obj, Tensor) else "Operation", obj if isinstance(obj, Tensor) else repr(obj)))
            return obj
        raise TypeError("Can not convert a %s into a %s." % (type(obj).__name__, what))

    def _element_by_name(self, name, allow_tensor, allow_operation):
        if ":" in name and allow_tensor:
            try:
                op_name, index = name.split(":")
                index = int(index)
            except ValueError:
                raise ValueError("The name %r looks like a Tensor name, but is not a valid one. Tensor names must be of "
                                 "the form \"<op_name>:<output_index>\"." % name) from None
            op = self._by_name.get(op_name)
            if op is None:
                raise KeyError("The name %r refers to a Tensor which does not exist. The operation, %r, does not exist "
                               "in the graph.%s" % (name, op_name, self._did_you_mean(op_name)))
            if index >= len(op._outputs) or index < 0:
                raise KeyError("The name %r refers to a Tensor which does not exist. The operation, %r, exists but only "
                               "has %d outputs." % (name, op_name, len(op._outputs)))
            return op._outputs[index]
        if ":" in name:
            raise ValueError("Name %r appears to refer to a Tensor, not a Operation." % name)
        if not allow_operation:
            if name in self._by_name:
                raise ValueError("The name %r refers to an Operation, not a Tensor. Tensor names must be of the form "
                                 "\"<op_name>:<output_index>\"." % name)
            raise ValueError("The name %r looks like an (invalid) Operation name, not a Tensor. Tensor names must be of "
                             "the form \"<op_name>:<output_index>\"." % name)
        if name not in self._by_name:
            raise KeyError("The name %r refers to an Operation not in the graph.%s" % (name, self._did_you_mean(name)))
        return self._by_name[name]

    def _did_you_mean(self, name):
        import difflib
        close = difflib.get_close_matches(name, self._by_name, 1)
        return " Did you mean %r?" % close[0] if close else ""

    def as_graph_def(self, from_version=None, add_shapes=False):
        from . import messages
        graph_def = messages.GraphDef.FromString(_c.filled("TF_GraphToGraphDef", self._c))
        if add_shapes:
            for node in graph_def.node:
                op = self._by_name.get(node.name)
                if op is not None and op._outputs:
                    node.attr["_output_shapes"].list.shape.extend([t.shape.as_proto() for t in op._outputs])
        return graph_def

    # ---- names

    def unique_name(self, name, mark_as_used=True):
        if self._stacks.name:
            name = self._stacks.name + "/" + name
        key = name.lower()
        with self._lock:
            i = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = i + 1
            if i > 0:
                base = key
                while key in self._names_in_use:
                    key = "%s_%d" % (base, i)
                    i += 1
                if mark_as_used:
                    self._names_in_use[key] = 1
                    self._names_in_use[base] = i
                name = "%s_%d" % (name, i - 1)
        return name

    @contextlib.contextmanager
    def name_scope(self, name):
        """Prefixes names; gives the full name with a slash. A name that ends in "/" is taken as it is."""
        if name:
            if not isinstance(name, str):
                raise ValueError("'%s' is not a valid scope name" % (name,))
            if self._stacks.name:
                if not _VALID_SCOPE.match(name):
                    raise ValueError("'%s' is not a valid scope name" % name)
            elif not _VALID_NAME.match(name):
                raise ValueError("'%s' is not a valid root scope name. A root scope name has to match the following "
                                 "pattern: ^[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*$" % name)
        old = self._stacks.name
        if not name:
            new = ""
        elif name[-1] == "/":
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self._stacks.name = new
        try:
            yield new + "/" if new else ""
        finally:
            self._stacks.name = old

    def get_name_scope(self):
        return self._stacks.name

    # ---- scopes

    @contextlib.contextmanager
    def as_default(self):
        _default_graphs.stack.append(self)
        try:
            yield self
        finally:
            if _default_graphs.stack[-1] is not self:
                raise AssertionError("Nesting violated for default stack of %s objects" % type(self))
            _default_graphs.stack.pop()

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Operations made inside ask for that device; a function is asked for each one."""
        if isinstance(device_name_or_function, DeviceSpec):
            device_name_or_function = device_name_or_function.to_string()
        if isinstance(device_name_or_function, str):
            DeviceSpec.from_string(device_name_or_function)
        old = list(self._stacks.device)
        self._stacks.device.append(device_name_or_function)
        try:
            yield
        finally:
            self._stacks.device = old

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        if op is not None and not isinstance(op, Operation):
            op = _op_of(op)
        stacks = self._stacks
        devices, groups = stacks.device, stacks.colocation
        stacks.device = []
        stacks.colocation = ([] if ignore_existing or op is None else list(groups)) + ([op] if op is not None else [])
        try:
            yield
        finally:
            stacks.device, stacks.colocation = devices, groups

    _colocate_with_for_gradient = lambda self, op, gradient_uid, ignore_existing=False: \
        self.colocate_with(op, ignore_existing)

    def control_dependencies(self, control_inputs):
        """Operations made inside run only after these. None clears."""
        if control_inputs is None:
            return _Controls(self, [], True)
        ops = []
        if isinstance(control_inputs, (Tensor, Operation)) or hasattr(control_inputs, "_as_graph_element"):
            control_inputs = [control_inputs]
        for one in control_inputs:
            if hasattr(one, "values") and hasattr(one, "indices") and not isinstance(one, (Tensor, dict)):
                one = one.values if isinstance(one.values, Tensor) else one
            if hasattr(one, "handle") and hasattr(one, "_as_graph_element"):
                one = one._as_graph_element()
            element = self.as_graph_element(one)
            op = element.op if isinstance(element, Tensor) else element
            if op not in ops:
                ops.append(op)
        return _Controls(self, ops, False)

    def _current_control_dependencies(self):
        return {op for c in self._stacks.control for op in c._inputs}

    def _get_control_flow_context(self):
        return self._stacks.context

    def _set_control_flow_context(self, context):
        self._stacks.context = context

    @contextlib.contextmanager
    def container(self, container_name):
        old, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = old

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map):
        """Operations of these types made inside have the gradient registered under the name given."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        old = self._gradient_overrides
        self._gradient_overrides = dict(old, **op_type_map)
        try:
            yield
        finally:
            self._gradient_overrides = old

    @contextlib.contextmanager
    def _kernel_label_map(self, op_to_kernel_label_map):
        old, self._labels = self._labels, dict(self._labels, **op_to_kernel_label_map)
        try:
            yield
        finally:
            self._labels = old

    @contextlib.contextmanager
    def _attr_scope(self, attr_map):
        old = self._attr_scopes
        self._attr_scopes = {k: v for k, v in dict(old, **attr_map).items() if v is not None}
        try:
            yield
        finally:
            self._attr_scopes = old

    def switch_to_thread_local(self):
        """Scopes are each thread's own here from the beginning."""

    @contextlib.contextmanager
    def _original_op(self, op):
        yield

    # ---- collections

    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in (names,) if isinstance(names, str) else list(dict.fromkeys(names)):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        """A list of what is in the collection, of those whose name begins as the regular expression `scope` says."""
        found = self._collections.get(name, [])
        if scope is None:
            return list(found)
        regex = re.compile(scope)
        return [item for item in found if hasattr(item, "name") and regex.match(item.name)]

    def get_all_collection_keys(self):
        return [k for k in self._collections if isinstance(k, str)]

    collections = property(get_all_collection_keys)

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    # ---- feeds and fetches

    def prevent_feeding(self, tensor):
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor):
        return tensor not in self._unfeedable

    def prevent_fetching(self, op):
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op):
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    # ---- functions

    def _is_function(self, name):
        return name in self._functions

    def _get_function(self, name):
        return self._functions.get(name)

    def _op(self, op_type):
        """What is known of an op or of a function of this graph, or None."""
        op = op_table.find(op_type)
        if op is None and op_type not in self._op_cache:
            from . import errors, messages
            try:
                data = _c.filled("TF_GraphGetOpDef", self._c, op_type.encode())
            except (errors.NotFoundError, errors.InvalidArgumentError):
                return None
            self._op_cache[op_type] = op_table.Op(messages.OpDef.FromString(data))
        return op or self._op_cache[op_type]

    # ---- making operations

    def _control_inputs_for(self, inputs):
        stack = self._stacks.control
        if not stack:
            return []
        ops, found = {t.op for t in inputs}, []
        for controller in stack:
            if controller._seen.isdisjoint(ops):
                found += [op for op in controller._inputs if op not in ops and op not in found]
        return found

    def _device_for_strings(self):
        """The device asked for where no function is on the stack; (device, functions are to be asked)."""
        spec, plain = DeviceSpec(), None
        for one in reversed(self._stacks.device):
            if one is None:
                break
            if callable(one):
                return "", True
            plain = one
            spec = DeviceSpec.from_string(one).make_merged_spec(spec)
        if plain is not None and len(self._stacks.device) == 1:
            return plain, False
        return spec.to_string(), False

    def _apply_device_functions(self, op):
        for one in reversed(self._stacks.device):
            if one is None:
                break
            if callable(one):
                device = one(op)
                op._set_device(device if device is not None else op.device)
            else:
                current = DeviceSpec.from_string(op.device)
                op._set_device(DeviceSpec.from_string(one).make_merged_spec(current))

    def _new_operation(self, op_type, inputs, name=None, attrs=None):
        """Adds a node. `inputs` are tensors and lists of tensors, one item for each argument of the op; `attrs` has
        values by name, for attributes that do not follow from the inputs. ValueError, TypeError."""
        self._check_not_finalized()
        flat = [t for i in inputs for t in (i if isinstance(i, (list, tuple)) else (i,))]
        for tensor in flat:
            if tensor.op.graph is not self:
                raise ValueError("%r must be from the same graph as %r." % (
                    tensor, next((t for t in flat if t.op.graph is self), self)))
        name = name or op_type
        if name.endswith("/"):
            name = name[:-1]
            if name in self._by_name:
                raise ValueError("Duplicate node name in graph: %r" % name)
            self._mark_name(name)
        else:
            name = self.unique_name(name)
        if not _VALID_NAME.match(name):
            raise ValueError("'%s' is not a valid node name" % name)
        context = self._stacks.context
        controls = self._control_inputs_for(flat)
        if context is not None:
            inputs, controls = context._before_op(op_type, inputs, controls)
        op = self._finish(op_type, name, inputs, attrs or {}, controls)
        op._control_flow_context = context
        for controller in self._stacks.control:
            controller._seen.add(op)
        if context is not None:
            context._after_op(op)
        return op

    def _finish(self, op_type, name, inputs, attrs, controls):
        table = self._op(op_type)
        if table is None:
            raise ValueError("Op type not registered '%s' in this library%s" % (op_type, _similar_op(op_type)))
        desc = _c.TF_NewOperation(self._c, op_type.encode(), name.encode())
        error = None
        try:
            for one in inputs:
                if isinstance(one, (list, tuple)):
                    _c.TF_AddInputList(desc, _c.output_array([t._as_tf_output() for t in one]), len(one))
                else:
                    _c.TF_AddInput(desc, _c.Output(one.op._c, one.value_index))
            for op in controls:
                _c.TF_AddControlInput(desc, op._c)
            ask = self._describe(desc, op_type, table, attrs)
        except Exception as failure:
            error = failure
            ask = False
        with _c.Status() as status:
            pointer = _c.TF_FinishOperation(desc, status)
            if error is not None or not pointer:
                message = _c.lib_message(status).decode("utf-8", "replace")
                _c.lib_set_status(status, 0, b"")
        if error is not None:
            raise error
        if not pointer:
            raise ValueError(_reworded(message))
        op = self._register(Operation(self, pointer, _where()))
        override = self._gradient_overrides.get(op_type)
        if override is not None or op_type in _own_gradient_types:
            self._own_gradients[pointer] = override or op_type
        if ask:
            self._apply_device_functions(op)
        return op

    def _describe(self, desc, op_type, table, attrs):
        """Attributes, device and colocation of an operation that is being made. Whether devices are to be asked."""
        for key, value in attrs.items():
            if value is None:
                continue
            attr = table.attrs.get(key)
            setter = _set_proto if attr is None or hasattr(value, "WhichOneof") and attr.type not in ("tensor",) else \
                _SETTERS.get(attr.type, _set_proto)
            setter(desc, key.encode(), value)
        if self._container and "container" in table.attrs and not attrs.get("container"):
            _set_string(desc, b"container", self._container)
        override = self._gradient_overrides.get(op_type)
        if override is not None:
            _set_string(desc, b"_gradient_op_type", override)
        if op_type in self._labels:
            _set_string(desc, b"_kernel", self._labels[op_type])
        for key, value in self._attr_scopes.items():
            _set_proto(desc, key.encode(), value)
        stacks = self._stacks
        if stacks.colocation:
            groups = []
            for op in stacks.colocation:
                groups += [g for g in op.colocation_groups() if g not in groups]
            if "_class" not in attrs:
                _set_string_list(desc, b"_class", sorted(groups))
            device = stacks.colocation[-1].device
            if device:
                _c.TF_SetDevice(desc, device.encode())
        if not stacks.device:
            return False
        device, ask = self._device_for_strings()
        if device:
            _c.TF_SetDevice(desc, device.encode())
        return ask

    def create_op(self, op_type, inputs, dtypes=None, input_types=None, name=None, attrs=None, op_def=None,
                  compute_shapes=True, compute_device=True):
        """Adds a node from flat inputs, as graph-rewriting programs do."""
        table, grouped, at = self._op(op_type), [], 0
        inputs = list(inputs)
        attrs = dict(attrs or {})
        plain = {k: op_table.attr_value(v) if hasattr(v, "WhichOneof") else v for k, v in attrs.items()}
        for arg in (table.inputs if table else ()):
            if arg.number_attr:
                n = plain[arg.number_attr]
            elif arg.type_list_attr:
                n = len(plain[arg.type_list_attr])
            else:
                grouped.append(inputs[at])
                at += 1
                continue
            grouped.append(inputs[at:at + n])
            at += n
        return self._new_operation(op_type, grouped, name, attrs)

    _create_op_internal = create_op


def _similar_op(op_type):
    import difflib
    close = difflib.get_close_matches(op_type, op_table.names(), 1)
    return ". Did you mean '%s'?" % close[0] if close else ""


def _reworded(message):
    return message


_own_gradient_types = set()   # op types with a gradient registered in Python


def _op_of(value):
    if isinstance(value, Operation):
        return value
    if isinstance(value, Tensor):
        return value.op
    if hasattr(value, "op") and isinstance(value.op, Operation):
        return value.op
    from .convert import convert_to_tensor_or_indexed_slices
    return convert_to_tensor_or_indexed_slices(value, as_ref=True).op


# ---------------------------------------- the default graph

class _DefaultGraphs(threading.local):
    def __init__(self):
        self.stack = []


_default_graphs = _DefaultGraphs()
_global_default = None


def get_default_graph():
    """The graph that functions add to: the innermost as_default(), else one for the whole process."""
    global _global_default
    stack = _default_graphs.stack
    if stack:
        return stack[-1]
    if _global_default is None:
        _global_default = Graph()
    return _global_default


def reset_default_graph():
    """Begins a new global default graph."""
    global _global_default
    if _default_graphs.stack:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
                             "exit the nesting and create a new graph.")
    _global_default = None


# ---------------------------------------- at once, or in a graph

class _Scopes(threading.local):
    def __init__(self):
        self.stack = []


_eager_scopes = _Scopes()
_eager = None   # whether ops run as they are called where no graph is being built; None: nobody has asked yet


def executing_eagerly():
    """Whether ops run as they are called: eager mode is on and no graph is being built.

    `import millrace as tf` turns it on, `import millrace.compat.v1 as tf` leaves it off: whichever is used first decides.
    """
    return _eager is True and not _default_graphs.stack


def decide_eager(on, anew=False):
    """Turns eager mode on or off, where that is not decided yet or `anew`."""
    global _eager
    if _eager is None or anew:
        _eager = on


@contextlib.contextmanager
def eager_mode():
    """Eager mode for whoever traces: variables are made at once, whatever the program has chosen."""
    global _eager
    old, _eager = _eager, True
    try:
        yield
    finally:
        _eager = old


def _of_graph(values):
    """Whether one of these is a tensor or an operation of a graph."""
    for value in values:
        if type(value) is Tensor or type(value) is Operation:
            return True
        if isinstance(value, (list, tuple)) and _of_graph(value):
            return True
    return False


def _eager_scope(name):
    stack = _eager_scopes.stack
    outer = stack[-1] + "/" if stack and stack[-1] else ""
    stack.append(name[:-1] if name and name[-1] == "/" else outer + (name or ""))
    return stack[-1] + "/"


def has_default_graph():
    return bool(_default_graphs.stack) or _global_default is not None


def _assert_same_graph(first, item):
    if first.graph is not item.graph:
        raise ValueError("%s must be from the same graph as %s." % (item, first))


def _get_graph_from_inputs(op_input_list, graph=None):
    """The graph of the inputs, or the default one. ValueError where they come from several."""
    current = get_default_graph()
    if current.building_function:
        return current
    first = None
    for item in op_input_list:
        if isinstance(item, (list, tuple)):
            for inner in item:
                if isinstance(inner, (Tensor, Operation)):
                    item = inner
                    break
        if not hasattr(item, "graph") or not isinstance(getattr(item, "graph", None), Graph):
            continue
        if graph is not None and item.graph is not graph:
            raise ValueError("%s is not from the passed-in graph." % (item,))
        if first is None:
            first = item
        elif first.graph is not item.graph:
            _assert_same_graph(first, item)
    return graph or (first.graph if first is not None else get_default_graph())


# ---------------------------------------- functions on the default graph

class name_scope:
    """`with name_scope(name, default_name, values) as scope:` prefixes the names of operations made inside."""

    def __init__(self, name=None, default_name=None, values=None):
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError("`default_name` type (%s) is not a string type. You likely meant to pass this into the "
                            "`values` kwarg." % type(default_name))
        self._name, self._default_name, self._values = default_name if name is None else name, default_name, values
        self._given = name

    name = property(lambda self: self._name)

    def __enter__(self):
        if self._given is None and self._default_name is None and self._values is not None:
            raise ValueError("At least one of name (%s) and default_name (%s) must be provided." % (None, None))
        self._scope = None
        if executing_eagerly() and not _of_graph(self._values or ()):
            return _eager_scope(self._name)
        graph = _get_graph_from_inputs(self._values or ())
        self._default = graph.as_default()
        self._default.__enter__()
        try:
            self._scope = graph.name_scope(self._name)
            return self._scope.__enter__()
        except BaseException:
            self._default.__exit__(*sys.exc_info())
            raise

    def __exit__(self, *exc):
        if self._scope is None:
            _eager_scopes.stack.pop()
            return
        self._scope.__exit__(*exc)
        self._default.__exit__(*exc)


name_scope_v1 = name_scope


def op_scope(values, name, default_name=None):
    return name_scope(name, default_name, values)


def device(device_name_or_function):
    if executing_eagerly():
        return contextlib.nullcontext()
    return get_default_graph().device(device_name_or_function)


def colocate_with(op, ignore_existing=False):
    if executing_eagerly():
        return contextlib.nullcontext()
    return get_default_graph().colocate_with(op, ignore_existing)


def control_dependencies(control_inputs):
    if executing_eagerly():
        return contextlib.nullcontext()
    return get_default_graph().control_dependencies(control_inputs)


def container(container_name):
    return get_default_graph().container(container_name)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


def set_random_seed(seed):
    if executing_eagerly():
        from .eager import execute
        execute.set_seed(seed)
    else:
        get_default_graph().seed = seed


def get_name_scope():
    if executing_eagerly():
        return _eager_scopes.stack[-1] if _eager_scopes.stack else ""
    return get_default_graph().get_name_scope()


def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
    """How what a collection holds is written into meta graphs and read from them."""
    from .train import meta_graph
    meta_graph.register_proto_function(collection_name, proto_type, to_proto, from_proto)


def strip_name_scope(name, export_scope):
    if not export_scope:
        return name
    if export_scope[-1] == "/":
        export_scope = export_scope[:-1]
    return re.sub(r"([\^]|loc:@|^)" + re.escape(export_scope) + r"[\/]+(.*)", r"\1\2", name, count=1)


def prepend_name_scope(name, import_scope):
    if not import_scope:
        return name
    if import_scope[-1] == "/":
        import_scope = import_scope[:-1]
    return re.sub(r"([\^]|loc:@|^)(.*)", lambda m: m.group(1) + import_scope + "/" + m.group(2), name, count=1)


@contextlib.contextmanager
def init_scope():
    """Operations made inside depend on nothing of the scopes around, and go to the graph outside of all functions; within a
    function of eager mode that is being traced they run at once."""
    graph = get_default_graph()
    if graph._traced:
        stack, depth = _default_graphs.stack, len(_default_graphs.stack)
        while depth and stack[depth - 1]._traced:
            depth -= 1
        _default_graphs.stack = stack[:depth]
        try:
            with eager_mode() if not depth else contextlib.nullcontext():
                yield
        finally:
            _default_graphs.stack = stack
        return
    if executing_eagerly():
        yield
        return
    scope = graph.get_name_scope()
    while graph.building_function and getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(scope + "/" if scope else None):
        yield


def get_seed(op_seed):
    """(graph seed, op seed) of a random operation, by TensorFlow's rule."""
    if executing_eagerly():
        from .eager import execute
        return execute.get_seed(op_seed)
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            op_seed = graph._last_id
        seeds = graph.seed, op_seed
    else:
        seeds = (87654321, op_seed) if op_seed is not None else (None, None)
    if seeds == (None, None):
        return 0, 0
    seeds = tuple((0 if s is None else int(s)) % (2 ** 63 - 1) for s in seeds)
    return (0, 2 ** 31 - 1) if seeds == (0, 0) else seeds
