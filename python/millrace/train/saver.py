"""saver — Saver: variables into checkpoints and back; the `checkpoint` file; meta graphs; readers of checkpoints."""
import ctypes
import os
import time

from .. import _c, dtypes, messages, tensor_shape, tensors, text_format, variables
import millrace.errors as errors
from ..array_ops import reshape
from ..constant import constant
from ..control_flow import group, no_op, with_dependencies
from ..convert import convert_to_tensor
from ..graph import GraphKeys, Tensor, control_dependencies, get_default_graph, name_scope
from ..ops_apply import apply, apply_op


# ---------------------------------------- what is saved

class SaveSpec:
    """One tensor to save: its slice of a larger one, and the name in the file."""

    def __init__(self, tensor, slice_spec, name, dtype=None, device=None):
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = dtype or (tensor.dtype if not callable(tensor) else None)
        self.device = device

    @property
    def tensor(self):
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """What a saver saves: `op`, `specs`, `name`, and `restore(restored_tensors, restored_shapes)`."""

    def __init__(self, op, specs, name):
        self.op, self.specs, self.name = op, specs, name

    device = property(lambda self: self.specs[0].device or self.op.device)

    def restore(self, restored_tensors, restored_shapes):
        raise NotImplementedError


class _VariableSaveable(SaveableObject):
    def __init__(self, var, name, slice_spec=""):
        if getattr(var, "_is_resource", False):
            read = lambda: var._read()
        else:
            tensor = var._ref() if hasattr(var, "_ref") else var
            read = lambda: tensor
        self._var = var
        op = var.op if not isinstance(var, Tensor) else var.op
        super().__init__(var, [SaveSpec(read, slice_spec, name, dtype=var.dtype.base_dtype, device=op.device)], name)

    def restore(self, restored_tensors, restored_shapes):
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        if getattr(self._var, "_is_resource", False):
            shape = self._var.shape
            if shape.is_fully_defined():
                value.set_shape(shape)
            return apply("AssignVariableOp", None, {"resource": self._var.handle, "value": value})
        ref = self._var._ref() if hasattr(self._var, "_ref") else self._var
        full = restored_shapes is None and ref.shape.is_fully_defined()
        return apply("Assign", None, {"ref": ref, "value": value, "validate_shape": full})


def _is_variable(v):
    return isinstance(v, variables.Variable) or isinstance(v, Tensor) and v.dtype._is_ref_dtype


def _saveables(var_list):
    """SaveableObjects of a list, or of a dict by names. TypeError, ValueError."""
    if isinstance(var_list, dict):
        items = sorted(var_list.items())
    else:
        items, parts = [], {}
        for v in var_list:
            info = getattr(v, "_save_slice_info", None)
            if isinstance(v, variables.PartitionedVariable):
                items.append((v.name, v))
            elif isinstance(v, SaveableObject):
                items.append((v.name, v))
            elif not _is_variable(v):
                raise TypeError("Variable to save is not a Variable: %s" % (v,))
            elif info is not None:
                if info.full_name not in parts:
                    parts[info.full_name] = []
                    items.append((info.full_name, parts[info.full_name]))
                parts[info.full_name].append(v)
            else:
                items.append((v.op.name, v))
        items.sort(key=lambda i: i[0])
    names, out, seen = set(), [], set()
    for name, v in items:
        if name in names and not isinstance(v, list):
            raise ValueError("At least two variables have the same name: %s" % name)
        names.add(name)
        for one in v if isinstance(v, (list, tuple, variables.PartitionedVariable)) else [v]:
            if isinstance(one, SaveableObject):
                out.append(one)
                continue
            if not _is_variable(one):
                raise TypeError("Variable to save is not a Variable: %s" % (one,))
            if id(one) in seen:
                raise ValueError("The same saveable will be restored with two names: %s" % name)
            seen.add(id(one))
            info = getattr(one, "_save_slice_info", None)
            out.append(_VariableSaveable(one, name, info.spec if info is not None else ""))
    return out


# ---------------------------------------- checkpoint state

def _state_path(checkpoint_dir, latest_filename):
    return os.path.join(checkpoint_dir, latest_filename or "checkpoint")


