# cases_input — files as records, and records as tensors: readers, Example and its kin, CSV, raw bytes, sound.
import gzip
import os
import struct
import tempfile
import zlib

from cases import *

FOLDER = os.environ.get("MILLRACE_PARITY_FOLDER", tempfile.gettempdir())
ERROR = {"error": True}


def checksum(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def records(*items):
    heads = [struct.pack("<Q", len(item)) for item in items]
    return b"".join(head + checksum(head) + item + checksum(item) for head, item in zip(heads, items))


def snappy(data):
    """A frame of one literal."""
    assert 0 < len(data) <= 60
    return struct.pack(">I", len(data) + 2) + bytes([len(data), (len(data) - 1) << 2]) + data


def reader(op, label, files, old=False, up_to=None, steps=12, state=False, **attrs):
    """Reads to the end of the files and beyond; of what comes, all is compared."""
    @script(op + ("" if old else "V2"), label=label)
    def declare(tf):
        raw, v2 = tf.raw_ops, "" if old else "V2"
        paths = [os.path.join(FOLDER, "parity-input-%d-%d" % (zlib.crc32((op + label).encode()), i)) for i in range(len(files))]
        write = [raw.WriteFile(filename=tf.constant(path), contents=tf.constant(data)) for path, data in zip(paths, files) if data is not None]
        queue = getattr(raw, "FIFOQueue" + v2)(component_types=[tf.string], shapes=[[]], shared_name="q")
        fill = getattr(raw, "QueueEnqueueMany" + v2)(handle=queue, components=[tf.constant(paths)])
        close = getattr(raw, "QueueClose" + v2)(handle=queue)
        handle = getattr(raw, op + v2)(shared_name="r", **attrs)
        if up_to is None:
            read = getattr(raw, "ReaderRead" + v2)(reader_handle=handle, queue_handle=queue)
        else:
            read = getattr(raw, "ReaderReadUpTo" + v2)(reader_handle=handle, queue_handle=queue, num_records=up_to)
        counts = [getattr(raw, name + v2)(reader_handle=handle) for name in ("ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted")]
        save, reset = getattr(raw, "ReaderSerializeState" + v2)(reader_handle=handle), getattr(raw, "ReaderReset" + v2)(reader_handle=handle)
        told = tf.placeholder(tf.string, [], "told")
        restore = getattr(raw, "ReaderRestoreState" + v2)(reader_handle=handle, state=told)
        now, out = (counts, {}, []), [([], {}, write + [fill]), ([], {}, [close])]
        for i in range(steps):
            out += [(list(read), {}, [], ERROR), now]  # past the end, an error + ([([save], {}, [])] if state else [])
        if state:
            for text in (b"\x08\x02\x10\x02\x18\x05", b"\x08\x01\x10\x02", b"\x08\x02\x10\x02\x18\x07\x22\x03abc"):
                out += [([], {told: np.array(text, object)}, [restore]), now, ([save], {}, [])]
            for text in (b"junk", b"\x08\x02\x10\x01", b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"):
                out += [([], {told: np.array(text, object)}, [restore], ERROR)]
        return out + [([], {}, [reset]), now]


TEXT = [b"one\ntwo\r\n\nlast\r", b"", b"\n", b"x\ny\n", b"\r\n\r\r\n", b"long" * 100000 + b"\nend"]
FIXED = [b"HHab1cd2ef3FF", b"", b"HHab1FF", b"HHa", bytes(range(256))]
RECORDS = [records(b"one", b"", b"three"), b"", records(b"x" * 300000, b"y")]
for old in (False, True):  # the other readers of old are refused in new graphs
    reader("WholeFileReader", "files", TEXT[:4], old, state=True)
    reader("WholeFileReader", "files, up to 3", TEXT[:4], old, up_to=3)
    reader("WholeFileReader", "no file", [b"a", None, b"b"], old)
reader("IdentityReader", "names", [None] * 3, state=True)
reader("IdentityReader", "names, up to 2", [None] * 3, up_to=2)
reader("TextLineReader", "lines", TEXT[:5])
reader("TextLineReader", "long lines", TEXT[5:])
reader("TextLineReader", "lines, up to 3", TEXT[:5], up_to=3)
reader("TextLineReader", "lines, up to 0", TEXT[:5], up_to=0)
reader("TextLineReader", "without heads", TEXT[:5], skip_header_lines=2)
reader("TextLineReader", "no file", [b"a", None, b"b\nc"])
reader("TFRecordReader", "records", RECORDS)
reader("TFRecordReader", "records, up to 2", RECORDS, up_to=2)
reader("TFRecordReader", "zlib", [zlib.compress(data) for data in RECORDS], compression_type="ZLIB")
reader("TFRecordReader", "gzip", [gzip.compress(data, mtime=0) for data in RECORDS], compression_type="GZIP")
reader("TFRecordReader", "gzip members", [gzip.compress(data[:20], mtime=0) + gzip.compress(data[20:], mtime=0) for data in RECORDS], compression_type="GZIP")
reader("TFRecordReader", "snappy", [b"".join(snappy(data[i:i + 40]) for i in range(0, min(len(data), 400), 40)) for data in RECORDS], compression_type="SNAPPY")
reader("TFRecordReader", "cut", [RECORDS[0][:-2]])
reader("TFRecordReader", "damaged", [RECORDS[0][:14] + b"X" + RECORDS[0][15:]])
reader("TFRecordReader", "no records", [b"this is a text, no records"])
for attrs in (dict(record_bytes=3), dict(record_bytes=100), dict(record_bytes=3, header_bytes=2, footer_bytes=2), dict(record_bytes=100, hop_bytes=30),
              dict(record_bytes=20, hop_bytes=70, header_bytes=1), dict(record_bytes=20, hop_bytes=7, footer_bytes=200), dict(record_bytes=5, header_bytes=300)):
    reader("FixedLengthRecordReader", str(attrs), FIXED, **attrs)
    reader("FixedLengthRecordReader", "%s, up to 40" % attrs, FIXED[:1] + FIXED[4:], up_to=40, **attrs)
for coding, pack in (("ZLIB", zlib.compress), ("GZIP", lambda data: gzip.compress(data, mtime=0))):
    reader("FixedLengthRecordReader", coding, [pack(data) for data in FIXED[:1] + FIXED[4:]], record_bytes=50, hop_bytes=20, footer_bytes=3, encoding=coding, steps=14)
    reader("FixedLengthRecordReader", coding + " of no such file", [FIXED[0]], record_bytes=5, encoding=coding)


@script("ReaderReadV2", label="what is no name")
def no_names(tf):
    raw = tf.raw_ops
    reader_handle = raw.IdentityReaderV2()
    steps = []
    for types, parts, fails in [([tf.string, tf.string], ["a", "b"], True), ([tf.int32], [3], True), ([tf.string], [["a", "b"]], True),
                                ([tf.string], [["a"]], False), ([tf.string], [[["b"]]], False)]:
        queue = raw.FIFOQueueV2(component_types=types)
        read = raw.ReaderReadV2(reader_handle=reader_handle, queue_handle=queue)
        steps += [([], {}, [raw.QueueEnqueueV2(handle=queue, components=parts)]), (list(read), {}, [], *([ERROR] if fails else []))]
    return steps


@script("TextLineReaderV2", label="attributes")
def bad_readers(tf):
    raw = tf.raw_ops
    makers = [raw.TextLineReaderV2(skip_header_lines=-1)]
    makers += [raw.FixedLengthRecordReaderV2(**{**dict(record_bytes=3), name: -1}) for name in ("record_bytes", "header_bytes", "footer_bytes", "hop_bytes")]
    return [([raw.ReaderNumRecordsProducedV2(reader_handle=maker)], {}, [], ERROR) for maker in makers]


# ---------------------------------------- Example

def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(number, data):
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values, packed=True):
    """bytes, floats or whole numbers; None: a feature that says nothing."""
    if values is None:
        return b""
    kind, values = (values[0], values[1]) if isinstance(values, tuple) else (None, values)
    kind = kind or (1 if isinstance(values[0], bytes) else 2 if isinstance(values[0], float) else 3)
    if kind == 1:
        return part(1, b"".join(part(1, v) for v in values))
    if kind == 2:
        raw = [struct.pack("<f", v) for v in values]
        return part(2, part(1, b"".join(raw)) if packed and raw else b"".join(b"\x0d" + v for v in raw))
    raw = [varint(v) for v in values]
    return part(3, part(1, b"".join(raw)) if packed and raw else b"".join(b"\x08" + v for v in raw))


def entries(features, packed=True):
    return b"".join(part(1, part(1, key.encode()) + part(2, feature(v, packed))) for key, v in features.items())


def example(packed=True, **features):
    return part(1, entries(features, packed))


NOTHING = np.zeros(0, object)


def strings(*items):
    return np.array([item.encode() if isinstance(item, str) else item for item in items], object) if items else NOTHING


BATCH = [example(a=[1.5, -2.0], b=[3], c=[b"x", b""], d=[7, 8]), example(b=[-1, 1 << 62, 300], a=[0.25] * 4, d=[1, 2], other=[b"y"] * 9),
         example(d=[5, -6], c=[b"long" * 30], a=None), example(packed=False, d=[1 << 40, 0], a=[4.0, 5.0], b=[9] * 5),
         example(c=(1, []), d=[0, 0], b=(3, []), a=(2, []))]
SIX = BATCH + [example(d=[0, 1])]
F, I, S = np.zeros(0, f32), np.zeros(0, i64), np.zeros(0, object)


def v1(serialized, sparse=(), types=(), dense=(), defaults=(), shapes=(), names=NOTHING, error=False, label=""):
    case("ParseExample", serialized, names, [np.array(key.encode(), object) for key in sparse], [np.array(key.encode(), object) for key in dense], list(defaults),
         attrs=dict(sparse_types=list(types), dense_shapes=list(shapes)), error=error, label=label)


def v2(serialized, sparse=(), types=(), dense=(), defaults=(), shapes=(), ragged=(), ragged_types=(), splits=(), names=NOTHING, error=False, label=""):
    case("ParseExampleV2", serialized, names, strings(*sparse), strings(*dense), strings(*ragged), list(defaults),
         attrs=dict(num_sparse=len(sparse), sparse_types=list(types), dense_shapes=list(shapes), ragged_value_types=list(ragged_types), ragged_split_types=list(splits)),
         error=error, label=label)


def single(serialized, sparse=(), types=(), dense=(), defaults=(), shapes=(), error=False, label=""):
    case("ParseSingleExample", np.array(serialized, object), list(defaults), error=error, label=label,
         attrs=dict(num_sparse=len(sparse), sparse_keys=list(sparse), dense_keys=list(dense), sparse_types=list(types), dense_shapes=list(shapes)))


KEYS, TYPES = ["a", "b", "c", "none"], ["float32", "int64", "string", "string"]
MANY = [example(a=[float(i)] * (i % 5 + 1), b=list(range(i % 7)) or None, c=[b"w%d" % j * (i % 3) for j in range(i % 4)] or None, d=[i, -i]) for i in range(300)]
for label, batch in (("five", BATCH), ("six", SIX), ("none", []), ("empty", [b"", b""]), ("many", MANY), ("one", BATCH[:1])):
    batch = np.array(batch, object)
    for parse in (v1, v2):
        parse(batch, KEYS, TYPES, label="sparse, " + label)
        parse(batch, ["a"], ["float32"], ["b", "c", "e"], [np.array(-1, i64), np.array(b"?", object), np.array([[2.5]], f32)], [[None], [None], [None, 3]], label="padded, " + label)
        parse(batch, [], [], ["d", "e"], [np.array([1, 2], i64), np.array([[b"p"], [b"q"]], object)], [[2], [2, 1]], label="dense, " + label)
    for split in ("int32", "int64"):
        v2(batch, ragged=KEYS, ragged_types=TYPES, splits=[split] * 4, label="ragged %s, %s" % (split, label))
    v2(batch, ["b"], ["int64"], ["d"], [np.array([1, 2], i64)], [[2]], ["a", "c"], ["float32", "string"], ["int64", "int32"], label="all kinds, " + label)
for i, one in enumerate(SIX):
    for parse in (single, lambda s, *a, **k: v2(np.array(s, object), *a, **k)):
        parse(one, KEYS, TYPES, ["d", "e"], [np.array([1, 2], i64), np.array(2.0, f32)], [[2], []], label="sparse and dense %d" % i)
        parse(one, [], [], ["b", "c", "e"], [np.array(-1, i64), np.array(b"?", object), np.array([[2.5]], f32)], [[None], [None], [None, 3]], label="open %d" % i)
    v2(np.array(one, object), ragged=KEYS, ragged_types=TYPES, splits=["int32", "int64"] * 2, label="ragged %d" % i)

ODD = dict(twice=part(1, part(1, part(1, b"b") + part(2, feature([5]))) + part(1, part(1, b"b") + part(2, feature([7, 8])))),
           parts=example(b=[1]) + example(a=[2.0]), value_first=part(1, part(1, part(2, feature([5])) + part(1, b"b"))),
           unknown=example(b=[4]) + part(5, b"abc") + b"\x30\x07" + b"\x3d1234" + b"\x4112345678", two_lists=part(1, part(1, part(1, b"b") + part(2, feature([5]) + feature([6])))),
           unknown_behind=part(1, part(1, part(1, b"b") + part(2, feature([5]) + part(9, b"zz")))), ten_bytes=part(1, part(1, part(1, b"b") + part(2, part(3, part(1, b"\xff" * 9 + b"\x7f"))))))
BAD = dict(no_value=part(1, part(1, part(1, b"b"))), three_fields=part(1, part(1, part(1, b"b") + part(2, feature([5])) + b"\x18\x01")), tail=SIX[5] + b"\x0a",
           beside=part(1, part(4, b"q") + entries(dict(b=[1]))), mixed=part(1, part(1, part(1, b"b") + part(2, part(3, b"\x08\x01" + part(1, b"\x02\x03"))))),
           eleven=part(1, part(1, part(1, b"b") + part(2, part(3, part(1, b"\xff" * 10 + b"\x01"))))), no_kind=part(1, part(1, part(1, b"b") + part(2, part(4, b"")))),
           group=SIX[5] + b"\x2b\x2c")
for name, data in {**ODD, **BAD}.items():
    batch, bad = np.array([SIX[1], data], object), name in BAD
    v2(batch, KEYS, TYPES, label=name, error=bad)
    v1(batch, ["a"], ["float32"], ["b"], [np.array(9, i64)], [[None]], label=name, error=bad)
    v2(batch, ragged=["b", "a"], ragged_types=["int64", "float32"], splits=["int64"] * 2, label=name, error=bad)
    single(data, KEYS, TYPES, label=name, error=bad)
for names in (NOTHING, strings("first", "second")):
    two = np.array([SIX[0], SIX[1]], object)
    for sparse, types, dense, defaults, shapes in [((), (), ["c"], [S], [[2]]), ((), (), ["b"], [I], [[]]), ((), (), ["b"], [F], [[]]), (["b"], ["float32"], (), (), ()), ((), (), ["b"], [I], [[None]]),
                                                   ((), (), ["b"], [np.array(1, i64)], [[None, 2]]), ((), (), ["b"], [np.array([1], i64)], [[]]), ((), (), ["b"], [np.array([1, 2], i64)], [[None]]),
                                                   ((), (), ["b"], [I], [[2, None]]), ((), (), ["b"], [I], [None]), ((), (), ["b"], [np.array([1], i64)], [[2]])]:
        v1(two, sparse, types, dense, defaults, shapes, names, error=True)
        v2(two, sparse, types, dense, defaults, shapes, names=names, error=True)
    single(SIX[5], ["d"], ["float32"], error=True)
    single(SIX[5], [], [], ["b"], [I], [[1]], error=True)
    single(SIX[5], [], [], ["d"], [np.array(1, i64)], [[None, 3]], error=True)
v2(np.array([[SIX[0]]], object), KEYS, TYPES, error=True)
v1(np.array([[SIX[0]]], object), KEYS, TYPES, error=True)
v1(np.array(SIX[0], object), KEYS, TYPES, error=True)
v2(np.array(SIX[:2], object), KEYS, TYPES, names=strings("one"), error=True)


# ---------------------------------------- CSV

def csv(records, *defaults, error=False, **attrs):
    case("DecodeCSV", records if isinstance(records, np.ndarray) else strings(*records), [np.asarray(d) for d in defaults], attrs=attrs, error=error, label="%s %s" % (records[:2], attrs) if len(records) else "")


J, D64 = np.zeros(0, i32), np.zeros(0, f64)
for kind, given in ((f32, 7), (f64, 7), (i32, 7), (i64, 7), (string, b"seven")):
    for default in (np.zeros(0, kind), np.array([given], kind), np.array(given, kind)):
        for record in ("1", "-12", " 3 ", "+4", "", "x", "1x", "99999999999", "9223372036854775808", "1.5", "1e3", "inf", "nan", "0x10", "NA", '"6"', '""', "- 1", "+-1", "1 2"):
            csv([record + ",1"], default, J, error=True, na_value="NA")
csv(["1,2.5,x", "3,4,y"], J, F, S)
csv(np.array([[b"1,2.5,x"], [b"3,4,y"]], object), J, F, S)
csv(np.zeros((0, 2), object), J, F, S)
csv(["%d,%g,w%d" % (i, i / 7, i) for i in range(1000)], J, F, S)
csv([",4,", "1,,x"], np.array([7], i32), np.array([9], f32), strings("d"))
for i, record in enumerate(["1,2", "1,2,3,4", "1,,3", ",,"]):
    csv([record], J, J, J, error=True)
for record in ['"a,b","c""d"', 'a"b,c', '"a"b,c', '"ab,c', '"a\nb",c', "a\nb,c", "a,c\r\n", "\na,c", 'a,"c"\n', '"",""', '"a","', '"a"', '"', 'a,', '"a",', '""""""', '""","""', ' "a",b', "a\rb,c", ",", "a,\n", "\n", "a,b\n"]:
    csv([record], strings("x"), strings("y"), error=True)
    csv([record], strings("x"), strings("y"), error=True, use_quote_delim=False)
    csv([record], strings("x"), error=True, select_cols=[1])
    csv([record], strings("x"), error=True, select_cols=[0])
csv(["a|c"], S, S, field_delim="|")
csv(["a\tb", "c\td"], S, S, field_delim="\t")
for columns, fits in (([1, 3], True), ([0, 1], True), ([3, 1], False), ([1], False), ([-1, 2], False), ([1, 1], False), ([1, 4], False)):
    csv(["1,2,3,4"], J, S, select_cols=columns, error=not fits)
for delimiter in ("", "||"):
    csv(["a|b"], S, S, field_delim=delimiter, error=True)
csv(["1,2"], np.array([1, 2], i32), J, error=True)
csv(["1,2"], np.array([[1]], i32), J, error=True)

# ---------------------------------------- bytes

for dtype in present([f32, f64, i32, u16, u8, i16, i8, i64]):
    size = np.dtype(dtype).itemsize
    for shape in ((3,), (2, 2), (), (0,)):
        texts = np.array([bytes(range(i, i + 7 * i)) for i in range(int(np.prod(shape)))], object).reshape(shape)
        for length in (size, 8 * size, 3 * size):
            for little in (True, False):
                case("DecodePaddedRaw", texts, np.array(length, i32), attrs=dict(out_type=dtype, little_endian=little))
    case("DecodePaddedRaw", strings("a"), np.array(0, i32), attrs=dict(out_type=dtype), error=True)
    case("DecodePaddedRaw", strings("a"), np.array(-size, i32), attrs=dict(out_type=dtype), error=True)
    if size > 1:
        case("DecodePaddedRaw", strings("a"), np.array(size + 1, i32), attrs=dict(out_type=dtype), error=True)
LONG = bytes(range(256)) * 3000
for coding, pack in (("", bytes), ("ZLIB", zlib.compress), ("GZIP", lambda data: gzip.compress(data, mtime=0))):
    for shape in ((3,), (), (0,), (3, 1)):
        packed = [pack(data) for data in (b"abc", LONG, b"")][:int(np.prod(shape))]
        texts = np.zeros(len(packed), object)
        texts[:] = packed
        case("DecodeCompressed", texts.reshape(shape), attrs=dict(compression_type=coding), label="%s %s" % (coding, shape))
case("DecodeCompressed", strings(gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0)), attrs=dict(compression_type="GZIP"))
for coding, data in (("ZLIB", b"abc"), ("GZIP", b"abc"), ("SNAPPY", b""), ("OTHER", b"a")):
    case("DecodeCompressed", strings(data), attrs=dict(compression_type=coding), error=True)
