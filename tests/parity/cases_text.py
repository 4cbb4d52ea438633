# cases_text — what prepares words for a model: runs of words, code points, crossed features, ragged rows, counts by row.
import numpy as np

from cases import boolean, case, f32, f64, i32, i64, script, string, values


def words(*texts):
    return np.array([t if isinstance(t, bytes) else t.encode() for t in texts], object)


def splits(*ends, kind=i64):
    return np.array(ends, kind)


TEXT = words("a", "bc", "d", "efg", "h", "i")
for kind in (i64, i32):
    for widths in ([1], [2], [3, 2], [1, 4]):
        for pad in (-1, 0, 1):
            for short in (False, True):
                case("StringNGrams", TEXT, splits(0, 3, 3, 4, 6, kind=kind),
                     attrs=dict(separator="|", ngram_widths=widths, left_pad="L", right_pad="R", pad_width=pad,
                                preserve_short_sequences=short))
case("StringNGrams", TEXT, splits(1, 6), attrs=dict(separator="|", ngram_widths=[2], left_pad="", right_pad="", pad_width=0,
                                                    preserve_short_sequences=False), error=True)

BAD = words("aé😀", "", b"a\x80b", b"\xe2\x82", b"\xe2\x82a", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80",
            b"\xff\xfe", b"\xe2(\xa1", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80z", b"\x00a\x01\n\x7f")
UNITS = words("aé😀".encode("utf-16-be"), b"\xd8\x00", b"\xdc\x00\x00a", b"\x00", b"\xd8\x00\x00a", b"", b"\x00a\x00")
WIDE = words("aé😀".encode("utf-32-be"), b"\x00\x11\x00\x00", b"\x00\x00\xd8\x00", b"\x00\x00", b"")
for op in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
    for errors in ("replace", "ignore", "strict"):
        for text, encoding in ((BAD, "UTF-8"), (UNITS, "UTF-16-BE"), (WIDE, "UTF-32-BE"), (BAD, "latin1"), (BAD, "US-ASCII")):
            case(op, text, attrs=dict(input_encoding=encoding, errors=errors), error=errors == "strict" and encoding != "latin1")
    case(op, BAD.reshape(5, 3), attrs=dict(input_encoding="UTF-8", replace_control_characters=True, replacement_char=63))
    case(op, words("a"), attrs=dict(input_encoding="nothing"), error=True)
for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
    for errors in ("replace", "ignore"):
        case("UnicodeTranscode", BAD, attrs=dict(input_encoding="UTF-8", output_encoding=encoding, errors=errors))
        case("UnicodeEncode", np.array([97, 233, 0x1f600, 0xd800, 0x110000, -1, 0xfffe, 0x7ff, 0x800], i32), splits(0, 2, 2, 9),
             attrs=dict(output_encoding=encoding, errors=errors))
case("UnicodeEncode", np.array([0xd800], i32), splits(0, 1), attrs=dict(output_encoding="UTF-8", errors="strict"), error=True)
case("UnicodeEncode", np.array([97], i32), splits(0, 2), attrs=dict(output_encoding="UTF-8"), error=True)

PLACES, SHAPE = np.array([[0, 0], [0, 1], [1, 0]], i64), np.array([2, 2], i64)
DENSE = words("x", "y", "z", "w").reshape(2, 2)
NUMBERS = np.array([5, -6, 7], i64)
for feature in (words("a", "b", "c" * 40), NUMBERS):
    for buckets in (0, 100):
        case("SparseCross", [PLACES], [feature], [SHAPE], [DENSE], outs=3,
             attrs=dict(hashed_output=True, num_buckets=buckets, hash_key=956888297470, out_type="int64", internal_type="int64"))
    case("SparseCrossV2", [PLACES], [feature], [SHAPE], [DENSE], np.array(b"-", object))
case("SparseCross", [PLACES, PLACES], [words("a", "b", "c"), words("d", "e", "f")], [SHAPE, SHAPE], [DENSE],
     attrs=dict(hashed_output=False, num_buckets=0, hash_key=1, out_type="string", internal_type="string"))

for values_kind in (f32, f64, i32, i64, string, boolean):
    rows, filler = values(values_kind, (5, 2)), values(values_kind, (2,))
    for shape in ([-1, -1, 2], [3, 2, 2], [6, 5, -1]):
        case("RaggedTensorToTensor", np.array(shape, i64), rows, filler, [splits(0, 2, 2, 5)], const=[0],
             attrs=dict(row_partition_types=["ROW_SPLITS"]), grad=values_kind in (f32, f64))
    case("RaggedTensorToTensor", np.array(-1, i64), rows, filler[:1].reshape(()), [np.array(4, i64), np.array([0, 0, 2, 3, 3], i64)], const=[0],
         attrs=dict(row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"]), grad=values_kind in (f32, f64))
    case("RaggedTensorToTensor", np.array([-1, -1, -1, 2], i32), rows, filler[:1], [splits(0, 2, 3), splits(0, 1, 3, 5)], const=[0],
         attrs=dict(row_partition_types=["ROW_SPLITS", "ROW_SPLITS"]), grad=values_kind in (f32, f64))
case("RaggedTensorToTensor", np.array(-1, i64), values(f32, (2,)), values(f32, ()), [splits(0, 4, 2)], const=[0],
     attrs=dict(row_partition_types=["ROW_SPLITS"]), error=True)

for kind in (i32, i64):
    numbers = np.array([1, 0, 1, 1, 4], kind)
    for weights in (np.zeros(0, f32), values(f32, (5,)), values(f64, (5,)), np.arange(5, dtype=i32), np.arange(5, dtype=i64)):
        for binary in (False, True):
            case("RaggedBincount", splits(0, 2, 2, 5), numbers, np.array(4, kind), weights, attrs=dict(binary_output=binary))
            case("SparseBincount", np.array([[0, 0], [0, 3], [1, 1], [2, 0], [2, 8]], i64), numbers, np.array([3, 9], i64),
                 np.array(4, kind), weights, attrs=dict(binary_output=binary))
            case("SparseBincount", np.array([[0], [3], [4], [5], [6]], i64), numbers, np.array([9], i64), np.array(4, kind), weights,
                 attrs=dict(binary_output=binary))


# ---- tables of open hashing: what they export is their memory, to the place

def dense_table(op, keys, more, empty, deleted, width=()):
    @script(op, label="%s %s" % (keys.dtype, list(keys.shape)))
    def build(tf):
        raw = tf.raw_ops
        table = raw.MutableDenseHashTableV2(empty_key=tf.constant(empty), deleted_key=tf.constant(deleted), value_dtype=tf.float32,
                                            value_shape=list(width), initial_num_buckets=4, shared_name="t")
        n = len(keys)
        rows = tf.constant(np.arange(n * int(np.prod(width)), dtype=f32).reshape((n,) + width))
        k = tf.constant(keys)
        insert = raw.LookupTableInsertV2(table_handle=table, keys=k, values=rows)
        find = raw.LookupTableFindV2(table_handle=table, keys=tf.constant(more), default_value=tf.constant(np.full(width, -1, f32)))
        size = raw.LookupTableSizeV2(table_handle=table)
        remove = raw.LookupTableRemoveV2(table_handle=table, keys=k[:1])
        bad = raw.LookupTableInsertV2(table_handle=table, keys=tf.constant(empty)[None], values=rows[:1])
        whole = raw.LookupTableExportV2(table_handle=table, Tkeys=k.dtype, Tvalues=tf.float32)
        other = raw.MutableDenseHashTableV2(empty_key=tf.constant(empty), deleted_key=tf.constant(deleted), value_dtype=tf.float32,
                                            value_shape=list(width), initial_num_buckets=4, shared_name="other")
        again = raw.LookupTableImportV2(table_handle=other, keys=whole.keys, values=whole.values)
        same = raw.LookupTableFindV2(table_handle=other, keys=tf.constant(more), default_value=tf.constant(np.full(width, -1, f32)))
        return [([], {}, [insert]), ([find, size], {}, []), ([whole.keys, tf.shape(whole.values)], {}, []), ([], {}, [again]),
                ([same], {}, []), ([], {}, [remove]), ([find, size], {}, []),
                ([], {}, [bad], {"error": True})]


dense_table("MutableDenseHashTableV2", np.array([3, 9], i64), np.array([9, 5, 3], i64), np.int64(-1), np.int64(-2))
dense_table("MutableDenseHashTableV2", np.array([0, 1, 2, 3, 4, 5, 6, 7, 8], i64), np.array([9, 5, 3, 0, 11], i64), np.int64(-1), np.int64(-2), (2,))
dense_table("MutableDenseHashTableV2", np.array([[3, 4], [-5, 6]], i64), np.array([[3, 4], [4, 3]], i64), np.array([0, 0], i64), np.array([1, 1], i64))
dense_table("MutableDenseHashTableV2", words("a", "some words"), words("x", "a"), b"", b"-")


@script("LookupTableImportV2")
def imported(tf):
    raw = tf.raw_ops
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="once")
    some = raw.LookupTableImportV2(table_handle=table, keys=tf.constant([b"a", b"b"]), values=tf.constant([1, 2], tf.int64))
    fewer = raw.LookupTableImportV2(table_handle=table, keys=tf.constant([b"a"]), values=tf.constant([1], tf.int64))
    find = raw.LookupTableFindV2(table_handle=table, keys=tf.constant([b"b", b"x"]), default_value=tf.constant(7, tf.int64))
    whole = raw.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64).values
    bad = {"error": True}
    return [([find], {}, [], bad), ([whole], {}, [], bad), ([], {}, [some]), ([find], {}, []), ([], {}, [some]), ([], {}, [fewer], bad)]


@script("InitializeTableFromTextFileV2")
def from_files(tf):
    import os
    raw, steps = tf.raw_ops, []
    folder = os.environ.get("MILLRACE_BUILD", "/tmp")

    def file(name, text):
        path = os.path.join(folder, "parity-" + name)
        with open(path, "w") as f:
            f.write(text)
        return path

    plain, empty, holes = file("plain", "a\nb\nc\n"), file("empty", ""), file("holes", "a\n\nb\n")
    columns, missing = file("columns", "1\tx\n2\ty\n"), os.path.join(folder, "parity-not-there")
    rows = [(plain, -2, -1, tf.int64, {}), (plain, -2, -1, tf.int64, dict(offset=2)), (plain, -2, -1, tf.int64, dict(vocab_size=2)),
            (plain, -2, -1, tf.int64, dict(vocab_size=9)), (empty, -2, -1, tf.int64, {}), (holes, -2, -1, tf.int64, {}),
            (missing, -2, -1, tf.int64, {}), (folder, -2, -1, tf.int64, {}), (plain, -2, -1, tf.int32, {}),
            (columns, 1, 0, tf.float32, {}), (columns, 1, 0, tf.int32, {}), (columns, 0, 1, tf.int64, {}),
            (columns, 0, 2, tf.int64, {}), (columns, 0, -1, tf.int64, dict(delimiter=" "))]
    for i, (path, key, value, kind, more) in enumerate(rows):
        table = raw.HashTableV2(key_dtype=tf.string, value_dtype=kind, shared_name="file%d" % i)
        fill = raw.InitializeTableFromTextFileV2(table_handle=table, filename=tf.constant(path), key_index=key, value_index=value, **more)
        found = raw.LookupTableFindV2(table_handle=table, keys=tf.constant([b"a", b"b", b"c", b"x", b"1\tx"]),
                                      default_value=tf.constant(-1, kind))
        refused = {"error": True} if i in (3, 4, 5, 6, 7, 8, 11, 12) else {}
        steps += [([], {}, [fill], refused), ([found], {}, [], refused)]
    return steps
