"""wheel — packs the package and the library into a wheel: python3 python/wheel.py build build/python.

The same sources and library give the same bytes: entries are sorted, times are fixed, what the compiler added is stripped.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TAG = "py3-none-linux_x86_64"
METADATA = """Metadata-Version: 2.1
Name: millrace
Version: %s
Summary: TensorFlow's dataflow machine, and the graph mode of TensorFlow 1.15 over it
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
"""
WHEEL = """Wheel-Version: 1.0
Generator: millrace
Root-Is-Purelib: false
Tag: %s
"""


def version(build):
    with open(os.path.join(build, "CMakeCache.txt")) as f:
        match = re.search(r"CMAKE_PROJECT_VERSION:\w+=(\S+)", f.read())
    return match.group(1) if match else "0.1.0"


def stripped(library):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "library")
        subprocess.run(["strip", "--strip-unneeded", "-o", out, library], check=True)
        with open(out, "rb") as f:
            return f.read()


def files(build):
    """{name in the wheel: bytes}."""
    found = {}
    for folder, folders, names in os.walk(os.path.join(HERE, "millrace")):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in names:
            if name.endswith((".py", ".pyi", ".typed")):
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, HERE)] = f.read()
    found["millrace/lib/libmillrace.so.0"] = stripped(os.path.join(build, "lib", "libmillrace.so.0"))
    return found


def main(build, target):
    number = version(build)
    content = files(build)
    info = "millrace-%s.dist-info/" % number
    content[info + "METADATA"] = (METADATA % number).encode()
    content[info + "WHEEL"] = (WHEEL % TAG).encode()
    content[info + "top_level.txt"] = b"millrace\n"
    rows = []
    for name in sorted(content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d" % (name, digest, len(content[name])))
    rows.append(info + "RECORD,,")
    content[info + "RECORD"] = ("\n".join(rows) + "\n").encode()
    os.makedirs(target, exist_ok=True)
    path = os.path.join(target, "millrace-%s-%s.whl" % (number, TAG))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content[name])
    print("%s: %.2f MB" % (path, os.path.getsize(path) / 1e6))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["build", "build/python"]))
