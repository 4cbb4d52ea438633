"""op_table — what is known of each op: inputs, outputs and attributes, asked of the library on first use."""
import ctypes
import functools
import keyword
import re

from . import _c, dtypes


class Arg:
    """An input or output of an op."""
    __slots__ = ("name", "type", "type_attr", "number_attr", "type_list_attr", "is_ref")

    def __init__(self, proto):
        self.name, self.type, self.type_attr = proto.name, proto.type, proto.type_attr
        self.number_attr, self.type_list_attr, self.is_ref = proto.number_attr, proto.type_list_attr, proto.is_ref


class Attr:
    """An attribute: `type` is "int", "list(type)" and so on; `default` a Python value if `has_default`."""
    __slots__ = ("name", "type", "has_default", "default", "allowed", "minimum")

    def __init__(self, proto):
        self.name, self.type = proto.name, proto.type
        self.has_default = proto.HasField("default_value")
        self.default = attr_value(proto.default_value) if self.has_default else None
        self.allowed = attr_value(proto.allowed_values) if proto.HasField("allowed_values") else None
        self.minimum = proto.minimum if proto.has_minimum else None


class Op:
    """An op: `inputs`, `outputs`, `attrs`, and `inferred`, the attributes that follow from the inputs."""

    def __init__(self, proto):
        self.name, self.is_stateful = proto.name, proto.is_stateful
        self.inputs = [Arg(a) for a in proto.input_arg]
        self.outputs = [Arg(a) for a in proto.output_arg]
        self.attrs = {a.name: Attr(a) for a in proto.attr}
        self.inferred = set()
        for arg in self.inputs:
            self.inferred.update(n for n in (arg.type_attr, arg.number_attr, arg.type_list_attr) if n)
        names = [a.name for a in self.inputs]
        self.known = set(names) | set(self.attrs)
        free = [a for a in self.attrs.values() if a.name not in self.inferred]
        self.parameters = names + [a.name for a in free if not a.has_default]
        self.optional = [a.name for a in free if a.has_default]


def attr_value(proto):
    """The Python value of an AttrValue message."""
    which = proto.WhichOneof("value")
    if which is None:
        return None
    if which == "list":
        fields = proto.list.ListFields()
        if not fields:
            return []
        field, values = fields[0]
        return [_one(field.name, v) for v in values]
    return _one(which, getattr(proto, which))


def _one(which, value):
    if which == "type":
        return dtypes.as_dtype(value) if value else None
    if which == "shape":
        from .tensor_shape import TensorShape
        return TensorShape(value)
    return value


@functools.lru_cache(maxsize=None)
def find(name):
    """The op of that name, or None. Functions of a graph are not ops: see Graph._op."""
    from . import messages
    try:
        data = _c.filled("TF_GraphGetOpDef", _any_graph(), name.encode())
    except Exception as error:
        if type(error).__name__ in ("NotFoundError", "InvalidArgumentError"):
            return None
        raise
    return Op(messages.OpDef.FromString(data))


@functools.lru_cache(maxsize=1)
def _any_graph():
    return _c.TF_NewGraph()


@functools.lru_cache(maxsize=1)
def names():
    """The names of all ops that a graph may hold."""
    found, info = [], _c.OpInfo(struct_size=ctypes.sizeof(_c.OpInfo))
    while _c.mr_op_at(len(found), ctypes.byref(info)):
        found.append(info.name.decode())
    return tuple(found)


def info(name):
    """(doc, has_kernel) of an op, or None."""
    row = _c.OpInfo(struct_size=ctypes.sizeof(_c.OpInfo))
    if not _c.mr_op_find(name.encode(), ctypes.byref(row)):
        return None
    return row.doc.decode(), bool(row.has_kernel)


def snake(name):
    """mat_mul for MatMul: the name of an op's function in gen_* modules."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


@functools.lru_cache(maxsize=1)
def by_snake_name():
    return {snake(n): n for n in names() if not n.startswith("_")}


@functools.lru_cache(maxsize=None)
def function(op_name, keywords_only=False):
    """The Python function that adds a node of that op to the default graph."""
    from . import ops_apply
    op = find(op_name)
    if op is None:
        raise AttributeError("there is no op named %s" % op_name)
    safe = lambda n: n + "_" if keyword.iskeyword(n) else n
    required, optional = [safe(n) for n in op.parameters], [safe(n) for n in op.optional]
    parameters = (["*"] if keywords_only and (required or optional) else []) + required
    parameters += ["%s=_defaults[%r]" % (n, o) for n, o in zip(optional, op.optional)] + ["name=None"]
    body = ", ".join("%r: %s" % (o, n) for n, o in zip(required + optional, op.parameters + op.optional))
    name = op_name if keywords_only else snake(op_name)
    space = {"_defaults": {n: op.attrs[n].default for n in op.optional}, "_apply": ops_apply.apply}
    exec("def %s(%s):\n    return _apply(%r, name, {%s})\n" % (name, ", ".join(parameters), op_name, body), space)
    made = space[name]
    made.__doc__ = _doc(op_name, op)
    made.__module__ = "millrace.raw_ops"
    return made


def _doc(op_name, op):
    row = info(op_name)
    lines = [(row and row[0]) or op_name, ""]
    for arg in op.inputs:
        kind = arg.type_attr or arg.type_list_attr or dtypes.as_dtype(arg.type).name
        lines.append("%s: a tensor%s, %s" % (arg.name, " list" if arg.number_attr or arg.type_list_attr else "", kind))
    for name in op.parameters[len(op.inputs):] + op.optional:
        attr = op.attrs[name]
        lines.append("%s: %s%s" % (name, attr.type, ", %r by default" % (attr.default,) if attr.has_default else ""))
    lines.append("Returns: %s" % (", ".join(a.name for a in op.outputs) or "the operation"))
    return "\n".join(lines)