for dtype in present(ALL):
    for shape in ((), (3,), (2, 3), (0,), (2, 0)):
        case("SerializeTensor", values(dtype, shape))


def tensor_proto(dtype, shape, content=b"", rest=b""):
    return b"\x08" + varint(dtype) + part(2, b"".join(part(2, b"\x08" + varint(n)) for n in shape)) + (part(4, content) if content else b"") + rest


for dtype, number in ((f32, 1), (f64, 2), (i32, 3), (u8, 4), (i16, 5), (i8, 6), (c64, 8), (i64, 9), (boolean, 10), (u16, 17), (c128, 18), (f16, 19), (u32, 22), (u64, 23)):
    x = values(dtype, (2, 3))
    case("ParseTensor", np.array(tensor_proto(number, (2, 3), x.tobytes()), object), attrs=dict(out_type=dtype), label=str(dtype))
    case("ParseTensor", np.array(tensor_proto(number, (0, 3)), object), attrs=dict(out_type=dtype), label="empty %s" % dtype)
    case("ParseTensor", np.array(tensor_proto(number, (2, 3), x.tobytes()), object), attrs=dict(out_type=string), label="other than %s" % dtype, error=True)
case("ParseTensor", np.array(tensor_proto(7, (2,), rest=part(8, b"ab") + part(8, b"")), object), attrs=dict(out_type=string))
case("ParseTensor", np.array(tensor_proto(1, (2, 3), rest=part(5, struct.pack("<ff", 1, 2))), object), attrs=dict(out_type=f32))
for data in (b"", b"junk", tensor_proto(1, (2, 3), b"1234"), tensor_proto(99, (2,)), tensor_proto(1, (2,), b"12345678")[:-1], tensor_proto(1, (1 << 40, 1 << 40)), tensor_proto(1, (-1,))):
    case("ParseTensor", np.array(data, object), attrs=dict(out_type=f32), error=True, label=repr(data[:30]))
