# hash_tables — hash tables: static, mutable, missing keys, initialised twice
from client import TARGET, refused, show, tf

keys, values = tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64)
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
bucketed = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(keys, values - 1), 4)
mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
s = tf.placeholder(tf.string)
with tf.Session(TARGET) as session:
    refused(lambda: session.run(table.lookup(s, name="early"), {s: ["a"]}), "initialized")
    session.run(tf.tables_initializer())
    session.run(tf.tables_initializer())
    show("found", session.run(table.lookup(s), {s: [["a", "z"], ["c", ""]]}))
    show("bucket", session.run(bucketed.lookup(s), {s: ["a", "q", "r"]}))
    show("size", session.run([table.size(), bucketed.size()]))
    session.run(mutable.insert(["x", "y"], [[1.0, 2.0], [3.0, 4.0]]))
    show("mutable", session.run(mutable.lookup(s), {s: ["y", "no"]}))
    exported = session.run(mutable.export())
    print(sorted(zip(exported[0].tolist(), exported[1].tolist())))
    session.run(mutable.remove(tf.constant(["x"])))
    show("size", session.run(mutable.size()))
