"""projects — runs the tests of published TensorFlow 1 projects, unmodified, on Millrace: projects.py [--folder F] [name ...]

Each is fetched from the package registry into the folder and unpacked; its test files run one by one under
`python -m millrace.tf1`. Writes a table, with what failed by name, to --table.
"""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree
import zipfile

# name==version, the test files (patterns below the unpacked folder), packages that it needs beside (with NumPy below 1.24, which
# their years knew, for most)
PROJECTS = [
    ("tf_slim==1.1.0", ["tf_slim/*_test.py", "tf_slim/[dlmot]*/*_test.py"], []),
    ("tflearn==0.5.0", ["*/tests/test_*.py"], ["Pillow==9.5.0"]),
    ("gpflow==1.5.1", ["*/tests/test_*.py", "*/gpflow/test_*.py"], ["multipledispatch", "tabulate", "h5py", "pandas", "scipy"]),
    ("tensorflow-constrained-optimization==0.2", ["*/python/**/*_test.py"], ["scipy"]),
    ("tensorrec==0.26.2", ["*/test/test_*.py", "test/test_*.py"], ["scipy"]),
    ("bert-tensorflow==1.0.4", ["*/bert/*_test.py"], []),
    ("trfl==1.2.0", ["trfl/*_test.py"], ["tensorflow-probability==0.7.0", "decorator", "cloudpickle", "dm-tree", "wrapt"]),
    ("graph_nets==1.0.5", ["*/graph_nets/tests/*_test.py"], ["networkx", "dm-sonnet==1.36", "contextlib2"]),
    ("prettytensor==0.7.4", ["prettytensor/**/*_test.py"], []),
    ("tensorpack==0.11", ["*/tensorpack/**/*_test.py", "*/tests/**/*_test.py"],
     ["msgpack", "msgpack-numpy", "tabulate", "termcolor", "tqdm", "psutil"]),
    ("aboleth==0.9.0", ["*/tests/test_*.py"], ["multipledispatch"]),
    ("keras==2.3.1", ["*/tests/keras/**/*_test.py"], ["keras_applications", "keras_preprocessing", "pyyaml", "h5py"]),
    ("keras-bert==0.86.0", ["*/tests/test_*.py", "*/tests/**/test_*.py"], ["keras-pos-embd", "keras-transformer"]),
    ("tensorforce==0.4.3", ["tensorforce/tests/test_*.py"], ["tqdm"]),
    ("inferpy==1.3.1", ["*/tests/**/test_*.py"], ["networkx", "tensorflow-probability==0.7.0"]),
    ("tensorflow-gan==2.0.0", ["tensorflow_gan/python/**/*_test.py"], ["tensorflow-probability==0.7.0", "tensorflow-hub==0.7.0"]),
    ("texar==0.2.4", ["*/texar/tf/core/*_test.py", "*/texar/tf/utils/*_test.py", "*/texar/tf/losses/*_test.py",
                      "*/texar/tf/modules/**/*_test.py"], ["funcsigs", "tensorflow-probability==0.7.0"]),
    ("wavenet==0.1.2", ["*/wavenet/test_*.py"], []),
    ("tfmpl==1.0.2", ["tfmpl/tests/test_*.py"], ["matplotlib"]),
]
Outcome = collections.namedtuple("Outcome", ["passed", "failed", "skipped", "reasons"])


def unpacked(folder, requirement, needs):
    """The project's files, fetched once; what it needs is put beside them."""
    place = os.path.join(folder, re.split("==", requirement)[0])
    if not os.path.isdir(place):
        fetched = os.path.join(folder, "fetched")
        pip = [sys.executable, "-m", "pip", "-q"]
        if subprocess.run(pip + ["download", "--no-deps", "-d", fetched, requirement]).returncode:
            return None
        name = re.split("==", requirement)[0].replace("-", "[-_]").lower()
        file = next(f for f in sorted(os.listdir(fetched)) if re.match(name + r"[-_]\d", f.lower()))
        path = os.path.join(fetched, file)
        with zipfile.ZipFile(path) if path.endswith(".whl") else tarfile.open(path) as archive:
            archive.extractall(place)
        if needs:
            subprocess.run(pip + ["install", "--no-deps", "--target", os.path.join(place, "beside")] + needs)
    return place