class CheckpointState:
    """The file `checkpoint`: the newest prefix and all that are kept."""

    def __init__(self, model_checkpoint_path="", all_model_checkpoint_paths=(), all_model_checkpoint_timestamps=(),
                 last_preserved_timestamp=0.0):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths)
        self.all_model_checkpoint_timestamps = list(all_model_checkpoint_timestamps)
        self.last_preserved_timestamp = last_preserved_timestamp

    def __str__(self):
        quote = lambda s: text_format._quote(s.encode())
        lines = ["model_checkpoint_path: %s" % quote(self.model_checkpoint_path)]
        lines += ["all_model_checkpoint_paths: %s" % quote(p) for p in self.all_model_checkpoint_paths]
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text):
        state = cls()
        reader = text_format._Reader(text)
        while reader.peek() is not None:
            name = reader.next()
            if reader.next() != ":":
                reader.fail("a colon is wanted")
            token = reader.next()
            if name == "model_checkpoint_path":
                state.model_checkpoint_path = text_format._unquote(token).decode()
            elif name == "all_model_checkpoint_paths":
                state.all_model_checkpoint_paths.append(text_format._unquote(token).decode())
            elif name == "all_model_checkpoint_timestamps":
                state.all_model_checkpoint_timestamps.append(float(token))
        return state


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None,
                                    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None):
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if not os.path.isabs(save_dir):
        relative = lambda p: p if os.path.isabs(p) else os.path.relpath(p, save_dir)
        paths, model_checkpoint_path = [relative(p) for p in paths], relative(model_checkpoint_path)
    return CheckpointState(model_checkpoint_path, paths)


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                            all_model_checkpoint_timestamps=None, last_preserved_timestamp=None):
    _write_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename, False)


