# saved_models — SavedModels as today's TensorFlow and Keras write them, with tables, vocabularies and files beside them.
#
# A model is a row of `all_models`: name, a function of tensors, the tensors that it is called with. `write` leaves a folder for
# each and says what TensorFlow answers. Needs TensorFlow, in a process of its own.
import os
import pickle

import numpy as np
import tensorflow as tf

L, lookup = tf.keras.layers, tf.lookup
WORDS = tf.constant(["a", "b", "zz", "c", "", "b"])
NUMBERS = tf.constant([1, 5, 7, 9, 3, 1], tf.int64)
TEXTS = tf.constant(["the quick, brown fox!", "Jumps over the lazy dog.", "", "fox fox"])
WORD, NUMBER, TEXT = WORDS[:, None], NUMBERS[:, None], TEXTS[:, None]


def file_of(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def adapted(layer, data):
    layer.adapt(data)
    return layer


def lookups(folder):
    abc, odd = ["a", "b", "c"], [5, 7, 9]
    yield "strings", L.StringLookup(vocabulary=abc), WORD
    yield "strings_oov", L.StringLookup(vocabulary=abc, num_oov_indices=2), WORD
    yield "strings_mask", L.StringLookup(vocabulary=abc, num_oov_indices=3, mask_token=""), WORD
    yield "strings_back", L.StringLookup(vocabulary=abc, invert=True), NUMBER
    for mode in "one_hot", "multi_hot", "count":
        yield "strings_" + mode, L.StringLookup(vocabulary=abc, output_mode=mode), WORD
    yield "strings_tf_idf", L.StringLookup(vocabulary=abc, output_mode="tf_idf", idf_weights=[.5, .6, .7]), WORD
    yield "strings_file", L.StringLookup(vocabulary=file_of(folder, "abc.txt", "a\nb\nc\nd\n")), WORD
    yield "strings_adapted", adapted(L.StringLookup(), tf.constant(["x", "b", "x", "z", "b"])), WORD
    yield "integers", L.IntegerLookup(vocabulary=odd), NUMBER
    yield "integers_oov", L.IntegerLookup(vocabulary=odd, num_oov_indices=2), NUMBER
    yield "integers_back", L.IntegerLookup(vocabulary=odd, invert=True), NUMBER
    yield "integers_multi_hot", L.IntegerLookup(vocabulary=odd, output_mode="multi_hot"), NUMBER


def preprocessing(folder):
    for mode in "one_hot", "multi_hot", "count":
        yield "categories_" + mode, L.CategoryEncoding(num_tokens=12, output_mode=mode), NUMBER
    yield "hashed", L.Hashing(num_bins=7), WORD
    yield "hashed_salt", L.Hashing(num_bins=7, salt=[11, 137]), WORD
    yield "hashed_mask", L.Hashing(num_bins=7, mask_value=""), WORD
    yield "hashed_integers", L.Hashing(num_bins=7), NUMBER
    yield "crossed", L.HashedCrossing(num_bins=5), (WORD, NUMBER)
    for mode in "multi_hot", "count", "tf_idf":
        yield "text_" + mode, adapted(L.TextVectorization(output_mode=mode), TEXTS), TEXT
    yield "text_int", adapted(L.TextVectorization(output_sequence_length=6), TEXTS), TEXT
    yield "text_any_length", adapted(L.TextVectorization(), TEXTS), TEXTS
    yield "text_ngrams", adapted(L.TextVectorization(ngrams=2), TEXTS), TEXTS
    yield "text_letters", adapted(L.TextVectorization(split="character", standardize="lower"), TEXTS), TEXTS
    rows = np.linspace(0, 2, 27, dtype=np.float32).reshape(9, 3) ** 2
    yield "normalized", adapted(L.Normalization(), rows), tf.constant(rows[:4])
    yield "buckets", L.Discretization(bin_boundaries=[0., 1., 2.]), tf.constant([[-1.], [.5], [1.5], [9.]])


def tables(folder):
    words = file_of(folder, "words.txt", "a\nb\nc\nd\n")
    columns = file_of(folder, "columns.tsv", "a\t1.5\nb\t2.5\n")
    lines = lookup.TextFileInitializer(words, tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER)
    floats = lookup.TextFileInitializer(columns, tf.string, 0, tf.float32, 1)
    pairs = lookup.KeyValueTensorInitializer
    some = pairs(tf.constant([5, 7], tf.int64), tf.constant([0, 1], tf.int64))
    yield "static", lookup.StaticHashTable(pairs(tf.constant(["a", "b"]), tf.constant([3, 4], tf.int64)), -1), WORD
    yield "static_floats", lookup.StaticHashTable(pairs(tf.constant([5, 7], tf.int64), tf.constant([3.5, 4.])), -1.), NUMBER
    yield "static_words", lookup.StaticHashTable(pairs(tf.constant([5, 7], tf.int64), tf.constant(["x", "y"])), "?"), NUMBER
    yield "static_file", lookup.StaticHashTable(lines, -1), WORD
    yield "static_columns", lookup.StaticHashTable(floats, -1.), WORD
    yield "vocabulary", lookup.StaticVocabularyTable(lines, 3), WORD
    yield "vocabulary_integers", lookup.StaticVocabularyTable(some, 3), NUMBER
    yield "vocabulary_empty", lookup.StaticVocabularyTable(None, 3), WORD
    changed = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    changed.insert(tf.constant(["a", "zz"]), tf.constant([7, 8], tf.int64))
    yield "mutable", changed, WORD
    rows = lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0., 0.])
    rows.insert(tf.constant([5, 7], tf.int64), tf.constant([[7., 1], [8, 2]]))
    yield "mutable_rows", rows, NUMBERS
    dense = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2)
    dense.insert(tf.constant([5, 7], tf.int64), tf.constant([7, 8], tf.int64))
    yield "dense", dense, NUMBER


