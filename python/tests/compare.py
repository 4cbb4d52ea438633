"""compare — runs the programs of tests/programs on TensorFlow and on Millrace and compares what they give.

    compare.py [--oracle PYTHON] [program ...]

Each program has `main(tf)`, which returns numbers, texts and arrays in dicts and lists. The two runs are two processes. `tf` is
graph mode, or eager mode where the program says EAGER = True.
"""
import argparse
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = """
import importlib.util, pickle, sys
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
eager = getattr(program, "EAGER", False)
if sys.argv[3] == "tensorflow":
    import tensorflow as tf
    if not eager:
        tf = tf.compat.v1
        tf.disable_v2_behavior()
elif eager:
    import millrace as tf
else:
    import millrace.compat.v1 as tf
def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if not hasattr(value, "dtype") or not hasattr(value, "tobytes"):
        return value
    if value.dtype.kind == "O":
        return None, value.shape, value.ravel().tolist()
    return value.dtype.str, value.shape, value.tobytes()
with open(sys.argv[2], "wb") as f:
    pickle.dump(plain(program.main(tf)), f)
"""


def results(python, program, which, out):
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    done = subprocess.run([python, "-c", RUN, program, out, which], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("%s on %s:\n%s" % (os.path.basename(program), which, done.stderr[-3000:]))
    with open(out, "rb") as f:
        return arrays(pickle.load(f))


def arrays(value):
    """What `plain` made of arrays, which pickles of one NumPy are not read by another, as arrays again."""
    import numpy as np
    if isinstance(value, tuple):
        dtype, shape, content = value
        if dtype is None:
            array = np.empty(len(content), object)
            array[:] = content
        else:
            array = np.frombuffer(content, dtype)
        return array.reshape(shape)
    if isinstance(value, dict):
        return {k: arrays(v) for k, v in value.items()}
    return [arrays(v) for v in value] if isinstance(value, list) else value


def differences(a, b, where, tolerance):
    import numpy as np
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return ["%s: keys %s and %s" % (where, sorted(map(str, a)), sorted(map(str, b)))]
        return [d for k in a for d in differences(a[k], b[k], "%s/%s" % (where, k), tolerance)]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return ["%s: %d and %d values" % (where, len(a), len(b))]
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, "%s[%d]" % (where, i), tolerance)]
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind in "OSUb" or a is None:
        same = x.shape == y.shape and bool(np.all(x == y))
    else:
        same = x.dtype == y.dtype and x.shape == y.shape and np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
    return [] if same else ["%s: TensorFlow %s, Millrace %s" % (where, repr(a)[:300], repr(b)[:300])]


def main():
    import tempfile
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", default=os.path.expanduser("~/.cache/millrace/oracle/bin/python"))
    parser.add_argument("--tolerance", type=float, default=2e-4)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    folder = os.path.join(HERE, "programs")
    names = options.programs or sorted(n[:-3] for n in os.listdir(folder) if n.endswith(".py"))
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            program = os.path.join(folder, name + ".py")
            try:
                theirs = results(options.oracle, program, "tensorflow", os.path.join(scratch, "a"))
                ours = results(sys.executable, program, "millrace", os.path.join(scratch, "b"))
                found = differences(theirs, ours, name, options.tolerance)
            except RuntimeError as error:
                found = [str(error)]
            print("%-20s %s" % (name, "equal" if not found else "%d differences" % len(found)))
            for one in found[:12]:
                print("    " + one)
            wrong += bool(found)
    print("%d programs, %d with differences" % (len(names), wrong))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
