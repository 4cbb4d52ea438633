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
