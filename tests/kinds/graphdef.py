# graphdef — writes a GraphDef with nothing but Python: nodes, attributes, functions.
import numpy as np

import capi


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


class Type(int):
    """A dtype as an attribute."""


class Shape(list):
    """A shape as an attribute; -1 is an unknown size, Shape(None) an unknown rank."""

    def __init__(self, dims):
        super().__init__(dims or [])
        self.known = dims is not None

    def encode(self):
        return b"".join(part(2, number(1, d)) for d in self) if self.known else number(3, 1)


class Function(str):
    """The name of a function as an attribute."""


FLOAT, DOUBLE, INT32, STRING, INT64, BOOL, RESOURCE, VARIANT = (
    Type(t) for t in (capi.FLOAT, capi.DOUBLE, capi.INT32, capi.STRING, capi.INT64, capi.BOOL, capi.RESOURCE, capi.VARIANT))


def tensor(array):
    array = np.asarray(array)
    out = number(1, capi.dtype_number(array)) + part(2, Shape(list(array.shape)).encode())
    if array.dtype == object:
        return out + b"".join(part(8, value) for value in array.reshape(-1))
    return out + part(4, np.ascontiguousarray(array).tobytes())


def scalar_fields(value, s=2, i=3, f=4, b=5, kind=6, shape=7, whole=8, func=10):
    """The field of AttrValue, or of its list, for one Python value."""
    if isinstance(value, bool):
        return number(b, value)
    if isinstance(value, Type):
        return number(kind, value)
    if isinstance(value, int):
        return number(i, value)
    if isinstance(value, float):
        return varint(f << 3 | 5) + np.float32(value).tobytes()
    if isinstance(value, Function):
        return part(func, part(1, str(value)))
    if isinstance(value, (str, bytes)):
        return part(s, value)
    if isinstance(value, Shape):
        return part(shape, value.encode())
    return part(whole, tensor(value))


def attribute(value):
    if isinstance(value, list) and not isinstance(value, Shape):
        return part(1, b"".join(scalar_fields(v, func=9) for v in value))
    return scalar_fields(value)


def node_bytes(name, op, inputs, device, attributes):
    out = part(1, name) + part(2, op) + b"".join(part(3, i) for i in inputs)
    out += part(4, device) if device else b""
    return out + b"".join(part(5, part(1, key) + part(2, attribute(value))) for key, value in attributes.items())


class GraphDef:
    def __init__(self):
        self.nodes, self.functions = [], []

    def node(self, name, op, inputs="", device="", **attributes):
        """`inputs` are words: "x y:1 ^control"."""
        self.nodes.append(node_bytes(name, op, inputs.split(), device, attributes))
        return name

    def const(self, name, value, dtype=None, device=""):
        value = np.asarray(value, dtype)
        return self.node(name, "Const", device=device, dtype=Type(capi.dtype_number(value)), value=value)

    def place(self, name, dtype=FLOAT, shape=None):
        return self.node(name, "Placeholder", dtype=dtype, shape=Shape(shape))

    def variable(self, name, value):
        """A resource variable: operations NAME, NAME_init, NAME_read."""
        value = np.asarray(value)
        kind = Type(capi.dtype_number(value))
        self.node(name, "VarHandleOp", dtype=kind, shape=Shape(list(value.shape)), shared_name=name, container="")
        self.const(name + "_start", value)
        self.node(name + "_init", "AssignVariableOp", "%s %s_start" % (name, name), dtype=kind)
        self.node(name + "_read", "ReadVariableOp", name, dtype=kind)

    def function(self, name, inputs, outputs, nodes, results, stateful=False):
        """inputs, outputs: [(name, Type)]; nodes: [(name, op, inputs, attributes)]; results: {output: "node:port:0"}."""
        signature = part(1, name) + b"".join(part(2, part(1, n) + number(3, t)) for n, t in inputs)
        signature += b"".join(part(3, part(1, n) + number(3, t)) for n, t in outputs)
        signature += number(17, 1) if stateful else b""
        body = part(1, signature) + b"".join(part(3, node_bytes(n, op, i.split(), "", a)) for n, op, i, a in nodes)
        self.functions.append(body + b"".join(part(4, part(1, k) + part(2, v)) for k, v in results.items()))

    def bytes(self):
        out = b"".join(part(1, n) for n in self.nodes)
        if self.functions:
            out += part(2, b"".join(part(1, f) for f in self.functions))
        return out + part(4, number(1, 1000))


def config(devices=None, inter=0, intra=0):
    """ConfigProto."""
    out = b"".join(part(1, part(1, name) + number(2, count)) for name, count in (devices or {}).items())
    out += number(2, intra) if intra else b""
    return out + (number(5, inter) if inter else b"")


def run_options(timeout_ms):
    return number(2, timeout_ms)
