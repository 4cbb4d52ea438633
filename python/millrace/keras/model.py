"""model — Input, Model (drawn or subclassed) and Sequential; what they train with is in fitting.py."""
import os

from .. import nest
from ..convert import convert_to_tensor
from .fitting import Trainer
from .layer import KerasTensor, Layer, Node, is_symbolic, plain
from .layers.basic import InputLayer


def Input(shape=None, batch_size=None, dtype=None, sparse=False, batch_shape=None, name=None, tensor=None, optional=False):
    """A KerasTensor for what will be given to a model: `shape` without the batch."""
    layer = InputLayer(shape=() if shape is None and batch_shape is None else shape, batch_size=batch_size, dtype=dtype,
                       name=name, batch_shape=batch_shape)
    made = KerasTensor(layer.batch_shape, layer.dtype, name=layer.name)
    made.node = Node(layer, (), {}, made)
    layer._nodes.append(made.node)
    return made


def _drawn(outputs, inputs):
    """The nodes between KerasTensors, each after those that it needs. ValueError where an input is missing."""
    order, done, given = [], set(), {id(t) for t in nest.flatten(inputs)}
    for start in nest.flatten(outputs):
        stack = [(start, False)]
        while stack:
            tensor, visited = stack.pop()
            node = tensor.node
            if id(tensor) in given or node is None or id(node) in done:
                continue
            if visited:
                done.add(id(node))
                order.append(node)
                continue
            if not node.inputs:
                raise ValueError("`inputs` not connected to `outputs`: %r is needed and is not among the inputs" % tensor)
            stack.append((tensor, True))
            stack.extend((t, False) for t in node.inputs)
    return order


class Model(Trainer, Layer):
    """A network with `compile`, `fit`, `evaluate`, `predict`, `save`: Model(inputs, outputs) of KerasTensors, or a subclass
    that computes in `call`.

    >>> import millrace as tf
    >>> x = tf.keras.Input([3])
    >>> tf.keras.Model(x, tf.keras.layers.Dense(2)(x)).output_shape
    (None, 2)
    """

    def __new__(cls, *args, **kwargs):
        drawn = len(args) == 2 or "outputs" in kwargs
        if drawn and cls is Model:
            return object.__new__(Functional)
        return object.__new__(cls)

    def __init__(self, *args, **kwargs):
        self._setup()
        Layer.__init__(self, **kwargs)
        self._setup_training()

    def __setattr__(self, name, value):
        if "_weights" not in self.__dict__ and "name" not in self.__dict__ and not name.startswith("_"):
            raise RuntimeError("It looks like you are subclassing `Model` and you forgot to call `super().__init__()`. Always "
                               "start with this line.")
        super().__setattr__(name, value)

    @property
    def layers(self):
        return [c for c in self._children if not isinstance(c, _Hidden)]

    def get_layer(self, name=None, index=None):
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError("No such layer: %s. Existing layers are: %s." % (name, [l.name for l in self.layers]))

    def build(self, input_shape):
        """Makes the weights for inputs of that shape."""
        if not self.built and type(self).call is not Model.call and input_shape is not None:
            shape = input_shape if isinstance(input_shape, list) else tuple(input_shape)
            if isinstance(shape, tuple):
                self.compute_output_spec(KerasTensor(shape, self._dtype, name="spec"))
        self.built = True

    def _build_at(self, shapes, args, kwargs):
        object.__setattr__(self, "built", True)

    def call(self, inputs, training=None, mask=None):
        raise NotImplementedError("Model %s does not have a `call()` method implemented." % type(self).__name__)

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None):
        """Writes a table of the layers, their outputs' shapes and numbers of weights."""
        from .table import summary
        (print_fn or print)(summary(self, line_length))

    def save(self, filepath, overwrite=True, **ignored):
        """A `.keras` file, or as a folder a SavedModel that any TensorFlow serves."""
        from . import saving
        saving.save_model(self, os.fspath(filepath), overwrite)

    def export(self, filepath, **ignored):
        from . import saving
        saving.save_as_saved_model(self, os.fspath(filepath))

    def save_weights(self, filepath, overwrite=True):
        from . import saving
        saving.save_weights(self, os.fspath(filepath), overwrite)

    def load_weights(self, filepath, skip_mismatch=False, by_name=False):
        from . import saving
        saving.load_weights(self, os.fspath(filepath))

    def to_json(self, **ignored):
        import json
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()})

    def reset_states(self):
        for layer in self._flatten_layers():
            if hasattr(layer, "reset_state") and layer is not self:
                layer.reset_state()


class _Hidden(Layer):
    """A child that `layers` does not show."""