case("ParseTensor", strings(b""), attrs=dict(out_type=f32), error=True)

# ---------------------------------------- JSON

for text in ('{}', '{"features": {}}', '{"features": {"feature": {}}}', '{"features": {"feature": {"a": {}}}}', '{"features": {"feature": {"a": {"floatList": {"value": [1, 2.5, "NaN", "-Infinity", -1e-3]}}}}}',
             '{"features": {"feature": {"a": {"float_list": {"value": []}}}}}', '{"features": {"feature": {"a": {"int64List": {"value": [1, "-2", 9007199254740993, "9223372036854775807", 1e3, 2.0]}}}}}',
             '{"features": {"feature": {"a": {"bytesList": {"value": ["YQ==", "YmM", "-_8=", ""]}}}}}', '{"features": {"feature": {"a": {"bytesList": {}}}}}', ' { "features" : null } ',
             '{"features": {"feature": {"\\u00e4": {"int64List": {"value": [0]}}}}}'):
    case("DecodeJSONExample", strings(text), label=text)
for text in ('', '{', 'null', '[]', '{"feature": {}}', '{"features": []}', '{"features": {"feature": {"a": 1}}}', '{"features": {"feature": {"a": {"int64List": {"value": [1.5]}}}}}',
             '{"features": {"feature": {"a": {"int64List": {"value": ["x"]}}}}}', '{"features": {"feature": {"a": {"bytesList": {"value": [1]}}}}}', '{"features": {"feature": {"a": {"floatList": {"value": ["x"]}}}}}',
             '{"features": {"feature": {"a": {"floatList": {"value": [1]}, "int64List": {"value": [1]}}}}}', '{"features": {"feature": {"a": {"other": 1}}}}', '{"features": {"feature": {"a": {"floatList": {"value": [1e60]}}}}}'):
    case("DecodeJSONExample", strings(text), label=text, error=True)
