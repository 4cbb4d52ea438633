"""ops_apply — one node from Python values: arguments become tensors of the types that the op asks for."""
import collections

from . import dtypes, tensor_shape
from .convert import convert_to_tensor
from .graph import Tensor, _get_graph_from_inputs, _of_graph, executing_eagerly

_results = {}


def _as_list(value, op_type, name):
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, tensor_shape.TensorShape):
        return value.as_list()
    try:
        import numpy as np
        if isinstance(value, np.ndarray):
            return list(value)
    except ImportError:
        pass
    raise TypeError("Expected list for '%s' argument to '%s' Op, not %s." % (name, op_type, value))


def _mismatch(op_type, arg, tensor, wanted, inferred_from):
    prefix = "Input '%s' of '%s' Op has type %s that does not match" % (arg.name, op_type, tensor.dtype.name)
    if inferred_from:
        raise TypeError("%s type %s of argument '%s'." % (prefix, dtypes.as_dtype(wanted).base_dtype.name,
                                                          inferred_from))
    raise TypeError("%s expected type of %s." % (prefix, dtypes.as_dtype(wanted).base_dtype.name))


class _Call:
    """The arguments of one call on their way to a node."""

    def __init__(self, op_type, op, values):
        self.op_type, self.op, self.values = op_type, op, values
        self.attrs = {n: values[n] for n in op.attrs if n in values and n not in op.inferred}
        self.found = dict(self.attrs)
        for n in op.inferred:
            if values.get(n) is not None:
                self.found[n] = values[n]
        self.origin = {}

    def wanted(self, arg):
        """(dtype or None, preferred dtype or None) of a single argument."""
        if arg.type:
            return dtypes.as_dtype(arg.type), None
        known = self.found.get(arg.type_attr)
        if known is not None:
            return dtypes.as_dtype(known).base_dtype, None
        attr = self.op.attrs[arg.type_attr]
        return None, attr.default

    def convert(self, arg, value, dtype, preferred):
        try:
            tensor = convert_to_tensor(value, dtype, arg.name, preferred, as_ref=arg.is_ref)
        except ValueError as error:
            if not isinstance(value, Tensor) and dtype is not None and value is not None and \
                    "requested dtype" not in str(error):
                raise
            if value is None:
                raise ValueError("Tried to convert '%s' to a tensor and failed. Error: %s" % (arg.name, error)) from None
            tensor = convert_to_tensor(value, as_ref=arg.is_ref)
            _mismatch(self.op_type, arg, tensor, dtype, self.origin.get(arg.type_attr))
        except TypeError as error:
            if dtype is None:
                raise
            raise TypeError("Expected %s passed to parameter '%s' of op '%s', got %r of type '%s' instead. Error: %s" % (
                dtype.base_dtype.name, arg.name, self.op_type, value, type(value).__name__, error)) from None
        if arg.is_ref and not tensor.dtype._is_ref_dtype:
            raise TypeError("'%s' Op requires that input '%s' be a mutable tensor (e.g.: a tf.Variable)" % (
                self.op_type, arg.name))
        return tensor

    def single(self, arg, value):
        if isinstance(value, (list, tuple)) and not value and arg.type_attr is None and not arg.type:
            value = list(value)
        dtype, preferred = self.wanted(arg)
        tensor = self.convert(arg, value, dtype, preferred)
        self.take_type(arg, tensor)
        return tensor

    def take_type(self, arg, tensor):
        if not arg.type_attr:
            return
        base = tensor.dtype.base_dtype
        if self.found.get(arg.type_attr) is None:
            self.found[arg.type_attr] = base
            self.origin[arg.type_attr] = arg.name
            self.check_allowed(arg, base)

    def check_allowed(self, arg, dtype):
        allowed = self.op.attrs[arg.type_attr].allowed
        if allowed and dtype not in allowed:
            raise TypeError("Value passed to parameter '%s' has DataType %s not in list of allowed values: %s" % (
                arg.name, dtype.name, ", ".join(a.name for a in allowed)))

    def many(self, arg, value):
        values = _as_list(value, self.op_type, arg.name)
        if arg.type_list_attr:
            given = self.found.get(arg.type_list_attr)
            return [convert_to_tensor(v, given[i] if given and i < len(given) else None, as_ref=arg.is_ref)
                    for i, v in enumerate(values)]
        attr = self.op.attrs[arg.number_attr]
        if attr.minimum is not None and len(values) < attr.minimum:
            raise ValueError("List argument '%s' to '%s' Op with length %d shorter than minimum length %d." % (
                arg.name, self.op_type, len(values), attr.minimum))
        count = self.found.get(arg.number_attr)
        if count is not None and arg.number_attr in self.origin and count != len(values):
            raise ValueError("List argument '%s' to '%s' Op with length %d must match length %d of argument '%s'." % (
                arg.name, self.op_type, len(values), count, self.origin[arg.number_attr]))
        self.found[arg.number_attr] = len(values)
        self.origin[arg.number_attr] = arg.name
        dtype, preferred = self.wanted(arg)
        if dtype is None:
            dtype = next((t.dtype.base_dtype for t in values if isinstance(t, Tensor) or hasattr(t, "_as_graph_tensor")),
                         None)
        tensors = []
        for one in values:
            tensor = self.convert(arg, one, dtype, preferred)
            dtype = dtype or tensor.dtype.base_dtype
            self.take_type(arg, tensor)
            tensors.append(tensor)
        return tensors