def _write_state(save_dir, path, all_paths, latest_filename, relative):
    if relative:
        shorten = lambda p: os.path.relpath(p, save_dir)
        path, all_paths = shorten(path), [shorten(p) for p in all_paths or []]
    state = generate_checkpoint_state_proto(save_dir, path, all_paths)
    file = _state_path(save_dir, latest_filename)
    temporary = "%s.tmp%d" % (file, os.getpid())
    with open(temporary, "w") as f:
        f.write(str(state))
    os.replace(temporary, file)


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the folder's `checkpoint` file says, with paths that can be opened; None without one."""
    file = _state_path(checkpoint_dir, latest_filename)
    try:
        with open(file) as f:
            state = CheckpointState.parse(f.read())
    except OSError:
        return None
    except text_format.ParseError:
        return None
    if not state.model_checkpoint_path:
        return None
    full = lambda p: p if os.path.isabs(p) else os.path.join(checkpoint_dir, p)
    state.model_checkpoint_path = full(state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [full(p) for p in state.all_model_checkpoint_paths]
    return state


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint in a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state and checkpoint_exists(state.model_checkpoint_path) else None


def checkpoint_exists(checkpoint_prefix):
    import glob
    escaped = glob.escape(checkpoint_prefix)
    return os.path.exists(checkpoint_prefix + ".index") or bool(glob.glob(escaped + "-?????-of-?????")) or \
        os.path.isfile(checkpoint_prefix)


def get_checkpoint_mtimes(checkpoint_prefixes):
    return [os.path.getmtime(p + ".index") for p in checkpoint_prefixes if os.path.exists(p + ".index")]


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    import glob
    for pattern in (".index", ".data-?????-of-?????", "." + meta_graph_suffix):
        for file in glob.glob(glob.escape(checkpoint_prefix) + pattern):
            os.remove(file)


# ---------------------------------------- reading

class CheckpointReader:
    """A checkpoint's tensors by name. NotFoundError, DataLossError."""

    def __init__(self, filename):
        self._pointer = None
        self._pointer = _c.call("TF_NewCheckpointReader", _c.encode(filename))

    def __del__(self):
        if self._pointer:
            _c.TF_DeleteCheckpointReader(self._pointer)

    def _names(self):
        return [_c.TF_CheckpointReaderGetVariable(self._pointer, i).decode()
                for i in range(_c.TF_CheckpointReaderSize(self._pointer))]

    def has_tensor(self, name):
        return bool(_c.TF_CheckpointReaderHasTensor(self._pointer, _c.encode(name)))

    def get_tensor(self, name):
        if not self.has_tensor(name):
            raise errors.NotFoundError(None, None, "Key %s not found in checkpoint" % name)
        return tensors.take(_c.call("TF_CheckpointReaderGetTensor", self._pointer, _c.encode(name)))

    def _shape(self, name):
        n = _c.TF_CheckpointReaderGetVariableNumDims(self._pointer, name.encode())
        dims = (ctypes.c_int64 * max(n, 0))()
        _c.call("TF_CheckpointReaderGetVariableShape", self._pointer, name.encode(), dims, n)
        return list(dims)

    def get_variable_to_shape_map(self):
        return {name: self._shape(name) for name in self._names()}

    def get_variable_to_dtype_map(self):
        return {name: dtypes.as_dtype(_c.TF_CheckpointReaderGetVariableDataType(self._pointer, name.encode()))
                for name in self._names()}

    def debug_string(self):
        return "".join("%s (DT_%s) %s\n" % (n, self.get_variable_to_dtype_map()[n].name.upper(), s)
                       for n, s in sorted(self.get_variable_to_shape_map().items())).encode()


NewCheckpointReader = CheckpointReader


def _file_of(ckpt_dir_or_file):
    found = latest_checkpoint(ckpt_dir_or_file) if os.path.isdir(ckpt_dir_or_file) else ckpt_dir_or_file
    if found is None:
        raise ValueError("Couldn't find 'checkpoint' file or checkpoints in given directory %s" % ckpt_dir_or_file)
    return found


def load_checkpoint(ckpt_dir_or_file):
    return CheckpointReader(_file_of(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file, name):
    name = name[:-2] if name.endswith(":0") else name
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file):
    """[(name, shape)] of a checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Changes the initializers of variables to read from a checkpoint. `assignment_map`: names or scopes, to names,
    scopes or variables."""
    from .. import variable_scope
    file = _file_of(ckpt_dir_or_file)
    reader = CheckpointReader(file)
    saved = reader.get_variable_to_shape_map()
    store = variable_scope._get_default_variable_store()
    for source, target in assignment_map.items():
        if isinstance(target, variables.Variable):
            _init_one(target, source, file, saved)
        elif isinstance(target, str) and target in store._vars:
            _init_one(store._vars[target], source, file, saved)
        elif isinstance(target, (list, tuple)):
            for part in target:
                _init_one(part, source, file, saved)
        else:
            below = "" if target == "/" else target.rstrip("/") + "/"
            prefix = "" if source == "/" else source.rstrip("/") + "/"
            found = [(n, v) for n, v in store._vars.items() if n.startswith(below)]
            if not found:
                raise ValueError("Assignment map with scope only name %s should map to scope only %s. Should be "
                                 "'scope/': 'other_scope/'." % (source, target))
            for name, var in found:
                key = prefix + name[len(below):]
                if key in saved:
                    _init_one(var, key, file, saved)


def _init_one(var, key, file, saved):
    if key not in saved:
        raise ValueError("Tensor %s is not found in %s checkpoint %s" % (key, file, sorted(saved)))
    if list(var.shape.as_list()) != saved[key]:
        raise ValueError("Shape of variable %s (%s) doesn't match with shape of tensor %s (%s) from checkpoint reader." % (
            var.name, var.shape, key, saved[key]))
    with name_scope("checkpoint_initializer"), control_dependencies(None):
        value = apply("RestoreV2", None, {"prefix": file, "tensor_names": [key], "shape_and_slices": [""],
                                          "dtypes": [var.dtype.base_dtype]})[0]
        value.set_shape(var.shape)
        assign = apply_op("AssignVariableOp", None, {"resource": var.handle, "value": value}) if var._is_resource else \
            apply("Assign", None, {"ref": var._ref(), "value": value}).op
    var._initializer_op, var._initial_value = assign, value


# ---------------------------------------- the saver

class Saver:
    """Saves variables and restores them: `save(session, path, global_step)`, `restore(session, path)`."""

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
                 name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False,
                 allow_empty=False, write_version=2, pad_step_number=False, save_relative_paths=False, filename=None):
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                             "var_list=None.")
        self._var_list, self._reshape, self._sharded = var_list, reshape, sharded
        self._max_to_keep, self._keep_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._name, self._allow_empty, self._pad = name, allow_empty, pad_step_number
        self._relative, self._filename = save_relative_paths, filename
        self._restore_sequentially = restore_sequentially
        self._is_built, self._is_empty = False, False
        self._last_checkpoints, self._checkpoints_to_be_deleted = [], []
        self._next_checkpoint_time = time.time() + self._keep_hours * 3600
        self.saver_def = None
        if saver_def is not None:
            self.saver_def = saver_def
            self._max_to_keep = saver_def.max_to_keep if max_to_keep == 5 else max_to_keep
            self._is_built = True
        elif not defer_build:
            self.build()

    def build(self):
        """Adds the saver's operations to the graph."""
        if self._is_built:
            return
        self._is_built = True
        if self._var_list is None:
            self._var_list = variables._all_saveable_objects()
        if not self._var_list:
            if self._allow_empty:
                self._is_empty = True
                return
            raise ValueError("No variables to save")
        saveables = _saveables(self._var_list)
        with name_scope(self._name, "save", []), get_default_graph().colocate_with(None, True), control_dependencies(None):
            self._build_ops(saveables)

    def _build_ops(self, saveables):
        scalar = tensor_shape.TensorShape([])
        default = constant(self._filename or "model", name="filename/input")
        file = apply("PlaceholderWithDefault", "filename", {"input": default, "shape": scalar})
        path = apply("PlaceholderWithDefault", "Const", {"input": file, "shape": scalar})
        specs = [spec for s in saveables for spec in s.specs]
        names, slices = [s.name for s in specs], [s.slice_spec for s in specs]
        save = apply_op("SaveV2", "SaveV2", {"prefix": path, "tensor_names": names, "shape_and_slices": slices,
                                             "tensors": [convert_to_tensor(s.tensor) for s in specs]})
        with control_dependencies([save]):
            saved = apply("Identity", "control_dependency", {"input": path})
        restored = apply_op("RestoreV2", "RestoreV2", {"prefix": path, "tensor_names": names, "shape_and_slices": slices,
                                                       "dtypes": [s.dtype.base_dtype for s in specs]}).outputs
        assigns, at = [], 0
        for saveable in saveables:
            values = list(restored[at:at + len(saveable.specs)])
            at += len(saveable.specs)
            shapes = None
            if self._reshape:
                shapes = [apply("Shape", None, {"input": s.tensor}) if not s.tensor.shape.is_fully_defined() else
                          constant(s.tensor.shape.as_list(), dtypes.int32) for s in saveable.specs]
            controls = assigns[-1:] if self._restore_sequentially else []
            with control_dependencies([getattr(a, "op", a) for a in controls]):
                assigns.append(saveable.restore(values, shapes))
        all_restored = group(*[a.op if hasattr(a, "op") and not hasattr(a, "node_def") else a for a in assigns],
                             name="restore_all")
        self.saver_def = messages.SaverDef(
            filename_tensor_name=path.name, save_tensor_name=saved.name, restore_op_name=all_restored.name,
            max_to_keep=self._max_to_keep or 0, keep_checkpoint_every_n_hours=self._keep_hours, sharded=self._sharded,
            version=2)

    # ---- the files kept

    last_checkpoints = property(lambda self: [p for p, _ in self._last_checkpoints])

    def set_last_checkpoints(self, last_checkpoints):
        self._last_checkpoints = [(p, time.time()) for p in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        self._last_checkpoints = [(p, os.path.getmtime(p + ".index")) for p in checkpoint_paths
                                  if os.path.exists(p + ".index")]

    def as_saver_def(self):
        return self.saver_def

    def to_proto(self, export_scope=None):
        from ..graph import strip_name_scope
        if export_scope is None:
            return self.saver_def
        proto = self.saver_def._copy()
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(proto, field, strip_name_scope(getattr(proto, field), export_scope))
        return proto

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        from ..graph import prepend_name_scope
        proto = saver_def._copy()
        if import_scope:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(proto, field, prepend_name_scope(getattr(proto, field), import_scope))
        return Saver(saver_def=proto, name=import_scope)

    def _remember(self, prefix):
        if not self._max_to_keep:
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != prefix]
        self._last_checkpoints.append((prefix, time.time()))
        while len(self._last_checkpoints) > self._max_to_keep:
            old, when = self._last_checkpoints.pop(0)
            if when > self._next_checkpoint_time:
                self._next_checkpoint_time += self._keep_hours * 3600
                continue
            remove_checkpoint(old)

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta",
             write_meta_graph=True, write_state=True, strip_default_attrs=False, save_debug_info=False):
        """Writes a checkpoint and gives its prefix, `save_path` with "-step" where a step is given."""
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if latest_filename is None:
            latest_filename = "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        prefix = os.fspath(save_path)
        if global_step is not None:
            if not isinstance(global_step, int):
                value = global_step.eval(session=sess) if hasattr(global_step, "eval") else global_step
                global_step = int(value)
            prefix = "%s-%08d" % (prefix, global_step) if self._pad else "%s-%d" % (prefix, global_step)
        elif os.path.basename(prefix) == latest_filename and not self._sharded:
            raise ValueError("'latest_filename' collides with 'save_path': '%s' and '%s'" % (latest_filename, prefix))
        folder = os.path.dirname(prefix)
        if folder and not os.path.isdir(folder):
            raise ValueError("Parent directory of %s doesn't exist, can't save." % save_path)
        if not self._is_empty:
            sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
            if write_state:
                self._remember(prefix)
                _write_state(folder or ".", prefix, self.last_checkpoints or [prefix], latest_filename, self._relative)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph("%s.%s" % (prefix, meta_graph_suffix))
        return None if self._is_empty else prefix

    def export_meta_graph(self, filename=None, collection_list=None, as_text=False, export_scope=None,
                          clear_devices=False, clear_extraneous_savers=False, strip_default_attrs=False,
                          save_debug_info=False):
        from . import meta_graph
        return meta_graph.export_meta_graph(filename, saver_def=self.saver_def, collection_list=collection_list,
                                            as_text=as_text, export_scope=export_scope, clear_devices=clear_devices)[0]

    def restore(self, sess, save_path):
        """Gives the variables the values of a checkpoint. ValueError where there is none of that name."""
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = os.fspath(save_path)
        if not checkpoint_exists(save_path):
            raise ValueError("The passed save_path is not a valid checkpoint: " + save_path)
        sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: save_path})


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    from . import meta_graph
    return meta_graph.import_meta_graph(meta_graph_or_file, clear_devices, import_scope, **kwargs)


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None,
                      as_text=False, graph=None, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False, **kwargs):
    from . import meta_graph
    return meta_graph.export_meta_graph(filename, meta_info_def, graph_def, saver_def, collection_list, as_text, graph,
                                        export_scope, clear_devices)[0]


def _get_saver_or_default():
    """The saver of the graph's collection, made where there is none. RuntimeError where there are several."""
    found = get_default_graph().get_collection(GraphKeys.SAVERS)
    if len(found) > 1:
        raise RuntimeError("More than one item in collection %s. Please indicate which one to use by passing it to the "
                           "constructor." % GraphKeys.SAVERS)
    if found:
        return found[0]
    saver = Saver(sharded=True, allow_empty=True)
    get_default_graph().add_to_collection(GraphKeys.SAVERS, saver)
    return saver


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """The prefixes of checkpoints as they appear; ends when none appears within `timeout` seconds."""
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if not timeout_fn or timeout_fn():
                return
            continue
        start, path = time.time(), new
        yield path
        rest = start + min_interval_secs - time.time()
        if rest > 0:
            time.sleep(rest)


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """The newest checkpoint once it is another than `last_checkpoint`; None after `timeout` seconds."""
    until = time.time() + timeout if timeout is not None else None
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if until is not None and time.time() + seconds_to_sleep > until:
            return None
        time.sleep(seconds_to_sleep)