def write_module(folder, name, thing, values):
    values = values if isinstance(values, tuple) else (values,)
    call = thing if isinstance(thing, L.Layer) else thing.lookup
    specs = [tf.TensorSpec([None] + list(x.shape[1:]), x.dtype, name="in%d" % i) for i, x in enumerate(values)]
    module = tf.Module()
    module.kept = thing
    module.f = tf.function(lambda *xs: {"y": call(xs if len(xs) > 1 else xs[0])}, input_signature=specs)
    expect = {key: y.numpy() for key, y in module.f(*values).items()}
    tf.saved_model.save(module, os.path.join(folder, name), signatures=module.f)
    return {"in%d" % i: x.numpy() for i, x in enumerate(values)}, expect


def write_keras(folder, name):
    """A net for columns of words and of numbers, as Keras exports it."""
    words, numbers = tf.keras.Input((1,), dtype="string", name="word"), tf.keras.Input((3,), name="numbers")
    rows = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)
    one_hot = L.StringLookup(vocabulary=["a", "b", "c"], output_mode="one_hot")(words)
    joined = L.Concatenate()([one_hot, adapted(L.Normalization(), rows)(numbers)])
    net = tf.keras.Model([words, numbers], L.Dense(2)(joined))
    net.export(os.path.join(folder, name), verbose=False)
    return {"word": WORD.numpy(), "numbers": rows}, {"output_0": net([WORD, tf.constant(rows)]).numpy()}


def write_old(folder, name, main_op):
    """As TensorFlow 1 wrote them: references, a collection of assets, an initializer by name."""
    v1, words = tf.compat.v1, file_of(folder, "old.txt", "a\nb\nc\n")
    with v1.Graph().as_default(), v1.Session() as session:
        initial = v1.constant(words)
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, initial)
        table = lookup.StaticHashTable(lookup.TextFileInitializer(initial, tf.string, -2, tf.int64, -1), -1)
        scale = v1.get_variable("scale", initializer=tf.constant(3, tf.int64), use_resource=False)
        x = v1.placeholder(tf.string, [None], name="x")
        y = tf.multiply(table.lookup(x), scale, name="y")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(os.path.join(folder, name))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        start = {"main_op": v1.tables_initializer()} if main_op else {"legacy_init_op": v1.tables_initializer()}
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature},
                                             v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), **start)
        builder.save()
        expect = session.run(y, {x: WORDS.numpy()})
    os.remove(words)    # what is loaded must be the copy in the model
    return {"x": WORDS.numpy()}, {"y": expect}


def write(folder):
    """Writes every model below `folder`, and answers.pickle: {name: (inputs, outputs)}."""
    sources = os.path.join(folder, "sources")
    os.makedirs(sources, exist_ok=True)
    answers = {}
    for family in lookups, preprocessing, tables:
        for name, thing, values in family(sources):
            answers[name] = write_module(folder, name, thing, values)
    answers["keras"] = write_keras(folder, "keras")
    answers["old_main_op"] = write_old(folder, "old_main_op", True)
    answers["old_legacy"] = write_old(folder, "old_legacy", False)
    for name in os.listdir(sources):
        os.remove(os.path.join(sources, name))
    with open(os.path.join(folder, "answers.pickle"), "wb") as f:
        pickle.dump(answers, f)
