"""messages — TensorFlow's messages (GraphDef, ConfigProto, Example ...) as classes over the library's own tables.

The fields of each class are asked of the library when the class is first used; `messages.GraphDef`, nested ones as
`messages.OpDef.ArgDef`. The surface is protobuf's: fields, repeated fields, maps, CopyFrom, SerializeToString, str().
Values of absent fields are defaults; writing into an absent sub-message attaches it.
"""
import ctypes
import struct

from . import _c

(INT32, INT64, UINT32, UINT64, BOOL, ENUM, FIXED32, FLOAT, FIXED64, DOUBLE, STRING, BYTES, MESSAGE) = range(13)
_VARINTS = (INT32, INT64, UINT32, UINT64, BOOL, ENUM)
_FIXED = {FIXED32: ("<I", 5), FLOAT: ("<f", 5), FIXED64: ("<Q", 1), DOUBLE: ("<d", 1)}
_DEFAULTS = {BOOL: False, FLOAT: 0.0, DOUBLE: 0.0, STRING: "", BYTES: b""}


class DecodeError(ValueError):
    """Bytes that are no message of the class."""


class Field:
    """A field of a message, as its table has it."""
    __slots__ = ("name", "number", "kind", "repeated", "map", "oneof", "type")

    def message(self):
        return find(self.type)


def _fields_of(name):
    fields, info = [], _c.FieldInfo(struct_size=ctypes.sizeof(_c.FieldInfo))
    while _c.mr_message_field(name.encode(), len(fields), ctypes.byref(info)):
        field = Field()
        field.name, field.number, field.kind = info.name.decode(), info.number, info.kind
        field.repeated, field.map, field.oneof = bool(info.is_repeated), bool(info.is_map), bool(info.is_in_oneof)
        field.type = info.type.decode() if info.type else None
        fields.append(field)
    return fields


def enum_values(name):
    """The values of an enumeration by name: {"V1": 1, ...}."""
    if name == "DataType":
        from . import dtypes
        base = {"DT_" + {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}.get(t.name, t.name.upper()):
                t.as_datatype_enum for t in dtypes._by_number.values() if not t._is_ref_dtype}
        base.update({k + "_REF": v + 100 for k, v in list(base.items())})
        return dict(base, DT_INVALID=0)
    values, number = {}, ctypes.c_int()
    while True:
        found = _c.mr_enum_value(name.encode(), len(values), ctypes.byref(number))
        if not found:
            return values
        values[found.decode()] = number.value


class EnumType:
    """An enumeration: `Name(number)`, `Value(name)`, `items()`."""

    def __init__(self, name):
        self._values = enum_values(name)
        for key, value in self._values.items():
            setattr(self, key, value)

    def Name(self, number):
        for key, value in self._values.items():
            if value == number:
                return key
        raise ValueError("no name for %r" % (number,))

    def Value(self, name):
        if name not in self._values:
            raise ValueError("no value of name %r" % (name,))
        return self._values[name]

    def keys(self):
        return list(self._values)

    def values(self):
        return list(self._values.values())

    def items(self):
        return list(self._values.items())


# ---------------------------------------- lists and maps

class Repeated(list):
    """A repeated field."""
    __slots__ = ("_owner", "_field")

    def __init__(self, owner, field):
        list.__init__(self)
        self._owner, self._field = owner, field

    def append(self, value):
        list.append(self, _checked(self._field, value))
        self._owner._changed(self._field, self)

    def extend(self, values):
        list.extend(self, [_checked(self._field, v) for v in values])
        self._owner._changed(self._field, self)

    MergeFrom = extend

    def __iadd__(self, values):
        self.extend(values)
        return self

    def insert(self, at, value):
        list.insert(self, at, _checked(self._field, value))
        self._owner._changed(self._field, self)

    def __setitem__(self, key, value):
        value = [_checked(self._field, v) for v in value] if isinstance(key, slice) else _checked(self._field, value)
        list.__setitem__(self, key, value)

    def add(self, **values):
        message = self._field.message()(**values)
        list.append(self, message)
        self._owner._changed(self._field, self)
        return message

    def __reduce__(self):
        return list, (list(self),)


