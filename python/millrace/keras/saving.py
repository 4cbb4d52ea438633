"""saving — models as SavedModels, and weights as `.weights.h5` files of Keras' layout."""
import ctypes
import importlib
import json
import os

import numpy as np

from .. import _c, nest
from ..eager.func_graph import FuncGraph
from ..convert import convert_to_tensor
from ..graph import Graph
from .layer import Layer, snake

_registered = {}


def register_keras_serializable(package="Custom", name=None):
    """A decorator: objects of the class can be loaded without naming it."""
    def decorated(cls):
        _registered[name or cls.__name__] = cls
        return cls
    return decorated


def get_custom_objects():
    """{name: class} of what was registered, to be added to."""
    return _registered


class CustomObjectScope:
    """Classes that are known by their names inside of a `with`."""

    def __init__(self, *args):
        self._more = {k: v for one in args for k, v in one.items()}

    def __enter__(self):
        self._before = dict(_registered)
        _registered.update(self._more)
        return self

    def __exit__(self, *exc):
        _registered.clear()
        _registered.update(self._before)


custom_object_scope = CustomObjectScope


def get_registered_object(name, custom_objects=None, module_objects=None):
    for known in (custom_objects, _registered, module_objects):
        if known and name in known:
            return known[name]
    return None


def get_registered_name(obj):
    return next((name for name, one in _registered.items() if one is obj), obj.__name__)


def serialize_keras_object(instance):
    """{"class_name", "config"}, or the name of a function."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": get_registered_name(type(instance)), "config": instance.get_config()}
    return instance.__name__


def deserialize_keras_object(identifier, module_objects=None, custom_objects=None, printable_module_name="object"):
    """What serialize_keras_object wrote."""
    name = identifier["class_name"] if isinstance(identifier, dict) else identifier
    found = get_registered_object(name, custom_objects, module_objects)
    if found is None:
        raise ValueError("Unknown %s: %s" % (printable_module_name, name))
    if not isinstance(identifier, dict):
        return found() if isinstance(found, type) else found
    return found.from_config(identifier["config"]) if hasattr(found, "from_config") else found(**identifier["config"])


def serialize(layer):
    """A layer as {"class_name", "config"}."""
    return {"class_name": get_registered_name(type(layer)), "config": layer.get_config()}


def _class(name, custom_objects=None):
    if custom_objects and name in custom_objects:
        return custom_objects[name]
    if name in _registered:
        return _registered[name]
    models = importlib.import_module("millrace.keras.model")
    if hasattr(models, name):
        return getattr(models, name)
    return getattr(importlib.import_module("millrace.keras.layers"), name)


def layer_of(description, custom_objects=None):
    """A layer from {"class_name", "config"}."""
    kind = _class(description["class_name"], custom_objects)
    config = {k: layer_of(v, custom_objects) if isinstance(v, dict) and set(v) == {"class_name", "config"} and
              k in ("layer", "cell", "backward_layer") else v for k, v in description["config"].items()}
    return kind.from_config(config)


deserialize = layer_of


def model_from_json(text, custom_objects=None):
    return layer_of(json.loads(text), custom_objects)


# ---------------------------------------- weights, as HDF5

def _h5py():
    try:
        import h5py
    except ImportError:
        raise ImportError("weights in .h5 files need the package h5py") from None
    return h5py


def _places(layer, path=""):
    """(group, layer) of a layer and of those within, as Keras names the groups of a file."""
    yield path, layer
    is_model = hasattr(layer, "_compiled") and hasattr(layer, "_row") or hasattr(layer, "_order")
    if is_model:
        yield from _contained(layer.layers, path + "/layers")
        return
    for name in sorted(vars(layer)):
        value = vars(layer)[name]
        if name.startswith("_"):
            continue
        if isinstance(value, Layer):
            if not (name == "layer" and "forward_layer" in vars(layer)):
                yield from _places(value, "%s/%s" % (path, name))
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Layer) for v in value):
            yield from _contained([v for v in value if isinstance(v, Layer)], "%s/%s" % (path, name))


def _contained(layers, path):
    used = {}
    for layer in layers:
        name = snake(type(layer).__name__)
        n = used.get(name, 0)
        used[name] = n + 1
        yield from _places(layer, "%s/%s" % (path, name if not n else "%s_%d" % (name, n)))


def save_weights(model, filepath, overwrite=True):
    """Writes `NAME.weights.h5`."""
    if not filepath.endswith(".weights.h5"):
        raise ValueError("The filename must end in `.weights.h5`. Received: filepath=%s" % filepath)
    if os.path.exists(filepath) and not overwrite:
        raise FileExistsError(filepath)
    h5py = _h5py()
    partial = filepath + ".partial"
    with h5py.File(partial, "w") as f:
        for path, layer in _places(model):
            group = f.require_group((path or "") + "/vars")
            for i, w in enumerate(layer._weights):
                group.create_dataset(str(i), data=w.numpy())
    os.replace(partial, filepath)


def load_weights(model, filepath):
    """Reads what save_weights, or Keras, wrote for the same layers. ValueError where they differ."""
    if os.path.isdir(filepath):
        return _load_variables(model, filepath)
    with _h5py().File(filepath, "r") as f:
        for path, layer in _places(model):
            group = f.get((path or "") + "/vars")
            there = len(group) if group is not None else 0
            if there != len(layer._weights) and layer._weights:
                raise ValueError("Layer '%s' expected %d variables, but received %d variables during loading. Expected: %s" % (
                    layer.name, len(layer._weights), there, [w.name for w in layer._weights]))
            for i, w in enumerate(layer._weights):
                value = np.asarray(group[str(i)])
                if value.shape != tuple(w.shape):
                    raise ValueError("'%s' has shape %s in %s, not %s" % (w.path, value.shape, filepath, tuple(w.shape)))
                w.assign(value)


# ---------------------------------------- SavedModels

class _Signature(ctypes.Structure):
    """mr_signature"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("input_names", ctypes.POINTER(ctypes.c_char_p)),
                ("inputs", ctypes.POINTER(_c.Output)), ("num_inputs", ctypes.c_int),
                ("output_names", ctypes.POINTER(ctypes.c_char_p)), ("outputs", ctypes.POINTER(_c.Output)),
                ("num_outputs", ctypes.c_int)]