case("DecodeJSONExample", np.array([[b'{}'], [b'{"features": {"feature": {"b": {"int64List": {"value": ["7"]}}}}}']], object))
case("DecodeJSONExample", np.zeros((0, 2), object))

# ---------------------------------------- sound

SOUND = np.array([[0, 1], [-1, .5], [2, -3], [1e-5, .25], [.99999, -.99999], [.7, 1.5 / 32768]], f32)


def wav(data=SOUND, channels=2, rate=44100, extra=b"", size=16, tail=b""):
    samples = np.clip(np.round(data.astype(f64) * 32768), -32768, 32767).astype("<i2").tobytes()
    head = b"fmt " + struct.pack("<IHHIIHH", size, 1, channels, rate, rate * channels * 2, channels * 2, 16) + b"\0" * (size - 16)
    body = b"WAVE" + head + extra + b"data" + struct.pack("<I", len(samples)) + samples + tail
    return b"RIFF" + struct.pack("<I", len(body)) + body


for sound in (SOUND, SOUND[:, :1], np.zeros((0, 1), f32), np.zeros((0, 2), f32), values(f32, (1000, 3))):
    for rate in (8000, 44100):
        case("EncodeWav", sound, np.array(rate, i32))
for rate in (0, -1):
    case("EncodeWav", SOUND, np.array(rate, i32), error=True)
