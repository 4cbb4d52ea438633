"""compare — runs the programs of tests/programs on TensorFlow and on Millrace and compares what they give.

    compare.py [--oracle PYTHON] [program ...]

Each program has `main(tf)`, which returns numbers, texts and arrays in dicts and lists. `tf` is graph mode, or eager mode where
the program says EAGER = True: one process of either side runs all programs of a mode, so TensorFlow is imported twice in all.
"""
import argparse
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = """
import importlib.util, os, pickle, sys, traceback
which, folder, eager = sys.argv[1], sys.argv[2], sys.argv[3] == "eager"
if which == "tensorflow":
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
for path in sys.argv[4:]:
    if not eager:
        tf.reset_default_graph()
    try:
        spec = importlib.util.spec_from_file_location("program", path)
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        found = True, plain(program.main(tf))
    except Exception:
        found = False, traceback.format_exc()
    with open(os.path.join(folder, os.path.basename(path)), "wb") as f:
        pickle.dump(found, f)
"""


def results(python, programs, which):
    """{program: what it gives, or a text with the error}: a process for graph mode, and one for eager mode."""
    import tempfile
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    found = {}
    for eager in (False, True):
        some = [p for p in programs if is_eager(p) == eager]
        if not some:
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([python, "-c", RUN, which, folder, "eager" if eager else "graph"] + some, env=env,
                                  capture_output=True, text=True)
            for program in some:
                answer = os.path.join(folder, os.path.basename(program))
                if not os.path.exists(answer):
                    found[program] = "%s ended early:\n%s" % (which, done.stderr[-3000:])
                    continue
                with open(answer, "rb") as f:
                    fine, value = pickle.load(f)
                found[program] = arrays(value) if fine else "%s:\n%s" % (which, value[-3000:])
    return found


def is_eager(program):
    with open(program) as f:
        return "EAGER = True" in f.read()


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
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", default=os.path.expanduser("~/.cache/millrace/oracle/bin/python"))
    parser.add_argument("--tolerance", type=float, default=2e-4)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    folder = os.path.join(HERE, "programs")
    names = options.programs or sorted(n[:-3] for n in os.listdir(folder) if n.endswith(".py"))
    programs = [os.path.join(folder, name + ".py") for name in names]
    theirs = results(options.oracle, programs, "tensorflow")
    ours = results(sys.executable, programs, "millrace")
    wrong = 0
    for name, program in zip(names, programs):
        a, b = theirs[program], ours[program]
        failed = [one for one in (a, b) if isinstance(one, str)]
        found = failed or differences(a, b, name, options.tolerance)
        print("%-20s %s" % (name, "equal" if not found else "%d differences" % len(found)))
        for one in found[:12]:
            print("    " + one)
        wrong += bool(found)
    print("%d programs, %d with differences" % (len(names), wrong))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
