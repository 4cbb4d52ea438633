"""Savers: how many are kept, what is restored from where, averages in the place of variables, partitioned variables."""
import os
import tempfile

import numpy as np


def main(tf):
    folder, result = tempfile.mkdtemp(), {}
    name = lambda path: os.path.basename(path) if path else path
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.arange(4, dtype=np.float32))
        parts = tf.get_variable("parts", [5, 2], initializer=tf.constant_initializer(2.0), partitioner=tf.fixed_size_partitioner(2))
        step = tf.train.get_or_create_global_step()
        average = tf.train.ExponentialMovingAverage(0.9, step)
        change = tf.group(v.assign_add([1.0, 2.0, 3.0, 4.0]), step.assign_add(1))
        with tf.control_dependencies([change]):
            follow = average.apply([v])
        saver = tf.train.Saver(max_to_keep=2)
        session.run(tf.global_variables_initializer())
        for i in range(4):
            session.run(follow)
            saver.save(session, os.path.join(folder, "model"), global_step=i)
        result["kept"] = [name(p) for p in saver.last_checkpoints]
        result["values"] = session.run([v, average.average(v), step])
    latest = tf.train.latest_checkpoint(folder)
    result["latest"] = name(latest), sorted(tf.train.list_variables(latest))
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [4])
        whole = tf.get_variable("parts", [5, 2])
        average = tf.train.ExponentialMovingAverage(0.9)
        names = average.variables_to_restore([v])
        result["names"] = sorted(names)
        tf.train.Saver({"v/ExponentialMovingAverage": v, "parts": whole}).restore(session, latest)
        result["restored"] = session.run([v, whole])
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(latest + ".meta")
        saver.restore(session, os.path.join(folder, "model-2"))
        result["imported"] = session.run("v:0"), session.run(tf.train.get_global_step())
        result["collections"] = sorted(set(tf.get_default_graph().get_all_collection_keys()) - {"cond_context"})
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("scope/w", [4], initializer=tf.zeros_initializer())
        tf.train.init_from_checkpoint(folder, {"v": w})
        session.run(tf.global_variables_initializer())
        result["initialized"] = session.run(w)
        missing = tf.get_variable("absent", [1])
        try:
            tf.train.Saver([missing]).restore(session, latest)
        except tf.errors.NotFoundError as error:
            result["absent"] = "absent" in str(error) and "not found in checkpoint" in str(error)
    return result
