"""op_list — every op of TensorFlow against ours, field by field.

    python tests/parity/op_list_parity.py [LIBRARY | FILE]

Run it with the python of an environment that has TensorFlow. LIBRARY is our libtensorflow, by default the one in the
folder that MILLRACE_BUILD names (build/); FILE is a serialized OpList. Compared are names, arguments, attributes,
defaults, minima, allowed values, flags and the version of a deprecation; not the texts and the full types, which ours
leave out. Ops whose names begin with _ are nobody's business. Fails unless all ops are there and equal.
"""
import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dump(library):
    """Writes what TF_GetAllOpList of a library gives. It must be alone in the process: two of them don't agree."""
    class Buffer(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p)]

    companion = library.with_name("libtensorflow_framework.so.2")
    if companion.exists():
        ctypes.CDLL(str(companion), ctypes.RTLD_GLOBAL)
    loaded = ctypes.CDLL(str(library))
    loaded.TF_GetAllOpList.restype = ctypes.POINTER(Buffer)
    buffer = loaded.TF_GetAllOpList().contents
    sys.stdout.buffer.write(ctypes.string_at(buffer.data, buffer.length))
    sys.stdout.flush()
    os._exit(0)


def dumped(library):
    return subprocess.run([sys.executable, __file__, "--dump", library], stdout=subprocess.PIPE, check=True).stdout


def public_ops(serialized):
    from tensorflow.core.framework import op_def_pb2
    ops = op_def_pb2.OpList.FromString(serialized).op
    names = [op.name for op in ops]
    assert len(names) == len(set(names)), "an op stands twice"
    return {op.name: plain(op) for op in ops if not op.name.startswith("_")}


def plain(op):
    """The op without what isn't compared, its default tensors written in one of the possible ways."""
    from tensorflow.python.framework import tensor_util
    for part in [op, *op.input_arg, *op.output_arg, *op.attr]:
        part.ClearField("description")
    op.ClearField("summary")
    for arg in [*op.input_arg, *op.output_arg]:
        arg.ClearField("experimental_full_type")
    if op.HasField("deprecation"):
        assert op.deprecation.explanation, f"{op.name}: a deprecation without a word"
        op.deprecation.ClearField("explanation")
    for attr in op.attr:
        if attr.default_value.HasField("tensor"):
            array = tensor_util.MakeNdarray(attr.default_value.tensor)
            attr.default_value.tensor.CopyFrom(tensor_util.make_tensor_proto(array))
    return op


def main():
    build = pathlib.Path(os.environ.get("MILLRACE_BUILD", ROOT / "build"))
    given = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else build / "lib" / "libtensorflow.so.2"
    wheel = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    theirs = public_ops(dumped(wheel / "libtensorflow_cc.so.2"))
    ours = public_ops(dumped(given) if ".so" in given.name else given.read_bytes())
    for name in sorted(theirs.keys() - ours.keys()):
        print(f"{name}: missing")
    for name in sorted(ours.keys() - theirs.keys()):
        print(f"{name}: TensorFlow has no such op")
    equal = 0
    for name in sorted(theirs.keys() & ours.keys()):
        if theirs[name] == ours[name]:
            equal += 1
            continue
        left, right = str(theirs[name]).splitlines(), str(ours[name]).splitlines()
        at = next((i for i, pair in enumerate(zip(left, right)) if pair[0] != pair[1]), min(len(left), len(right)))
        print(f"{name}: TensorFlow has {left[at - 1:at + 2]}, we have {right[at - 1:at + 2]}")
    print(f"{equal} of {len(theirs)} ops are equal, {len(ours)} are here")
    return equal != len(theirs) or len(ours) != len(theirs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--dump"]:
        dump(pathlib.Path(sys.argv[2]))
    sys.exit(main())