class Map(dict):
    """A map field. Reading a missing key gives a default; a message one is put in its place."""
    __slots__ = ("_owner", "_field", "_value")

    def __init__(self, owner, field):
        dict.__init__(self)
        self._owner, self._field = owner, field
        self._value = field.message()._by_name["value"]

    def __missing__(self, key):
        value = self._value.message()() if self._value.kind == MESSAGE else _default(self._value)
        dict.__setitem__(self, key, value)
        self._owner._changed(self._field, self)
        return value

    def __setitem__(self, key, value):
        if self._value.kind == MESSAGE:
            dict.__setitem__(self, key, value)
        else:
            dict.__setitem__(self, key, _checked(self._value, value))
        self._owner._changed(self._field, self)

    def update(self, *args, **values):
        for key, value in dict(*args, **values).items():
            self[key] = value

    def get_or_create(self, key):
        return self[key]

    def MergeFrom(self, other):
        for key, value in other.items():
            self[key].CopyFrom(value) if self._value.kind == MESSAGE else self.__setitem__(key, value)

    def __reduce__(self):
        return dict, (dict(self),)


def _default(field):
    return _DEFAULTS.get(field.kind, 0)


def _checked(field, value):
    kind = field.kind
    if kind == MESSAGE:
        if isinstance(value, Message):
            return value
        cls = field.message()
        return cls(**value) if isinstance(value, dict) else cls.FromString(value.SerializeToString())
    if kind == STRING:
        if isinstance(value, bytes):
            return value.decode("utf-8")
        if not isinstance(value, str):
            raise TypeError("%r has type %s, but expected one of: bytes, str" % (value, type(value).__name__))
        return value
    if kind == BYTES:
        if isinstance(value, str):
            raise TypeError("%r has type str, but expected one of: bytes" % (value,))
        return bytes(value)
    if kind in (FLOAT, DOUBLE):
        value = float(value)
        return struct.unpack("<f", struct.pack("<f", value))[0] if kind == FLOAT and abs(value) < 3e38 else value
    if kind == BOOL:
        return bool(value)
    if kind == ENUM and isinstance(value, str):
        return EnumType(field.type).Value(value)
    if isinstance(value, (str, bytes, float)):
        raise TypeError("%r has type %s, but expected one of: int" % (value, type(value).__name__))
    return int(value)


# ---------------------------------------- wire form

def _varint(value):
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data, at):
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError("a varint does not end")
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def _signed(kind, value):
    if kind == BOOL:
        return value != 0
    if kind in (INT32, ENUM):
        value &= 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value
    if kind == INT64:
        return value - (1 << 64) if value >> 63 else value
    return value & 0xFFFFFFFF if kind == UINT32 else value


def _scalar_bytes(kind, value):
    if kind in _VARINTS:
        return _varint(int(value))
    if kind in _FIXED:
        return struct.pack(_FIXED[kind][0], value)
    if kind == MESSAGE:
        value = value.SerializeToString()
    elif kind == STRING:
        value = value.encode("utf-8", "surrogateescape")
    return _varint(len(value)) + value


def _wire_type(kind):
    return 0 if kind in _VARINTS else _FIXED[kind][1] if kind in _FIXED else 2


def _field_bytes(field, value, out):
    kind, tag = field.kind, _varint(field.number << 3 | _wire_type(field.kind))
    if field.map:
        entry = field.message()
        key, val = entry._by_name["key"], entry._by_name["value"]
        for k in sorted(value):
            body = _varint(key.number << 3 | _wire_type(key.kind)) + _scalar_bytes(key.kind, k)
            body += _varint(val.number << 3 | _wire_type(val.kind)) + _scalar_bytes(val.kind, value[k])
            out += [tag, _varint(len(body)), body]
    elif field.repeated and kind in (FLOAT, DOUBLE, FIXED32, FIXED64):
        body = struct.pack("<%d%s" % (len(value), _FIXED[kind][0][1]), *value)
        out += [_varint(field.number << 3 | 2), _varint(len(body)), body]
    elif field.repeated and kind in _VARINTS:
        body = b"".join([_varint(int(v)) for v in value])
        out += [_varint(field.number << 3 | 2), _varint(len(body)), body]
    elif field.repeated:
        for v in value:
            out += [tag, _scalar_bytes(kind, v)]
    else:
        out += [tag, _scalar_bytes(kind, value)]


def _skip(data, at, wire):
    if wire == 0:
        return _read_varint(data, at)[1]
    if wire == 1 or wire == 5:
        return at + (8 if wire == 1 else 4)
    if wire == 2:
        size, at = _read_varint(data, at)
        return at + size
    raise DecodeError("wire type %d" % wire)


def _from_wire(field, data, kind):
    if kind == STRING:
        return data.decode("utf-8", "surrogateescape")
    return field.message().FromString(data) if kind == MESSAGE else data


# ---------------------------------------- the classes