case("EncodeWav", np.zeros((3, 0), f32), np.array(8000, i32), error=True)
case("EncodeWav", np.zeros(3, f32), np.array(8000, i32), error=True)
for channels in (-1, 0, 1, 2, 3):
    for samples in (-1, 0, 2, 6, 9):
        case("DecodeWav", np.array(wav(), object), attrs=dict(desired_channels=channels, desired_samples=samples))
for attrs in (dict(desired_channels=-2), dict(desired_samples=-2)):
    case("DecodeWav", np.array(wav(), object), attrs=attrs, error=True)
for i, data in enumerate([wav(size=18), wav(extra=b"LIST\x04\0\0\0abcd"), wav(extra=b"LIST\x03\0\0\0abc"), wav(tail=b"LIST\x09\0\0\0ab"), wav(np.zeros((0, 2), f32)), wav(values(f32, (500, 1)), 1, 8000),
                          b"RIFF\0\0\0\0WAVEJUNK\x02\0\0\0ab" + wav()[12:], wav()[:40] + b"\x01" + wav()[41:]]):
    case("DecodeWav", np.array(data, object), label="file %d" % i)
for n in (0, 3, 8, 11, 12, 20, 30, 36, 40, 44, 45, 46, 47):
    case("DecodeWav", np.array(wav()[:n], object), label="cut at %d" % n, error=True)