def apply_op(op_type, name, values, graph=None):
    """Adds a node of that op and gives the Operation. `values` has inputs and attributes by their names."""
    if graph is None and executing_eagerly() and not _of_graph(values.values()):
        from .eager import execute
        return execute.EagerOperation(op_type, execute.run(op_type, values))
    graph = _get_graph_from_inputs([v for v in values.values() if v is not None], graph)
    op = graph._op(op_type)
    if op is None:
        from .graph import _similar_op
        raise ValueError("Op type not registered '%s' in this library%s" % (op_type, _similar_op(op_type)))
    unknown = values.keys() - op.known
    if unknown:
        raise TypeError("%s() got an unexpected keyword argument %r" % (op_type, sorted(unknown)[0]))
    scope = name or op_type
    with graph.as_default(), graph.name_scope(scope) as inner:
        call = _Call(op_type, op, values)
        inputs = []
        for arg in op.inputs:
            value = values.get(arg.name)
            inputs.append(call.many(arg, value) if arg.number_attr or arg.type_list_attr else call.single(arg, value))
        attrs = {k: v for k, v in call.attrs.items() if v is not None}
        for key in op.inferred:
            if values.get(key) is not None:
                attrs.pop(key, None)
        for arg, given in zip(op.inputs, inputs):
            # The library infers these from the inputs; an empty list tells nothing.
            if arg.number_attr and not given and arg.type_attr:
                attrs[arg.type_attr] = call.found.get(arg.type_attr) or dtypes.float32
        return graph._new_operation(op_type, inputs, inner, attrs)


def result(op_type, operation):
    """What a function of the op gives: nothing but the operation, a tensor, a list, or a tuple by the outputs' names."""
    table = operation.graph._op(op_type)
    outputs = table.outputs
    tensors = operation._outputs
    if not outputs:
        return operation
    if len(outputs) == 1:
        only = outputs[0]
        if only.number_attr or only.type_list_attr:
            return list(tensors)
        return tensors[0]
    if op_type not in _results:
        _results[op_type] = collections.namedtuple(op_type, [a.name for a in outputs], rename=True)
    parts, at = [], 0
    for i, arg in enumerate(outputs):
        if not (arg.number_attr or arg.type_list_attr):
            parts.append(tensors[at])
            at += 1
            continue
        n = operation.get_attr(arg.number_attr) if arg.number_attr else len(operation.get_attr(arg.type_list_attr))
        parts.append(list(tensors[at:at + n]))
        at += n
    return _results[op_type]._make(parts)


def apply(op_type, name, values):
    """The same, giving what `result` says."""
    if executing_eagerly() and not _of_graph(values.values()):
        from .eager import execute
        return execute.result(op_type, execute.run(op_type, values), values)
    return result(op_type, apply_op(op_type, name, values))


class OpDefLibrary:
    """`apply_op` as older programs call it."""

    def apply_op(self, op_type_name, name=None, **keywords):
        return apply(op_type_name, name, keywords)