class Message:
    """What all messages have."""
    _fields, _by_name, _by_number, _full_name = (), {}, {}, ""
    __slots__ = ("_values", "_owner", "_unknown", "__weakref__")

    def __init__(self, **values):
        set_ = object.__setattr__
        set_(self, "_values", {})
        set_(self, "_owner", None)
        set_(self, "_unknown", b"")
        for name, value in values.items():
            field = self._by_name.get(name)
            if field is None:
                raise ValueError("Protocol message %s has no %r field." % (self._full_name, name))
            if value is None:
                continue
            if field.map:
                getattr(self, name).MergeFrom({k: v for k, v in value.items()})
            elif field.repeated:
                getattr(self, name).extend(value)
            elif field.kind == MESSAGE:
                self._changed(field, _checked(field, value)._copy())
            else:
                setattr(self, name, value)

    def _changed(self, field, value):
        if self._values.get(field.name) is not value:
            if field.oneof:
                for other in self._fields:
                    if other.oneof and other is not field:
                        self._values.pop(other.name, None)
            self._values[field.name] = value
        if self._owner is not None:
            parent, slot = self._owner
            object.__setattr__(self, "_owner", None)
            parent._changed(slot, self)

    def __getattr__(self, name):
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(name)
        value = self._values.get(name)
        if value is not None:
            return value
        if field.map:
            return Map(self, field)
        if field.repeated:
            return Repeated(self, field)
        if field.kind == MESSAGE:
            value = field.message()()
            object.__setattr__(value, "_owner", (self, field))
            return value
        return _default(field)

    def __setattr__(self, name, value):
        field = self._by_name.get(name)
        if field is None:
            raise AttributeError("Assignment not allowed (no field %r in protocol message object)." % name)
        if field.repeated or field.kind == MESSAGE:
            raise AttributeError("Assignment not allowed to %s field %r in protocol message object."
                                 % ("repeated" if field.repeated else "composite", name))
        self._changed(field, _checked(field, value))

    def HasField(self, name):
        if name not in self._by_name:
            if any(f.oneof for f in self._fields):
                return self.WhichOneof(name) is not None
            raise ValueError("Protocol message %s has no field %s." % (self._full_name, name))
        return name in self._values

    def WhichOneof(self, name=None):
        return next((f.name for f in self._fields if f.oneof and f.name in self._values), None)

    def ClearField(self, name):
        self._values.pop(name, None)

    def Clear(self):
        self._values.clear()
        object.__setattr__(self, "_unknown", b"")

    def ListFields(self):
        return [(f, self._values[f.name]) for f in self._fields if self._is_set(f)]

    def _is_set(self, field):
        if field.name not in self._values:
            return False
        value = self._values[field.name]
        if field.repeated:
            return len(value) > 0
        return field.kind == MESSAGE or field.oneof or value != _default(field)

    def SetInParent(self):
        if self._owner is not None:
            parent, slot = self._owner
            object.__setattr__(self, "_owner", None)
            parent._changed(slot, self)

    def IsInitialized(self):
        return True

    def SerializeToString(self, deterministic=None):
        out = []
        for field in self._fields:
            if self._is_set(field):
                _field_bytes(field, self._values[field.name], out)
        out.append(self._unknown)
        return b"".join(out)

    SerializePartialToString = SerializeToString

    def ByteSize(self):
        return len(self.SerializeToString())

    def ParseFromString(self, data):
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data):
        message = cls()
        message.MergeFromString(data)
        return message

    def MergeFromString(self, data):
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError("a message is read from bytes, not %s" % type(data).__name__)
        data, at = bytes(data), 0
        while at < len(data):
            start = at
            tag, at = _read_varint(data, at)
            number, wire = tag >> 3, tag & 7
            field = self._by_number.get(number)
            if field is None:
                at = _skip(data, at, wire)
                object.__setattr__(self, "_unknown", self._unknown + data[start:at])
            else:
                at = self._read_field(field, wire, data, at)
            if at > len(data):
                raise DecodeError("Error parsing message %s: truncated" % self._full_name)
        if self._owner is not None:
            self.SetInParent()
        return len(data)

    def _read_field(self, field, wire, data, at):
        kind = field.kind
        if wire == 2:
            size, at = _read_varint(data, at)
            end = at + size
            if end > len(data):
                raise DecodeError("Error parsing message %s: truncated" % self._full_name)
            if kind in (STRING, BYTES, MESSAGE):
                self._store(field, data[at:end])
            elif kind in _FIXED:
                code = _FIXED[kind][0][1]
                count = size // struct.calcsize(code)
                list.extend(self._list(field), struct.unpack_from("<%d%s" % (count, code), data, at))
            else:
                values = self._list(field)
                while at < end:
                    value, at = _read_varint(data, at)
                    list.append(values, _signed(kind, value))
            return end
        if kind in _VARINTS and wire == 0:
            value, at = _read_varint(data, at)
            value = _signed(kind, value)
        elif kind in _FIXED and wire == _FIXED[kind][1]:
            form = _FIXED[kind][0]
            if at + struct.calcsize(form) > len(data):
                raise DecodeError("Error parsing message %s: truncated" % self._full_name)
            value, = struct.unpack_from(form, data, at)
            at += struct.calcsize(form)
        else:
            raise DecodeError("Error parsing message %s: field %s" % (self._full_name, field.name))
        if field.repeated:
            list.append(self._list(field), value)
        else:
            self._changed(field, value)
        return at

    def _list(self, field):
        if field.name not in self._values:
            self._changed(field, Map(self, field) if field.map else Repeated(self, field))
        return self._values[field.name]

    def _store(self, field, data):
        value = _from_wire(field, data, field.kind)
        if field.map:
            key = value.key
            dict.__setitem__(self._list(field), key, value.value)
            if isinstance(value.value, Message):
                object.__setattr__(value.value, "_owner", None)
        elif field.repeated:
            list.append(self._list(field), value)
        elif field.kind == MESSAGE and field.name in self._values:
            self._values[field.name].MergeFromString(data)
        else:
            self._changed(field, value)

    def _copy(self):
        return type(self).FromString(self.SerializeToString())

    def CopyFrom(self, other):
        if other is self:
            return
        data = other.SerializeToString()
        self.Clear()
        self.MergeFromString(data)
        self.SetInParent()

    def MergeFrom(self, other):
        self.MergeFromString(other.SerializeToString())

    def __eq__(self, other):
        return hasattr(other, "SerializeToString") and type(other).__name__ == type(self).__name__ and \
            self.SerializeToString() == other.SerializeToString()

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __deepcopy__(self, memo=None):
        return self._copy()

    __copy__ = _copy

    def __reduce__(self):
        return _revive, (self._full_name, self.SerializeToString())

    def __str__(self):
        from . import text_format
        return text_format.MessageToString(self)

    __repr__ = __str__

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(self._by_name))