for i, byte in [(0, 88), (8, 88), (12, 88), (16, 18), (16, 15), (16, 17), (16, 200), (20, 3), (22, 0), (22, 9), (24, 1), (28, 1), (32, 3), (34, 8), (36, 88), (40, 200), (43, 0x7f), (43, 0xff)]:
    data = bytearray(wav())
    data[i] = byte
    case("DecodeWav", np.array(bytes(data), object), label="byte %d is %d" % (i, byte), error=True)
case("DecodeWav", np.array(wav(tail=b"data\x04\0\0\0abcd"), object), error=True)


# ---------------------------------------- SequenceExample

def sequence(context=None, lists=None, packed=True):
    out = part(1, entries(context, packed)) if context is not None else b""
    for key, steps in (lists or {}).items():
        out += part(2, part(1, part(1, key.encode()) + part(2, b"".join(part(1, feature(step, packed)) for step in steps))))
    return out


SEQUENCES = [sequence(dict(c=[1.0, 2.0], n=[7]), dict(x=[[1, 2], [3]], y=[[1.0], [2.0], [3.0]], w=[[b"p"], (1, []), [b"q", b"r"]], z=[[b"s"]])),
             sequence(dict(n=[8]), dict(x=[], y=[[9.0]], w=[None, [b"z"]], z=[])), sequence(dict(n=[1 << 40], c=[0.5]), dict(y=[[4.0]] * 4, z=[[b"a"], [b"b"]], x=[[i] * i or None for i in range(5)]), packed=False)]