class _Options(ctypes.Structure):
    """mr_saved_model_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("tags", ctypes.c_void_p), ("num_tags", ctypes.c_int),
                ("signatures", ctypes.POINTER(_Signature)), ("num_signatures", ctypes.c_int), ("asset_paths", ctypes.c_void_p),
                ("asset_edges", ctypes.c_void_p), ("num_assets", ctypes.c_int), ("init", ctypes.c_void_p),
                ("whole_graph", ctypes.c_int)]


class _SavedGraph(FuncGraph):
    """A graph whose variables are named as their nodes: so they are called in the checkpoint."""

    def _handle_attrs(self, variable, name):
        key, n = name, 0
        while key in self.__dict__.setdefault("_keys_used", set()):
            n += 1
            key = "%s_%d" % (name, n)
        self._keys_used.add(key)
        self.__dict__.setdefault("keys", {})[id(variable)] = key
        return dict(variable._handle_attrs(), shared_name=key)


def _arguments(model):
    """[(name, shape, dtype)] of what the model takes."""
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise ValueError("Model %s does not know its inputs: call it on data, or give an Input, before saving" % model.name)
    return [(t.name, t.shape, t.dtype) for t in inputs]


def save_as_saved_model(model, folder):
    """Writes the model's inference as a SavedModel with the signature serving_default."""
    from ..session import Session
    graph = _SavedGraph("saved")
    with graph.as_default():
        inputs = [graph.argument(dtype, shape, name.replace(":", "_")) for name, shape, dtype in _arguments(model)]
        structure = getattr(model, "_inputs", None)
        given = nest.pack_sequence_as(structure, inputs) if nest.is_sequence(structure) else inputs[0]
        outputs = [convert_to_tensor(t) for t in nest.flatten(model(given, training=False))]
        variables = graph.variables()
        if graph.captured:
            raise ValueError("the model uses tensors of eager mode that are no variables; make them variables or constants")
        values = [graph.argument(v.dtype, v.shape, "value") for v in variables]
        # In no order with the reads of inference, which are there already.
        assigns = [Graph._new_operation(graph, "AssignVariableOp", [graph.variable_handle(v), value], None, {"dtype": v.dtype})
                   for v, value in zip(variables, values)]
    feeds = {value: v.numpy() for v, value in zip(variables, values)}
    with Session(graph=graph) as session:
        session.run(assigns, feeds)
        _write(session, folder, inputs, outputs, [n for n, _, _ in _arguments(model)], _output_names(model, outputs))
    return graph


