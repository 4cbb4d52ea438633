"""texts — Strings, numbers in text, tables, readers."""

import numpy as np, tempfile, os


def main(tf):
    out = {}
    a = tf.constant([b"a b c", b"", b"d  e"])
    sp = tf.string_split(a)
    out["split"] = [sp.indices, sp.values, sp.dense_shape]
    out["split2"] = (
        list(tf.string_split(["a,b", "c"], ",")[0:0]) if False else [tf.string_split(["a,b", "c"], ",").values]
    )
    out["join"] = [
        tf.strings.join(["a", a], "-"),
        tf.reduce_join([["a", "b"], ["c", "d"]], 0),
        tf.reduce_join([["a", "b"]], separator="/"),
        tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=[0, 1]),
    ]
    out["len"] = [
        tf.strings.length(a),
        tf.substr(a, 0, 1) if False else tf.strings.substr(["hello"], 1, 2),
        tf.strings.strip([" x "]),
        tf.strings.lower(["AbC"]),
        tf.strings.upper("x"),
    ]
    out["num"] = [
        tf.string_to_number(["1.5", "2"]),
        tf.strings.to_number("7", tf.int32),
        tf.as_string([1.5, 2.0]),
        tf.as_string([True, False]),
        tf.as_string(3),
    ]
    out["hash"] = [
        tf.string_to_hash_bucket_fast(["a", "b"], 10),
        tf.string_to_hash_bucket_strong(["a"], 10, [1, 2]),
        tf.string_to_hash_bucket(["a"], 10),
    ]
    out["re"] = [
        tf.regex_replace("aabb", "b+", "x"),
        tf.strings.regex_full_match(["aa", "b"], "a+"),
        tf.strings.format("x={}", [tf.constant([1, 2])]),
    ]
    out["b64"] = [tf.encode_base64("hello"), tf.decode_base64(tf.encode_base64("hello"))]
    out["raw"] = [tf.decode_raw(b"\x01\x00\x02\x00", tf.int16), tf.decode_csv(["1,a,2.5", ",b,"], [[7], [""], [1.0]])]
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)
    v = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3
    )
    d = tempfile.mkdtemp()
    f = os.path.join(d, "v")
    open(f, "w").write("x\ny\nz\n")
    tt = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            f, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        ),
        -1,
    )
    m = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2)
    ins = m.insert(tf.constant([1, 2], tf.int64), [3.0, 4.0])
    look = [
        t.lookup(tf.constant(["b", "q"])),
        t.size(),
        v.lookup(tf.constant(["a", "zz", "yy"])),
        v.size(),
        tt.lookup(tf.constant(["z", "q"])),
        t.lookup(tf.SparseTensor([[0]], ["a"], [2])).values,
    ]
    ml = m.lookup(tf.constant([2, 9], tf.int64))
    with tf.Session() as s:
        s.run(tf.tables_initializer())
        out = s.run(out)
        out["look"] = s.run(look)
        s.run(ins)
        out["m"] = s.run(ml)
        p = tf.placeholder(tf.string, [None])
        q = tf.FIFOQueue(10, [tf.string])
        r = tf.TextLineReader()
        k, val = r.read(q)
        s.run(q.enqueue_many([[f]]))
        got = s.run([k, val])
        out["reader"] = [os.path.basename(got[0]), got[1], s.run(val)]
        w = tf.WholeFileReader()
        q2 = tf.FIFOQueue(10, [tf.string])
        s.run(q2.enqueue([f]))
        out["whole"] = s.run(w.read(q2))[1]
    return out