LISTS = ["x", "w", "no"], ["int64", "string", "float32"]


def sequences(serialized, cs=(), cs_types=(), cd=(), defaults=(), shapes=(), fs=(), fs_types=(), fd=(), fd_types=(), fd_shapes=(), missing=(), names=NOTHING, cr=(), cr_types=(), cr_splits=(),
              fr=(), fr_types=(), fr_splits=(), error=False, label=""):
    """Both forms for batches; a scalar goes to the third as well."""
    serialized = np.asarray(serialized, object)
    common = dict(context_sparse_types=list(cs_types), context_dense_shapes=list(shapes), feature_list_sparse_types=list(fs_types), feature_list_dense_types=list(fd_types),
                  feature_list_dense_shapes=list(fd_shapes))
    counts = dict(Ncontext_sparse=len(cs), Nfeature_list_sparse=len(fs), Nfeature_list_dense=len(fd))
    if not cr and not fr:
        case("ParseSequenceExample", serialized, names, list(defaults), error=error, label=label,
             attrs=dict(common, Ncontext_dense=len(cd), context_sparse_keys=list(cs), context_dense_keys=list(cd), feature_list_sparse_keys=list(fs), feature_list_dense_keys=list(fd),
                        feature_list_dense_missing_assumed_empty=list(missing), **counts))
    case("ParseSequenceExampleV2", serialized, names, strings(*cs), strings(*cd), strings(*cr), strings(*fs), strings(*fd), strings(*fr), np.array([key in missing for key in fd], bool),
         list(defaults), error=error, label=label,
         attrs=dict(common, **counts, context_ragged_value_types=list(cr_types), context_ragged_split_types=list(cr_splits), feature_list_ragged_value_types=list(fr_types),
                    feature_list_ragged_split_types=list(fr_splits)))
    if not serialized.shape and not cr and not fr:
        one = [[np.array(key.encode(), object) for key in keys] for keys in (cs, cd, fs, fd)]
        case("ParseSingleSequenceExample", serialized, strings(*missing), *one, list(defaults), np.array(b"name", object), attrs=common, error=error, label=label)


