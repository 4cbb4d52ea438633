"""layer — Layer: weights and a function of tensors; KerasTensor: a tensor to be, of which models are drawn.

A layer called with a KerasTensor is traced once in a scratch graph, which says what comes out; the call is kept as a Node of
the drawing that a functional model runs later.
"""
import collections
import inspect
import re
import threading

import numpy as np

from .. import dtypes, graph as graphs, nest
from ..convert import convert_to_tensor
from ..eager.func_graph import FuncGraph
from ..eager.tensor import EagerTensor
from ..graph import Tensor
from ..math_ops import cast
from ..tensor_shape import EagerShape
from ..variables import Variable
from . import constraints, initializers, regularizers

_names = collections.Counter()


def unique_name(name):
    """dense, dense_1, dense_2 ..."""
    _names[name] += 1
    return name if _names[name] == 1 else "%s_%d" % (name, _names[name] - 1)


def reset_names():
    _names.clear()


def snake(name):
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


class KerasTensor:
    """A tensor of a model that is being drawn: shape, dtype, and the node that gives it."""

    def __init__(self, shape, dtype="float32", name=None, node=None, index=0):
        self._shape = EagerShape(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.name = name or unique_name("keras_tensor")
        self.node, self.index = node, index

    shape = property(lambda self: tuple(self._shape))
    ndim = property(lambda self: self._shape.ndims)

    def __repr__(self):
        return "<KerasTensor shape=%s, dtype=%s, name=%s>" % (self.shape, self.dtype.name, self.name)

    def __bool__(self):
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __iter__(self):
        raise TypeError("Iterating over a symbolic KerasTensor is not supported.")

    def _operator(name):
        def method(self, *others):
            from .layers.basic import Operation
            return Operation(name)(self, *others)
        return method

    for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "radd", "rsub", "rmul", "rtruediv", "rpow", "neg", "abs",
                  "getitem", "mod", "floordiv", "lt", "le", "gt", "ge"):
        locals()["__%s__" % _name] = _operator("__%s__" % _name)
    del _name, _operator


class Node:
    """One call of a layer in a drawing."""
    __slots__ = ("layer", "args", "kwargs", "outputs", "inputs")

    def __init__(self, layer, args, kwargs, outputs):
        self.layer, self.args, self.kwargs, self.outputs = layer, args, kwargs, outputs
        self.inputs = [t for t in nest.flatten((args, kwargs)) if isinstance(t, KerasTensor)]


class _Calls(threading.local):
    def __init__(self):
        self.training = []    # of the calls in progress, the outermost first
        self.depth = 0
        self.losses = None


calls = _Calls()


def is_symbolic(structure):
    return any(isinstance(t, KerasTensor) for t in nest.flatten(structure))


