# feeds_strings — strings fed, joined, split and fetched
from client import TARGET, np, refused, show, tf

s = tf.placeholder(tf.string)
with tf.Session(TARGET) as session:
    for value in [b"", b"abc", [b"a", b"", b"long " * 40], np.zeros((0, 2), object), [["x", "y\0z"], ["\xe9", "q"]]]:
        show("identity", session.run(tf.identity(s), {s: value}))
    show("join", session.run(tf.strings.join([s, "-", s]), {s: [b"a", b"bc"]}))
    show("number", session.run(tf.strings.to_number(s), {s: [b"1.5", b"-3e2"]}))
    show("length", session.run(tf.strings.length(s), {s: [b"1.5", b""]}))
    show("substr", session.run(tf.strings.substr(s, 1, 2), {s: [b"hello", b"abc"]}))
    show("replace", session.run(tf.strings.regex_replace(s, "l+", "L"), {s: [b"hello", b"all"]}))
    show("hash", session.run(tf.strings.to_hash_bucket_fast(s, 1000), {s: [b"hello", b"all"]}))
    show("as_string", session.run(tf.as_string([1.5, -2.25])))
    parts = session.run(tf.string_split(s), {s: [b"a b c", b"d"]})
    show("split", parts.values)
    show("indices", parts.indices)
    refused(lambda: session.run(tf.strings.to_number(s, name="parse"), {s: [b"word"]}), "word")
