"""text_format — messages as text that people read, and back: what .pbtxt files hold."""
import re

from . import messages as m


class ParseError(ValueError):
    """Text that is no message; the line is in the text of the error."""


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _quote(data):
    return '"%s"' % "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else "\\%03o" % b) for b in data)


def _scalar(field, value):
    if field.kind == m.STRING:
        return _quote(value.encode("utf-8", "surrogateescape"))
    if field.kind == m.BYTES:
        return _quote(value)
    if field.kind == m.BOOL:
        return "true" if value else "false"
    if field.kind == m.ENUM:
        try:
            return m.EnumType(field.type).Name(value)
        except ValueError:
            return str(value)
    if field.kind == m.FLOAT:
        text = "%.9g" % value
        for digits in range(6, 9):
            if m._checked(field, float("%.*g" % (digits, value))) == value:
                text = "%.*g" % (digits, value)
                break
        return text if re.search(r"[.einf]", text) else text + ".0"
    return repr(value)


def _lines(message, indent, out):
    for field, value in message.ListFields():
        values = value if field.repeated and not field.map else [value]
        if field.map:
            entry = field.message()
            values = [entry(key=k) for k in sorted(value)]
            for e in values:
                v = value[e.key]
                e._changed(entry._by_name["value"], v)
                e._values.setdefault("key", e.key)
        for v in values:
            if field.kind == m.MESSAGE:
                out.append("%s%s {" % (indent, field.name))
                _lines(v, indent + "  ", out)
                out.append(indent + "}")
            else:
                out.append("%s%s: %s" % (indent, field.name, _scalar(field, v)))


def MessageToString(message, as_utf8=False, as_one_line=False, **unused):
    out = []
    _lines(message, "", out)
    if as_one_line:
        return " ".join(line.strip() for line in out)
    return "".join(line + "\n" for line in out)


_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_][\w./]*'
                    r'|-?\s*(?:[0-9][\w.+-]*|\.[0-9][\w.+-]*|inf\w*|nan)|[{}<>\[\]:;,])')


class _Reader:
    def __init__(self, text):
        self.tokens, self.lines, at = [], [], 0
        text = text.rstrip()
        text = re.sub(r"(?m)^\s*#.*$", "", text).rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise ParseError("%d: cannot read %r" % (text.count("\n", 0, at) + 1, text[at:at + 20]))
            self.tokens.append(match.group(1))
            self.lines.append(match.start(1))
            at = match.end()
        self.text, self.at = text, 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def fail(self, why):
        at = min(self.at, len(self.lines)) - 1
        line = self.text.count("\n", 0, self.lines[at]) + 1 if self.lines else 1
        raise ParseError("%d : %s" % (line, why))


def _unquote(token):
    from ast import literal_eval
    return literal_eval("b" + token.encode("utf-8").decode("latin-1")) if token.isascii() else \
        token[1:-1].encode("utf-8")


def _read_scalar(reader, field):
    token = reader.next()
    if token is None:
        reader.fail("the text ends where a value of %s is wanted" % field.name)
    if field.kind in (m.STRING, m.BYTES):
        if token[0] not in "\"'":
            reader.fail("a quoted text is wanted for %s" % field.name)
        data = _unquote(token)
        while reader.peek() and reader.peek()[0] in "\"'":
            data += _unquote(reader.next())
        return data.decode("utf-8") if field.kind == m.STRING else data
    try:
        if field.kind == m.BOOL:
            return {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False}[token.lower()]
        if field.kind == m.ENUM:
            return int(token) if token.lstrip("-").isdigit() else m.EnumType(field.type).Value(token)
        if field.kind in (m.FLOAT, m.DOUBLE):
            return float(token.replace(" ", "").rstrip("fF") if "inf" not in token else token)
        return int(token.replace(" ", ""), 0)
    except (KeyError, ValueError) as error:
        reader.fail("%s: %s" % (field.name, error))


def _read(reader, message, end):
    while reader.peek() != end:
        name = reader.next()
        if name is None:
            reader.fail("the text ends inside of a message")
        if name in ";,":
            continue
        field = message._by_name.get(name)
        if field is None:
            reader.fail('Message type "tensorflow.%s" has no field named "%s".' % (message._full_name, name))
        if reader.peek() == ":":
            reader.next()
        if field.kind != m.MESSAGE and reader.peek() == "[":
            reader.next()
            while reader.peek() != "]":
                getattr(message, name).append(_read_scalar(reader, field))
                if reader.peek() == ",":
                    reader.next()
            reader.next()
        elif field.kind == m.MESSAGE:
            _read_message(reader, message, field)
        elif field.repeated:
            getattr(message, name).append(_read_scalar(reader, field))
        else:
            setattr(message, name, _read_scalar(reader, field))


def _read_message(reader, message, field):
    opening = reader.next()
    if opening not in ("{", "<"):
        reader.fail("a message is wanted for %s" % field.name)
    if field.map or not field.repeated:
        inner = field.message()() if field.map else getattr(message, field.name)
        inner.SetInParent()
    else:
        inner = getattr(message, field.name).add()
    _read(reader, inner, "}" if opening == "{" else ">")
    reader.next()
    if field.map:
        getattr(message, field.name)[inner.key] = inner.value


def Merge(text, message, **unused):
    """Reads a message's text into it. ParseError."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    _read(_Reader(text), message, None)
    return message


def Parse(text, message, **unused):
    message.Clear()
    return Merge(text, message)
