"""Messages — our codec and text form against protoc's, on random messages of every shape.

Needs protoc (Debian: protobuf-compiler). The messages' types are in graph.proto; what we print, it must read, and the
other way round, and both must write the same bytes.
"""

import os
import pathlib
import random
import re
import string
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
TOOL = pathlib.Path(os.environ.get("MILLRACE_BUILD", HERE.parent / "build")) / "tests" / "proto_convert"
SCHEMA = (HERE / "graph.proto").read_text()
OUTER = ["GraphDef", "NodeDef", "FunctionDef", "OpDef", "DeviceAttributes", "TensorInfo", "BundleEntryProto",
         "SaverDef", "JobDef"]
ROUNDS = int(os.environ.get("ROUNDS", "12"))  # messages of each type


def pipe(command, data):
    done = subprocess.run([str(word) for word in command], input=data, capture_output=True)
    return done.stdout if done.returncode == 0 else None, done.stderr.decode(errors="replace")


def ours(how, name, data):
    return pipe([TOOL, how, name], data)


def protoc(how, name, data, schema=HERE / "graph.proto"):
    flags = ["--deterministic_output"] if how == "encode" else []
    return pipe(["protoc", f"-I{schema.parent}", f"--{how}=tensorflow.{name}", *flags, schema], data)


# ---- the schema, read as far as random messages need it


def read_schema():
    messages, enums, stack = {}, {}, []
    for line in SCHEMA.splitlines():
        line = line.strip()
        if m := re.match(r"(message|enum|oneof) (\w+) \{", line):
            name = m[2] if m[1] != "message" or not stack else stack[-1][1] + "." + m[2]
            stack.append((m[1], name))
            if m[1] == "message":
                messages[name] = []
            elif m[1] == "enum":
                enums[name] = []
        elif line == "}":
            stack.pop()
        elif stack and stack[-1][0] == "enum":
            enums[stack[-1][1]].append(re.match(r"(\w+) = ", line)[1])
        elif m := re.match(r"(repeated )?(map<(\w+), ([\w.]+)>|[\w.]+) (\w+) = (\d+);", line):
            owner = next(name for kind, name in reversed(stack) if kind == "message")
            messages[owner].append({
                "kind": "map" if m[3] else "list" if m[1] else "oneof" if stack[-1][0] == "oneof" else "one",
                "key": m[3], "type": m[4] if m[3] else m[2], "name": m[5],
            })
    return messages, enums


MESSAGES, ENUMS = read_schema()

INTEGERS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1),
            "uint64": (0, 2**64 - 1), "fixed32": (0, 2**32 - 1), "fixed64": (0, 2**64 - 1)}
MAPS = {field["name"] for fields in MESSAGES.values() for field in fields if field["kind"] == "map"}


def quoted(data):
    escapes = {10: "\\n", 9: "\\t", 34: '\\"', 92: "\\\\"}
    return '"' + "".join(escapes.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data) + '"'


def scalar(rng, kind):
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return str(rng.choice([0, 1, low, high, rng.randint(0, 300), rng.randint(low, high)]))
    if kind == "bool":
        return rng.choice(["true", "false"])
    if kind in ("float", "double"):
        return rng.choice(["0", "1", "-0.5", "inf", "-inf", "nan", "1e-40", "3e38", repr(rng.uniform(-1e6, 1e6)),
                           repr(rng.random() * 10 ** rng.randint(-30, 30))])
    if kind == "bytes":
        return quoted(rng.randbytes(rng.choice([0, 1, 5, 200])))
    if kind == "string":
        letters = rng.choices(string.printable + "äß→", k=rng.choice([0, 1, 7, 130]))
        return quoted("".join(letters).encode())
    return rng.choice(ENUMS[kind])


def value(rng, kind, depth):
    return "{\n" + message(rng, kind, depth - 1) + "}" if kind in MESSAGES else ": " + scalar(rng, kind)