for label, batch in [("three", SEQUENCES), ("empty", [b"", sequence({}, {})]), ("none", []), ("many", SEQUENCES * 40)] + [("single %d" % i, one) for i, one in enumerate(SEQUENCES + [b""])]:
    single_one = isinstance(batch, bytes)
    batch = np.array(batch, object) if batch else np.array(b"", object) if single_one else NOTHING
    sequences(batch, ["c", "none"], ["float32", "string"], fs=LISTS[0], fs_types=LISTS[1], label="sparse, " + label)
    sequences(batch, cd=["n", "d"], defaults=[np.array(5, i64), np.array([[1.0, 2.0]], f32)], shapes=[[], [1, 2]], fd=["y", "z", "no"], fd_types=["float32", "string", "int64"], fd_shapes=[[], [1], [2, 2]],
              missing=["y", "z", "no"], label="dense, " + label)
    sequences(batch, ["c"], ["float32"], ["n"], [np.array(5, i64)], [[]], ["x"], ["int64"], ["y"], ["float32"], [[1]], ["y"], label="both, " + label)
    if not single_one:  # for a scalar TensorFlow leaves the outer splits as memory was
        for split in ("int32", "int64"):
            sequences(batch, cr=["c", "none"], cr_types=["float32", "string"], cr_splits=[split] * 2, fr=LISTS[0], fr_types=LISTS[1], fr_splits=[split] * 3, label="ragged %s, %s" % (split, label))
        sequences(batch, ["c"], ["float32"], ["n"], [np.array(5, i64)], [[]], ["x"], ["int64"], ["y"], ["float32"], [[]], ["y"], cr=["r"], cr_types=["int64"], cr_splits=["int64"],
                  fr=["w"], fr_types=["string"], fr_splits=["int32"], label="all kinds, " + label)
for batch in (np.array(SEQUENCES, object), np.array(SEQUENCES[1], object), np.array(SEQUENCES[0], object)):
    for more in (dict(fd=["no"], fd_types=["float32"], fd_shapes=[[]]), dict(fd=["x"], fd_types=["int64"], fd_shapes=[[3]], missing=["x"]), dict(fd=["y"], fd_types=["int64"], fd_shapes=[[]]),
                 dict(fs=["y"], fs_types=["int64"]), dict(fd=["w"], fd_types=["string"], fd_shapes=[[]]), dict(cd=["d"], defaults=[F], shapes=[[2]]), dict(cd=["n"], defaults=[F], shapes=[[]]),
                 dict(cd=["n"], defaults=[I], shapes=[[2]]), dict(cs=["n"], cs_types=["float32"]), dict(fd=["x"], fd_types=["int64"], fd_shapes=[[None]])):
        sequences(batch, error=True, **more)
sequences(np.array([[SEQUENCES[0]]], object), fs=["x"], fs_types=["int64"], error=True)