def _revive(name, data):
    return find(name).FromString(data)


_classes, _names = {}, []


def _all_names():
    if not _names:
        while True:
            name = _c.mr_message_at(len(_names))
            if not name:
                break
            _names.append(name.decode())
    return _names


def find(name):
    """The class of a message by TensorFlow's name, "OpDef.ArgDef". AttributeError."""
    cls = _classes.get(name)
    if cls is None:
        if name not in _all_names():
            raise AttributeError("no message of name %s" % name)
        cls = _classes[name] = _make(name)
    return cls


class _MessageType(type):
    def __getattr__(cls, name):
        full = cls.__dict__.get("_full_name")
        if full and not name.startswith("__"):
            inner = "%s.%s" % (full, name)
            if inner in _all_names():
                return find(inner)
            values = enum_values("%s_%s" % (full.replace(".", "_"), name))
            if values:
                return EnumType("%s_%s" % (full.replace(".", "_"), name))
            if name.endswith("_FIELD_NUMBER"):
                return cls._by_name[name[:-13].lower()].number
        raise AttributeError(name)


def _make(name):
    fields = _fields_of(name)
    space = {"__slots__": (), "_fields": fields, "_by_name": {f.name: f for f in fields}, "_full_name": name,
             "_by_number": {f.number: f for f in fields}, "__module__": __name__,
             "__doc__": "%s: %s." % (name, ", ".join(f.name for f in fields) or "no fields")}
    cls = _MessageType(name.rpartition(".")[2], (Message,), space)
    prefix = name.replace(".", "_") + "_"
    for field in fields:
        if field.kind == ENUM and field.type.startswith(prefix):
            for key, value in enum_values(field.type).items():
                type.__setattr__(cls, key, value)
    return cls


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.startswith("DT_"):
        values = enum_values("DataType")
        if name in values:
            return values[name]
    if name == "DataType":
        return EnumType("DataType")
    cls = find(name)
    globals()[name] = cls
    return cls


def to_bytes(message):
    """The encoding of one of these, of an object of the protobuf package, or bytes themselves."""
    return message if isinstance(message, bytes) else message.SerializeToString()