def run_file(place, path, seconds):
    report = os.path.join(place, "report.xml")
    os.makedirs(os.path.join(place, "beside"), exist_ok=True)
    root = next((os.path.dirname(p) for p in _parents(path, place) if not os.path.exists(os.path.join(
        os.path.dirname(p), "__init__.py"))), place)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [root] + list(_parents(os.path.dirname(path), place)) + [place, os.path.join(place, "beside"), os.environ.get("PYTHONPATH", "")]))
    with open(os.path.join(place, "beside", "flags_are_parsed.py"), "w") as f:
        f.write("from absl import flags\nflags.FLAGS.mark_as_parsed()\n")   # as their own main programs do
    command = [sys.executable, "-m", "millrace.tf1", "-m", "pytest", "-q", "-p", "flags_are_parsed", "--tb=line", "-p", "no:cacheprovider",
               "--rootdir", root, "--import-mode=importlib", "--junitxml", report, path]
    if os.path.exists(report):
        os.remove(report)
    try:
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Outcome(0, 1, 0, [(os.path.basename(path), "not done after %d seconds" % seconds)])
    if not os.path.exists(report):
        return Outcome(0, 1, 0, [(os.path.basename(path), (done.stderr or done.stdout).strip()[-300:])])
    return parse(report)


def _parents(path, place):
    while path != place and path != "/":
        yield path
        path = os.path.dirname(path)


def parse(report):
    passed, failed, skipped, reasons = 0, 0, 0, []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if bad is not None:
            failed += 1
            reasons.append(("%s.%s" % (case.get("classname", "").split(".")[-1], case.get("name")), bad.get("message", "")))
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, failed, skipped, reasons)


def reason(message):
    """The first line of an error, short and without addresses."""
    line = next((l for l in message.strip().splitlines() if l.strip()), "")
    line = re.sub(r"0x[0-9a-f]+|/\S+/", "", line)
    return line[:150].replace("|", "/")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=os.path.join(os.path.expanduser("~"), ".cache", "millrace", "projects"))
    parser.add_argument("--seconds", type=int, default=120, help="for one file")
    parser.add_argument("--table", help="where to write the page")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    rows, details = [], []
    for requirement, patterns, needs in PROJECTS:
        if options.names and requirement.split("==")[0] not in options.names:
            continue
        place = unpacked(options.folder, requirement, needs)
        if place is None:
            print("%-28s not in the registry" % requirement)
            continue
        files = sorted({f for p in patterns for f in glob.glob(os.path.join(place, p), recursive=True)})
        found = [run_file(place, f, options.seconds) for f in files if os.sep + "beside" + os.sep not in f]
        passed, failed, skipped = [sum(getattr(o, k) for o in found) for k in ("passed", "failed", "skipped")]
        print("%-28s %3d files: %4d run, %4d passed, %4d failed, %3d skipped" % (
            requirement, len(found), passed + failed, passed, failed, skipped), flush=True)
        rows.append("| %s | %d | %d | %d | %d |" % (requirement, len(found), passed + failed, passed, failed))
        causes = collections.OrderedDict()
        for o in found:
            for name, message in o.reasons:
                causes.setdefault(reason(message), []).append(name)
        details.append((requirement, causes))
        for cause, names in sorted(causes.items(), key=lambda c: -len(c[1])):
            print("    %4d  %s   (%s)" % (len(names), cause, names[0]))
    if options.table:
        write_table(options.table, rows, details)


def write_table(path, rows, details):
    with open(path, "w") as f:
        f.write("# Published TensorFlow 1 projects, unmodified\n\nTheir own tests, each file under `python -m millrace.tf1`; "
                "`python/tests/projects.py --table docs/python-projects.md` makes\nthis page again.\n\n"
                "| project | files | tests run | passed | failed |\n| --- | --- | --- | --- | --- |\n")
        f.write("\n".join(rows) + "\n\n## What fails, and why\n")
        for requirement, causes in details:
            if not causes:
                continue
            f.write("\n### %s\n\n" % requirement)
            for cause, names in sorted(causes.items(), key=lambda c: -len(c[1])):
                f.write("- `%s`: %s\n" % (cause.replace("`", "'"), ", ".join(sorted(set(names)))))


if __name__ == "__main__":
    sys.exit(main())
