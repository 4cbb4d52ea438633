"""saved — SavedModels written and loaded, variables as constants."""

import numpy as np, tempfile, os


def main(tf):
    out = {}
    d = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        y = tf.matmul(x, w, name="y")
        t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([5], tf.int64)), -1)
        z = t.lookup(tf.constant(["a"]))
        z = tf.identity(z, name="z")
        s.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.simple_save(s, d + "/a", {"x": x}, {"y": y}, legacy_init_op=tf.tables_initializer())
        b = tf.saved_model.builder.SavedModelBuilder(d + "/b")
        sig = tf.saved_model.signature_def_utils.build_signature_def(
            {"i": tf.saved_model.utils.build_tensor_info(x)},
            {"o": tf.saved_model.utils.build_tensor_info(y)},
            tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        b.add_meta_graph_and_variables(s, [tf.saved_model.tag_constants.SERVING], {"k": sig}, clear_devices=True)
        b.add_meta_graph(["extra"])
        out["path"] = os.path.basename(b.save())
    for f in "ab":
        with tf.Graph().as_default(), tf.Session() as s:
            m = tf.saved_model.loader.load(s, [tf.saved_model.tag_constants.SERVING], d + "/" + f)
            out[f] = [
                sorted(m.signature_def),
                s.run("y:0", {"x:0": [[1.0, 1.0]]}),
                [v.name for v in tf.global_variables()],
            ]
            k = sorted(m.signature_def)[0]
            out[f + "i"] = [
                m.signature_def[k].method_name,
                sorted(m.signature_def[k].inputs),
                [dd.size for dd in list(m.signature_def[k].inputs.values())[0].tensor_shape.dim],
            ]
            if f == "a":
                out["z"] = s.run("z:0")
    with tf.Graph().as_default(), tf.Session() as s:
        try:
            tf.saved_model.loader.load(s, ["no"], d + "/a")
        except RuntimeError as e:
            out["err"] = "could not be found in SavedModel" in str(e)
    out["there"] = [
        tf.saved_model.maybe_saved_model_directory(d + "/a"),
        tf.saved_model.maybe_saved_model_directory(d),
    ]
    with tf.Graph().as_default(), tf.Session() as s:
        v = tf.Variable([1.0, 2.0], name="v")
        y = tf.identity(v * 2, name="out")
        s.run(v.initializer)
        g = tf.graph_util.convert_variables_to_constants(s, tf.get_default_graph().as_graph_def(), ["out"])
        out["frozen"] = sorted((n.name for n in g.node))
    with tf.Graph().as_default(), tf.Session() as s:
        (o,) = tf.import_graph_def(g, return_elements=["out:0"])
        out["fv"] = s.run(o)
    return out