class Layer:
    """Weights and `call`, a function of tensors. A subclass makes weights in `build` and computes in `call`.

    >>> import millrace as tf
    >>> tf.keras.layers.Dense(2, kernel_initializer="ones")(tf.ones([1, 3])).numpy()
    array([[3., 3.]], dtype=float32)
    """
    supports_masking = False

    def __init__(self, name=None, trainable=True, dtype=None, activity_regularizer=None, autocast=True, **kwargs):
        self._setup()
        shape = kwargs.pop("input_shape", None)
        if "input_dim" in kwargs:
            shape = (kwargs.pop("input_dim"),)
        batch = kwargs.pop("batch_size", None)
        self._batch_input_shape = kwargs.pop("batch_input_shape", None if shape is None else (batch,) + tuple(shape))
        weights = kwargs.pop("weights", None)
        self._first_weights = weights
        if kwargs:
            raise ValueError("Unrecognized keyword arguments passed to %s: %s" % (type(self).__name__, kwargs))
        self.name = name or unique_name(snake(type(self).__name__))
        self._trainable = bool(trainable)
        self._dtype = dtypes.as_dtype(getattr(dtype, "compute_dtype", dtype) or "float32")
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self._autocast = autocast

    def _setup(self):
        if "_weights" in self.__dict__:
            return
        set_ = object.__setattr__
        set_(self, "_weights", [])
        set_(self, "_children", [])
        set_(self, "_metrics", [])
        set_(self, "built", False)
        set_(self, "_losses", [])
        set_(self, "_nodes", [])
        set_(self, "_signature", None)

    dtype = property(lambda self: self._dtype.name)
    compute_dtype = variable_dtype = dtype

    # ---- what belongs to it

    def __setattr__(self, name, value):
        if not name.startswith("__"):
            self._setup()
            self._track(value)
        object.__setattr__(self, name, value)

    def _track(self, value):
        if isinstance(value, Variable):
            if not any(w is value for w in self._weights):
                self._weights.append(value)
        elif isinstance(value, Layer):
            if not any(c is value for c in self._children) and value is not self:
                self._children.append(value)
        elif hasattr(value, "update_state") and hasattr(value, "result"):
            if not any(m is value for m in self._metrics):
                self._metrics.append(value)
        elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            for one in value:
                if isinstance(one, (Layer, Variable, list, tuple, dict)):
                    self._track(one)
        elif type(value) is dict:
            for one in value.values():
                if isinstance(one, (Layer, Variable, list, tuple, dict)):
                    self._track(one)

    def __delattr__(self, name):
        value = self.__dict__.get(name)
        for held in (self._weights, self._children):
            held[:] = [h for h in held if h is not value]
        object.__delattr__(self, name)

    def add_weight(self, shape=None, initializer=None, dtype=None, trainable=True, autocast=True, regularizer=None,
                   constraint=None, name=None, **ignored):
        """A variable of the layer."""
        if isinstance(shape, str):      # as before Keras 3: the name first
            name, shape, initializer = shape, initializer, None
        shape = () if shape is None else (shape,) if isinstance(shape, int) else tuple(int(d) for d in shape)
        dtype = dtypes.as_dtype(dtype or self._dtype)
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating else "zeros"
        make = initializers.get(initializer)
        variable = Variable(lambda: make(shape, dtype=dtype), trainable=bool(trainable), dtype=dtype,
                            name="%s/%s" % (self.name, name or "variable"))
        variable._keras_name = name or "variable"
        variable.regularizer, variable.constraint_function = regularizers.get(regularizer), constraints.get(constraint)
        self._track(variable)
        return variable

    def add_loss(self, loss):
        if calls.losses is not None:
            calls.losses += nest.flatten(loss)
        self._losses += nest.flatten(loss)

    @property
    def layers_within(self):
        return list(self._children)

    def _flatten_layers(self):
        yield self
        for child in self._children:
            yield from child._flatten_layers()

    def _gather(self, trainable):
        """Weights of this layer and then of those in it, each once."""
        found, seen = [], set()
        for layer in self._flatten_layers():
            for w in layer._weights:
                if id(w) not in seen:
                    seen.add(id(w))
                    if trainable is None or (w._trainable and layer._is_trainable()) == trainable:
                        found.append(w)
        return found

    def _is_trainable(self):
        return self._trainable

    variables = weights = property(lambda self: self._gather(None))
    trainable_weights = trainable_variables = property(lambda self: self._gather(True))
    non_trainable_weights = non_trainable_variables = property(lambda self: self._gather(False))

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        object.__setattr__(self, "_trainable", bool(value))
        for child in self._children:
            child.trainable = value

    @property
    def metrics(self):
        return [m for layer in self._flatten_layers() for m in layer._metrics]

    @property
    def losses(self):
        """What add_loss gave in the last call, and the weights' penalties."""
        found = [l for layer in self._flatten_layers() for l in layer._losses]
        for w in self.trainable_weights:
            if getattr(w, "regularizer", None) is not None:
                found.append(w.regularizer(w))
        return found

    def _clear_losses(self):
        for layer in self._flatten_layers():
            layer._losses.clear()

    def get_weights(self):
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
        mine = self.weights
        weights = list(weights)
        if len(mine) != len(weights):
            raise ValueError("You called `set_weights(weights)` on layer '%s' with a weight list of length %d, but the layer "
                             "was expecting %d weights." % (self.name, len(weights), len(mine)))
        for variable, value in zip(mine, weights):
            value = np.asarray(value)
            if tuple(variable.shape) != value.shape:
                raise ValueError("Layer %s weight shape %s is not compatible with provided weight shape %s." % (
                    self.name, tuple(variable.shape), value.shape))
            variable.assign(value.astype(variable.dtype.as_numpy_dtype))

    def count_params(self):
        if not self.built:
            raise ValueError("You tried to call `count_params` on layer '%s', but the layer isn't built. You can build it "
                             "manually via: `%s.build(input_shape)`." % (self.name, self.name))
        return sum(int(np.prod(tuple(w.shape))) for w in self.weights)

    # ---- calling

    def build(self, input_shape):
        self.built = True

    def call(self, *args, **kwargs):
        raise NotImplementedError("Layer %s does not have a `call()` method implemented." % type(self).__name__)

    def compute_mask(self, inputs, previous_mask):
        return previous_mask if self.supports_masking else None

    def _parameters(self):
        if self._signature is None:
            found = inspect.signature(self.call).parameters
            every = any(p.kind is p.VAR_KEYWORD for p in found.values())
            object.__setattr__(self, "_signature", (set(found), every))
        return self._signature

    def _takes(self, name):
        names, every = self._parameters()
        return name in names

    def __call__(self, *args, **kwargs):
        self._setup()
        if is_symbolic((args, kwargs)):
            return self._draw(args, kwargs)
        inside = bool(graphs._default_graphs.stack)
        if not inside and not graphs._eager:
            with graphs.eager_mode():
                return self._call_now(args, kwargs)
        return self._call_now(args, kwargs)

    def _converted(self, value):
        if isinstance(value, (np.ndarray, np.generic, EagerTensor, Tensor, float, int)) and not isinstance(value, bool):
            tensor = convert_to_tensor(value)
            if self._autocast and tensor.dtype.is_floating and tensor.dtype.base_dtype != self._dtype:
                mask = getattr(value, "_keras_mask", None)
                tensor = cast(tensor, self._dtype)
                if mask is not None:
                    tensor._keras_mask = mask
            return tensor
        return value

    def _call_now(self, args, kwargs):
        if args:
            first = nest.map_structure(self._converted, args[0]) if not isinstance(args[0], (list, tuple)) or \
                not all(isinstance(v, (int, float)) for v in args[0]) or not args[0] else convert_to_tensor(args[0])
            args = (first,) + tuple(args[1:])
        training = kwargs.get("training")
        if training is None:
            training = calls.training[-1] if calls.training else None
        if "training" in kwargs or self._takes("training"):
            if self._takes("training"):
                kwargs["training"] = training
            else:
                kwargs.pop("training", None)
        masks = [getattr(t, "_keras_mask", None) for t in nest.flatten(args[0])] if args else []
        mask = None
        if any(m is not None for m in masks):
            mask = masks[0] if not nest.is_sequence(args[0]) else masks
            if self._takes("mask") and kwargs.get("mask") is None:
                kwargs["mask"] = mask
        if not self.built:
            self._build_for(args, kwargs)
        calls.training.append(training)
        if not calls.depth:
            self._clear_losses()
        calls.depth += 1
        try:
            outputs = self.call(*args, **kwargs)
        finally:
            calls.training.pop()
            calls.depth -= 1
        if self.activity_regularizer is not None:
            for one in nest.flatten(outputs):
                self.add_loss(self.activity_regularizer(one) / cast(_batch(one), one.dtype))
        given = kwargs.get("mask") if self._takes("mask") else mask
        made = self.compute_mask(args[0], given) if args else None
        if made is not None:
            for one, m in zip(nest.flatten(outputs), made if isinstance(made, list) else [made]):
                if m is not None and getattr(one, "_keras_mask", None) is None:
                    one._keras_mask = m
        return outputs

    def _build_for(self, args, kwargs):
        shapes = nest.map_structure(lambda t: _dims(t), args[0]) if args else None
        with graphs.init_scope():
            self._build_at(shapes, args, kwargs)

    def _build_at(self, shapes, args, kwargs):
        parameters = list(inspect.signature(self.build).parameters)
        if len(parameters) > 1 and len(args) > 1:
            self.build(*[nest.map_structure(lambda t: _dims(t), a) for a in args[:len(parameters)]])
        else:
            self.build(shapes)
        object.__setattr__(self, "built", True)
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    # ---- drawing

    def _draw(self, args, kwargs):
        """Called with KerasTensors: a Node, and KerasTensors for what comes out."""
        specs = self.compute_output_spec(*args, **kwargs)
        outputs = nest.map_structure(lambda s: KerasTensor(s.shape, s.dtype), specs)
        node = Node(self, args, kwargs, outputs)
        for i, one in enumerate(nest.flatten(outputs)):
            one.node, one.index = node, i
        self._nodes.append(node)
        return outputs

    def compute_output_spec(self, *args, **kwargs):
        """KerasTensors without nodes: what comes out, found by tracing."""
        graph = FuncGraph("shapes")
        with graphs.eager_mode(), graph.as_default():
            def inside(value):
                return graph.argument(value.dtype, value.shape) if isinstance(value, KerasTensor) else value
            stand_in_args, stand_in_kwargs = nest.map_structure(inside, (tuple(args), kwargs))
            for given, made in zip(nest.flatten((tuple(args), kwargs)), nest.flatten((stand_in_args, stand_in_kwargs))):
                mask = getattr(given, "_keras_mask", None)
                if mask is not None:
                    made._keras_mask = graph.argument("bool", mask)
            outputs = self._call_now(stand_in_args, dict(stand_in_kwargs))

            def spec(tensor):
                tensor = convert_to_tensor(tensor)
                made = KerasTensor(tuple(tensor.shape) if tensor.shape.ndims is not None else None, tensor.dtype, name="spec")
                mask = getattr(tensor, "_keras_mask", None)
                if mask is not None:
                    made._keras_mask = tuple(mask.shape)
                return made
            return nest.map_structure(spec, outputs)

    def compute_output_shape(self, input_shape):
        found = self.compute_output_spec(nest.map_structure(KerasTensor, input_shape) if isinstance(input_shape, list)
                                         else KerasTensor(input_shape, self._dtype, name="spec"))
        return nest.map_structure(lambda s: s.shape, found)

    @property
    def input(self):
        return nest.flatten(self._nodes[0].args[0])[0] if not nest.is_sequence(self._nodes[0].args[0]) else \
            self._nodes[0].args[0]

    @property
    def output(self):
        if not self._nodes:
            raise AttributeError("The layer %s has never been called and thus has no defined output." % self.name)
        return self._nodes[0].outputs

    # ---- as data

    def get_config(self):
        """What from_config makes the layer of again."""
        config = {"name": self.name, "trainable": self._trainable, "dtype": self._dtype.name}
        for name in list(inspect.signature(type(self).__init__).parameters)[1:]:
            if name in ("kwargs", "args", "name", "trainable", "dtype") or not hasattr(self, name):
                continue
            config[name] = plain(getattr(self, name))
        return config

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def save_own_variables(self, store):
        for i, w in enumerate(self._weights):
            store[str(i)] = np.asarray(w.numpy())

    def load_own_variables(self, store):
        if len(store) != len(self._weights):
            raise ValueError("Layer '%s' expected %d variables, but received %d variables during loading." % (
                self.name, len(self._weights), len(store)))
        for i, w in enumerate(self._weights):
            w.assign(np.asarray(store[str(i)]))

    def __repr__(self):
        return "<%s name=%s, built=%s>" % (type(self).__name__, self.name, self.built)


def plain(value):
    """A value of a configuration as JSON can hold it."""
    if isinstance(value, initializers.Initializer):
        return initializers.serialize(value)
    if isinstance(value, (regularizers.Regularizer, constraints.Constraint)):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, Layer):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, (np.generic,)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return value


def _dims(tensor):
    if not hasattr(tensor, "shape"):
        return None
    return tuple(tensor.shape) if getattr(tensor.shape, "ndims", 0) is not None else None


def _batch(tensor):
    from ..array_ops import shape
    return shape(tensor)[0]