class Functional(Model):
    """A model of a drawing."""

    def __init__(self, inputs, outputs, name=None, trainable=True, **kwargs):
        self._setup()
        Layer.__init__(self, name=name or None, trainable=trainable, **kwargs)
        self._setup_training()
        for one in nest.flatten(inputs):
            if not isinstance(one, KerasTensor):
                raise ValueError("All `inputs` values must be KerasTensors. Received: inputs=%s" % (inputs,))
        for one in nest.flatten(outputs):
            if not isinstance(one, KerasTensor):
                raise ValueError("All `outputs` values must be KerasTensors. Received: outputs=%s" % (outputs,))
        set_ = object.__setattr__
        set_(self, "_inputs", inputs)
        set_(self, "_outputs", outputs)
        set_(self, "_order", _drawn(outputs, inputs))
        layers = [t.node.layer for t in nest.flatten(inputs) if t.node is not None and isinstance(t.node.layer, InputLayer)]
        for layer in layers + [node.layer for node in self._order]:
            self._track(layer)
        self.built = True

    inputs = property(lambda self: nest.flatten(self._inputs))
    outputs = property(lambda self: nest.flatten(self._outputs))
    input = property(lambda self: self._inputs)
    output = property(lambda self: self._outputs)
    input_shape = property(lambda self: nest.map_structure(lambda t: t.shape, self._inputs))
    output_shape = property(lambda self: nest.map_structure(lambda t: t.shape, self._outputs))

    def _given(self, inputs):
        """{id of an input KerasTensor: what is given for it}"""
        if isinstance(self._inputs, dict) and isinstance(inputs, dict):
            return {id(t): inputs[k] for k, t in self._inputs.items()}
        wanted = nest.flatten(self._inputs)
        if isinstance(inputs, dict):
            return {id(t): inputs[t.name] for t in wanted}
        given = nest.flatten(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(given) != len(wanted):
            raise ValueError("Layer \"%s\" expects %d input(s), but it received %d input tensors." % (
                self.name, len(wanted), len(given)))
        return {id(t): v for t, v in zip(wanted, given)}

    def call(self, inputs, training=None, mask=None):
        values = self._given(inputs)
        for tensor in nest.flatten(self._inputs):
            values[id(tensor)] = self._fitted(values[id(tensor)], tensor)
        for node in self._order:
            args, kwargs = nest.map_structure(lambda v: values[id(v)] if isinstance(v, KerasTensor) else v,
                                              (tuple(node.args), dict(node.kwargs)))
            if node.layer._takes("training") and kwargs.get("training") is None:
                kwargs["training"] = training
            results = node.layer(*args, **kwargs)
            for tensor, value in zip(nest.flatten(node.outputs), nest.flatten(results)):
                values[id(tensor)] = value
        return nest.map_structure(lambda t: values[id(t)], self._outputs)

    def _fitted(self, value, tensor):
        """A value of the rank that was drawn: [n] becomes [n, 1] where that is what is missing."""
        from ..array_ops import expand_dims
        from ..math_ops import cast
        mask = getattr(value, "_keras_mask", None)
        value = convert_to_tensor(value)
        if value.dtype != tensor.dtype:
            value = cast(value, tensor.dtype)
        known, wanted = value.shape, tensor.shape
        if known.ndims is not None and known.ndims == len(wanted) - 1 and wanted[-1] == 1:
            value = expand_dims(value, -1)
        elif known.ndims is not None and (known.ndims != len(wanted) or any(
                a is not None and b is not None and a != b for a, b in zip(tuple(known)[1:], wanted[1:]))):
            raise ValueError("Input 0 of layer \"%s\" is incompatible with the layer: expected shape=%s, found shape=%s" % (
                self.name, wanted, tuple(known)))
        if mask is not None:
            value._keras_mask = mask
        return value

    def get_config(self):
        """The drawing, by names of layers."""
        nodes, number = [], {}
        for t in nest.flatten(self._inputs):
            number[id(t)] = "input", t.name, 0
        for i, node in enumerate(self._order):
            for t in nest.flatten(node.outputs):
                number[id(t)] = "node", i, t.index
            said = lambda v: {"tensor": list(number[id(v)])} if isinstance(v, KerasTensor) else {"value": plain(v)}
            nodes.append({"layer": node.layer.name, "args": nest.map_structure(said, list(node.args)),
                          "kwargs": {k: nest.map_structure(said, v) for k, v in node.kwargs.items()}})
        layers = list(dict.fromkeys(n.layer for n in self._order))
        at = lambda t: list(number[id(t)])
        return {"name": self.name, "trainable": self._trainable,
                "inputs": [{"name": t.name, "shape": list(t.shape), "dtype": t.dtype.name} for t in nest.flatten(self._inputs)],
                "layers": [{"class_name": type(l).__name__, "config": l.get_config()} for l in layers], "nodes": nodes,
                "input_structure": nest.map_structure(lambda t: t.name, self._inputs),
                "output_structure": nest.map_structure(lambda t: {"at": at(t)}, self._outputs)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from .saving import layer_of
        inputs = {i["name"]: Input(batch_shape=i["shape"], dtype=i["dtype"], name=i["name"]) for i in config["inputs"]}
        layers = {l["config"]["name"]: layer_of(l, custom_objects) for l in config["layers"]}
        made = []

        def read(value):
            if isinstance(value, dict) and set(value) == {"tensor"}:
                kind, which, index = value["tensor"]
                return inputs[which] if kind == "input" else made[which][index]
            if isinstance(value, dict) and set(value) == {"value"}:
                return value["value"]
            if isinstance(value, dict):
                return {k: read(v) for k, v in value.items()}
            return [read(v) for v in value] if isinstance(value, list) else value
        for node in config["nodes"]:
            made.append(nest.flatten(layers[node["layer"]](*read(node["args"]), **read(node["kwargs"]))))

        def output(value):
            if isinstance(value, dict) and set(value) == {"at"}:
                return read({"tensor": value["at"]})
            if isinstance(value, dict):
                return {k: output(v) for k, v in value.items()}
            return [output(v) for v in value]

        def given(value):
            if isinstance(value, str):
                return inputs[value]
            return {k: given(v) for k, v in value.items()} if isinstance(value, dict) else [given(v) for v in value]
        return Functional(given(config["input_structure"]), output(config["output_structure"]), name=config["name"])


class Sequential(Model):
    """Layers one after the other.

    >>> import millrace as tf
    >>> model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2, kernel_initializer="ones")])
    >>> model(tf.ones([1, 3])).numpy()
    array([[3., 3.]], dtype=float32)
    """

    def __init__(self, layers=None, trainable=True, name=None):
        self._setup()
        Layer.__init__(self, name=name, trainable=trainable)
        self._setup_training()
        object.__setattr__(self, "_input", None)
        object.__setattr__(self, "_output", None)
        object.__setattr__(self, "_row", [])
        for layer in layers or ():
            self.add(layer)

    def add(self, layer, rebuild=True):
        """Puts a layer at the end."""
        if isinstance(layer, KerasTensor):
            layer = layer.node.layer
        if not isinstance(layer, Layer):
            raise ValueError("Only instances of `keras.Layer` can be added to a Sequential model. Received: %s (of type %s)" % (
                layer, type(layer)))
        if any(l.name == layer.name for l in self._row):
            raise ValueError("All layers added to a Sequential model should have unique names. Name '%s' is already the name of "
                             "a layer in this model." % layer.name)
        if isinstance(layer, InputLayer):
            if self._row:
                raise ValueError("Sequential model %s has already been configured to use layers before its input" % self.name)
            self._begin(Input(batch_shape=layer.batch_shape, dtype=layer.dtype, name=layer.name))
            return
        self._row.append(layer)
        self._track(layer)
        if self._input is None:
            shape = getattr(layer, "_batch_input_shape", None)
            if shape is None and isinstance(layer, (Functional, Sequential)) and layer.inputs:
                shape = layer.inputs[0].shape
            if shape is not None:
                self._begin(Input(batch_shape=shape, dtype="int32" if type(layer).__name__ == "Embedding" else None))
        elif self._output is not None:
            object.__setattr__(self, "_output", layer(self._output))
        self._train_function = self._test_function = self._predict_function = None

    def pop(self, rebuild=True):
        layer = self._row.pop()
        self._children.remove(layer)
        if self._input is not None:
            self._begin(self._input)
        return layer

    def _begin(self, tensor):
        object.__setattr__(self, "_input", tensor)
        output = tensor
        for layer in self._row:
            output = layer(output)
        object.__setattr__(self, "_output", output)
        self.built = True

    layers = property(lambda self: list(self._row))
    inputs = property(lambda self: None if self._input is None else [self._input])
    outputs = property(lambda self: None if self._output is None else [self._output])
    input, output = property(lambda self: self._input), property(lambda self: self._output)
    input_shape, output_shape = property(lambda self: self._input.shape), property(lambda self: self._output.shape)

    def build(self, input_shape=None):
        if self._input is None and input_shape is not None:
            self._begin(Input(batch_shape=tuple(input_shape)))

    def _build_at(self, shapes, args, kwargs):
        if self._input is None and isinstance(shapes, tuple):
            first = nest.flatten(args[0])[0]
            self._begin(Input(batch_shape=(None,) + tuple(shapes)[1:], dtype=first.dtype.name))
        object.__setattr__(self, "built", True)

    def compute_output_spec(self, inputs, **kwargs):
        if self._input is None and isinstance(inputs, KerasTensor):
            self._begin(Input(batch_shape=(None,) + tuple(inputs.shape[1:]), dtype=inputs.dtype.name))
        return super().compute_output_spec(inputs, **kwargs)

    def call(self, inputs, training=None, mask=None):
        x = inputs
        if self._input is not None and not is_symbolic(x) and not isinstance(x, (list, tuple, dict)):
            x = Functional._fitted(self, x, self._input)
        for layer in self._row:
            x = layer(x, training=training) if layer._takes("training") else layer(x)
        return x

    def get_config(self):
        config = {"name": self.name, "layers": [{"class_name": type(l).__name__, "config": l.get_config()} for l in self._row]}
        if self._input is not None:
            config["input"] = {"shape": list(self._input.shape), "dtype": self._input.dtype.name}
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from .saving import layer_of
        model = cls(name=config["name"])
        if "input" in config:
            model.add(InputLayer(batch_shape=config["input"]["shape"], dtype=config["input"]["dtype"]))
        for layer in config["layers"]:
            model.add(layer_of(layer, custom_objects))
        return model


def clone_model(model):
    """The same layers with new weights."""
    return type(model).from_config(model.get_config())