def keys(rng, kind):
    if kind == "string":
        return sorted({quoted("".join(rng.choices("abc_", k=rng.randint(0, 3))).encode()) for _ in range(3)})
    low, high = INTEGERS[kind]
    return sorted({rng.choice([0, 1, low, high, rng.randint(low, high)]) for _ in range(3)})


def message(rng, kind, depth):
    """The text of a random message. Maps are sorted, as protoc's deterministic output is."""
    lines = []
    oneof = rng.choice([f["name"] for f in MESSAGES[kind] if f["kind"] == "oneof"] or [None])
    for field in MESSAGES[kind]:
        is_message = field["type"] in MESSAGES
        if rng.random() < (0.5 if depth > 2 else 0.75) or (is_message and depth <= 0):
            continue
        name, of = field["name"], field["type"]
        if field["kind"] == "map":
            for key in keys(rng, field["key"]):
                lines.append(f"{name} {{ key: {key} value {value(rng, of, depth)} }}")
        elif field["kind"] == "list":
            lines += [f"{name} {value(rng, of, depth)}" for _ in range(rng.choice([1, 2, 5]))]
        elif field["kind"] == "one" or name == oneof:
            lines.append(f"{name} {value(rng, of, depth)}")
    return "".join(line + "\n" for line in lines)


def cases():
    return [(name, seed) for name in OUTER for seed in range(ROUNDS)]


@pytest.mark.parametrize("name,seed", cases())
def test_same_bytes_and_text(name, seed):
    text = message(random.Random(f"{name} {seed}"), name, 6).encode()
    expected, error = protoc("encode", name, text)
    assert expected is not None, error
    got, error = ours("parse", name, text)
    assert got is not None, error
    assert got == expected, text.decode()
    assert ours("recode", name, expected) == (expected, "")

    theirs, error = protoc("decode", name, expected)
    assert theirs is not None, error
    printed, error = ours("print", name, expected)
    assert printed is not None, error
    assert protoc("encode", name, printed) == (expected, "")
    assert ours("parse", name, theirs) == (expected, "")


def without_doubles(text):
    """Of map entries with one key only the last: protoc prints them all."""
    def block(lines):
        parts = {}
        for line in lines:
            line = line.strip()
            if line == "}":
                break
            inner = block(lines) if line.endswith("{") else None
            key = line, inner[0] if inner and line.split()[0] in MAPS else len(parts)
            parts[key] = [line, *(inner or [])]
        return [line for part in parts.values() for line in part]
    return block(iter(text.decode().splitlines()))


@pytest.fixture(scope="module")
def loose(tmp_path_factory):
    """The same schema without `string`: protoc wants UTF-8 there, we take any bytes."""
    path = tmp_path_factory.mktemp("loose") / "graph.proto"
    path.write_text(re.sub(r"(?<!<)\bstring\b(?= \w+ =)", "bytes", SCHEMA))
    return path


@pytest.mark.parametrize("seed", range(8 * ROUNDS))
def test_same_verdict_on_damaged_bytes(seed, loose):
    rng = random.Random(seed)
    name = rng.choice(OUTER)
    data, _ = ours("parse", name, message(rng, name, 5).encode())
    data = bytearray(data or b"\n\0")
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(4)
        if how == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif how == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 3))
        elif how == 2:
            del data[at:at + rng.randint(1, 4)]
        elif how == 3:
            data[at:at] = data[max(0, at - rng.randint(1, 30)):at]
    theirs, error = protoc("decode", name, bytes(data), loose)
    mine, my_error = ours("recode", name, bytes(data))
    if theirs is None and "UTF-8" in error:
        return  # the key of a map
    assert (theirs is None) == (mine is None), f"protoc: {error} ours: {my_error} {bytes(data).hex()}"
    if theirs is not None:
        again, error = protoc("decode", name, mine, loose)
        assert again is not None and without_doubles(again) == without_doubles(theirs), error


if __name__ == "__main__":
    raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
