#!/usr/bin/env python3
# written_models_parity — a SavedModel that `millrace train` wrote, loaded by TensorFlow's two loaders and shown by saved_model_cli: the
# answers are Millrace's to 1e-5.
#
# usage: MILLRACE_BUILD=build ~/.cache/millrace/oracle/bin/python tests/parity/written_models_parity.py
import gzip
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

DATA = "/usr/share/datasets/fashion-mnist"
COMMAND = os.path.join(os.environ.get("MILLRACE_BUILD", "build"), "bin", "millrace")


def main():
    folder = tempfile.mkdtemp()
    model, pictures = os.path.join(folder, "saved"), "%s/t10k-images-idx3-ubyte.gz" % DATA
    subprocess.run([COMMAND, "train", "--output", folder + "/m.pb", "--saved-model", model, "--epochs", "0.05", "--json"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([COMMAND, "run", model, "--input", "images=@%s[0:50]" % pictures, "--output", "probabilities=@%s/p.npy" % folder], check=True)
    ours = np.load(folder + "/p.npy")
    images = np.frombuffer(gzip.open(pictures).read(), np.uint8, offset=16).reshape(-1, 28, 28)[:50]
    wrong = 0

    def compare(what, theirs):
        nonlocal wrong
        distance = float(np.abs(ours - theirs).max())
        wrong += distance > 1e-5
        print("%-40s %.2g apart" % (what, distance))
    loaded = tf.saved_model.load(model)
    compare("tf.saved_model.load", loaded.signatures["serving_default"](images=tf.constant(images))["probabilities"].numpy())
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        meta = tf.compat.v1.saved_model.loader.load(session, ["serve"], model)
        signature = meta.signature_def["serving_default"]
        compare("tf.compat.v1.saved_model.loader.load",
                session.run(signature.outputs["probabilities"].name, {signature.inputs["images"].name: images}))
    shown = subprocess.run([os.path.join(os.path.dirname(sys.executable), "saved_model_cli"), "show", "--dir", model, "--all"],
                           capture_output=True, text=True).stdout
    for words in ("signature_def['serving_default']", "inputs['images']", "dtype: DT_UINT8", "shape: (-1, 28, 28)", "outputs['label']",
                  "tensorflow/serving/predict"):
        if words not in shown:
            wrong += 1
            print("saved_model_cli does not show %s" % words)
    print("written_models_parity: %d wrong" % wrong)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