def _output_names(model, outputs):
    names = getattr(model, "output_names", None) or []
    return names if len(names) == len(outputs) and len(set(names)) == len(names) else [
        "output_%d" % i for i in range(len(outputs))]


def _write(session, folder, inputs, outputs, input_names, output_names):
    strings = lambda names: (ctypes.c_char_p * len(names))(*[n.encode() for n in names])
    signature = _Signature(struct_size=ctypes.sizeof(_Signature), input_names=strings(input_names),
                           inputs=_c.output_array([t._as_tf_output() for t in inputs]), num_inputs=len(inputs),
                           output_names=strings(output_names),
                           outputs=_c.output_array([t._as_tf_output() for t in outputs]), num_outputs=len(outputs))
    options = _Options(struct_size=ctypes.sizeof(_Options), signatures=ctypes.pointer(signature), num_signatures=1)
    _c.call("mr_saved_model_write", session._session, folder.encode(), ctypes.byref(options))


def save_model(model, filepath, overwrite=True):
    """Writes a folder: a SavedModel, and in `keras.json` what load_model makes the layers of."""
    if filepath.endswith((".keras", ".h5", ".hdf5")):
        raise ValueError("models are saved as folders (SavedModels), weights as `.weights.h5`; got %s" % filepath)
    if os.path.exists(filepath) and not overwrite:
        raise FileExistsError(filepath)
    graph = save_as_saved_model(model, filepath)
    from . import optimizers
    description = {"class_name": type(model).__name__, "config": None, "keys": [
        graph.keys.get(id(v)) for v in model.weights]}
    try:
        description["config"] = model.get_config()
        if model.compiled and isinstance(model.loss, str):
            description["compile"] = {"optimizer": optimizers.serialize(model.optimizer), "loss": model.loss}
        text = json.dumps(description)
    except (TypeError, NotImplementedError, ValueError):
        description["config"] = None          # served, but not made again: a subclass without get_config
        description.pop("compile", None)
        text = json.dumps(description)
    with open(os.path.join(filepath, "keras.json"), "w") as f:
        f.write(text)


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """The model that Model.save wrote in a folder."""
    filepath = os.fspath(filepath)
    path = os.path.join(filepath, "keras.json")
    if not os.path.exists(path):
        raise ValueError("%s holds no model that Model.save wrote" % filepath)
    with open(path) as f:
        description = json.load(f)
    if description["config"] is None:
        raise ValueError("the model in %s is of a class whose get_config says nothing; make it and use load_weights" % filepath)
    model = layer_of(description, custom_objects)
    _load_variables(model, filepath)
    if compile and "compile" in description:
        model.compile(**description["compile"])
    return model


def _load_variables(model, folder):
    from ..train.saver import NewCheckpointReader
    with open(os.path.join(folder, "keras.json")) as f:
        keys = json.load(f)["keys"]
    reader = NewCheckpointReader(os.path.join(folder, "variables", "variables"))
    weights = model.weights
    if len(keys) != len(weights):
        raise ValueError("the model has %d weights, that in %s %d" % (len(weights), folder, len(keys)))
    for key, w in zip(keys, weights):
        if key is not None:
            w.assign(reader.get_tensor(key))
