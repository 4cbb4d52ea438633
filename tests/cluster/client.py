# client — what every script begins with: TensorFlow in graph mode, the servers' addresses, how a refusal is shown.
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.FATAL)
TARGET = sys.argv[1]
TARGETS = sys.argv[1:]  # of scripts for several tasks: the workers
np.set_printoptions(precision=6, suppress=False, threshold=200, linewidth=1000)


def refused(what, *words):
    """Calls it, and shows the class of the error, the node it blames and which of the words its text has."""
    try:
        print("not refused:", what())
    except tf.errors.OpError as error:
        named = error.op.name if error.op is not None else None
        print(type(error).__name__, "op:", named, "has:", [word for word in words if word in str(error)])
    except Exception as error:
        print(type(error).__name__, "has:", [word for word in words if word in str(error)])


def show(label, value):
    """A value with its type and shape."""
    value = np.asarray(value)
    print(label, value.dtype, value.shape, value.reshape(-1).tolist() if value.size <= 64 else value.sum())
