#!/usr/bin/env python3
# shapes_parity — what TF_GraphGetTensorShape and TF_FinishOperation say here and in TensorFlow: operation by operation, and over
# the whole graphs of nets and Keras models.
#
# usage: shapes_parity.py [--ops REGEX] [--library PATH] [--all] [--refresh]
# Asked is every operation of shapes_ops.txt and of the tables of ops_parity (shapes_cases.py says how), with constants,
# partly known values, unknown sizes and ranks, and inputs that don't fit: a refusal is an answer. TensorFlow's answers
# are kept in the build folder until a file here changes. Fails below 98 % of the answers, or of the outputs of the graphs.
import argparse
import collections
import ctypes
import hashlib
import importlib.util
import os
import pickle
import re
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import capi
from differences import SHAPES
from shapes_probe import Asker

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
ANSWERS = os.environ.get("MILLRACE_ANSWERS", os.path.join(BUILD, "parity"))
BOUND = 98.0


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--ops", default="", help="operations whose name matches")
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--all", action="store_true", help="every difference, not one of each kind")
    p.add_argument("--refresh", action="store_true", help="make what is kept in the build folder anew")
    p.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    p.add_argument("--graphs", nargs=2, help=argparse.SUPPRESS)
    return p.parse_known_args()[0]


def theirs():
    return os.path.join(list(importlib.util.find_spec("tensorflow").submodule_search_locations)[0], "libtensorflow_cc.so.2")


# ---- TensorFlow's side

def make(path, graphs):
    """Writes probes with TensorFlow's answers, and the graphs; in a process of its own."""
    import shapes_cases
    probes = shapes_cases.answers(theirs())
    records = shapes_cases.whole_graphs()
    with open(graphs, "wb") as f:
        pickle.dump(records, f, protocol=4)
    with open(path + ".new", "wb") as f:
        pickle.dump(probes, f, protocol=4)
    os.replace(path + ".new", path)


def outputs_of(lib, graph):
    at = ctypes.c_size_t(0)
    while True:
        operation = lib.TF_GraphNextOperation(graph.graph, ctypes.byref(at))
        if not operation:
            return
        for i in range(lib.TF_OperationNumOutputs(operation)):
            yield "%s:%d" % (lib.TF_OperationName(operation).decode(), i)


def shapes_of(library, graphs, out):
    """Writes {graph: {output: shape}}, or the refusal, as that library knows them; in a process of its own."""
    lib = capi.Library(library)
    found = {}
    with open(graphs, "rb") as f:
        records = pickle.load(f)
    for name, graphdef in records.items():
        try:
            graph = capi.Graph(lib, graphdef)
            found[name] = {output: graph.shape(output) for output in outputs_of(lib, graph)}
        except capi.Error as error:
            found[name] = str(error)
    with open(out, "wb") as f:
        pickle.dump(found, f, protocol=4)


def kept(refresh):
    digest = hashlib.sha256()
    for name in sorted(os.listdir(here)):
        if name.startswith(("shapes_", "cases")) or name in ("oracle.py", "capi.py"):
            with open(os.path.join(here, name), "rb") as f:
                digest.update(f.read())
    os.makedirs(ANSWERS, exist_ok=True)
    path = os.path.join(ANSWERS, "shapes-%s.pickle" % digest.hexdigest()[:16])
    graphs = path.replace(".pickle", "-graphs")
    if refresh or not os.path.exists(path):
        for old in os.listdir(ANSWERS):
            if old.startswith("shapes-"):
                os.remove(os.path.join(ANSWERS, old))
        me = [sys.executable, os.path.abspath(__file__)]
        subprocess.run(me + ["--make", path, graphs], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(me + ["--graphs", graphs, graphs + "-theirs", "--library", theirs()], check=True)
    return path, graphs


# ---- comparing

def relation(ours, expected):
    if not isinstance(ours, list):
        return "equal" if isinstance(expected, int) and isinstance(ours, int) else "died" if ours is None else "refused"
    if isinstance(expected, int):
        return "accepted"
    if ours == expected:
        return "equal"
    kinds = {of_shapes(x, y) for x, y in zip(ours, expected)} - {"equal"}
    return kinds.pop() if len(kinds) == 1 else "other"


def of_shapes(x, y):
    """less, more: what we know, compared with TensorFlow."""
    if x == y:
        return "equal"
    if x is None or y is None:
        return "less" if x is None else "more"
    if len(x) != len(y) or any(i != j and -1 not in (i, j) for i, j in zip(x, y)):
        return "other"
    less, more = (any(i != j and k == -1 for i, j, k in zip(x, y, z)) for z in (x, y))
    return "other" if less and more else "less" if less else "more"


def text(x):
    if isinstance(x, tuple):
        kind = {"?": "?", "p": "", "c": "=", "v": "~", "r": "&", "h": "^"}[x[0]]
        value = x[1].tolist() if x[0] == "c" else x[2] if len(x) > 2 else ""
        return kind + str(value).replace(" ", "").replace("-1", "?" if x[0] != "c" else "-1")[:40]
    if isinstance(x, list) and x and isinstance(x[0], (tuple, list)):
        return " ".join("{%s}" % text(y) if isinstance(y, list) else text(y) for y in x)
    if isinstance(x, list):
        return " ".join("?" if y is None else str(y).replace(" ", "").replace("-1", "?") for y in x)
    return "refused" if isinstance(x, int) else str(x)


class Listed:
    """The differences that are meant."""

    def __init__(self):
        self.met = [0] * len(SHAPES)

    def has(self, op, how):
        for i, (ops, hows, _) in enumerate(SHAPES):
            if re.fullmatch(ops, op) and re.fullmatch(hows, how):
                self.met[i] += 1
                return True
        return False


def operations(options, path):
    """The share of equal answers, and how many there are."""
    with open(path, "rb") as f:
        probes = [p for p in pickle.load(f) if re.match(options.ops, p["op"])]
    asker, listed = Asker(options.library), Listed()
    ops = collections.OrderedDict()
    for probe in probes:
        ours = asker(probe["op"], probe["inputs"], probe["attrs"])
        row = ops.setdefault(probe["op"], dict(n=0, equal=0, listed=0, wrong=collections.OrderedDict()))
        how = relation(ours, probe["expect"])
        row["n"] += 1
        if how == "equal":
            row["equal"] += 1
        elif listed.has(probe["op"], how):
            row["listed"] += 1
        else:
            row["wrong"].setdefault(how, []).append((probe, ours, asker.message))
    for name, row in sorted(ops.items()):
        if not row["wrong"]:
            continue
        print("%-38s %4d answers %4d equal   %s" % (name, row["n"], row["equal"], " ".join(
            "%d %s" % (len(found), how) for how, found in row["wrong"].items())))
        for how, found in row["wrong"].items():
            for probe, ours, message in found if options.all else found[:1]:
                print("      %s %s: %s -> %s, not %s %s" % (how, probe["label"], text(probe["inputs"]), text(probe["expect"]), text(ours),
                                                        message[:90] if how == "refused" else ""))
    for n, (names, how, why) in zip(listed.met, SHAPES):
        print("listed: %4d answers of %s: %s" % (n, names, why))
    n, equal, apart = (sum(row[key] for row in ops.values()) for key in ("n", "equal", "listed"))
    whole = sum(not row["wrong"] for row in ops.values())
    print("%d operations, %d agree throughout; %d answers, %d equal, %d listed as different: %.2f %%" % (
        len(ops), whole, n, equal, apart, 100.0 * equal / max(n - apart, 1)))
    return 100.0 * equal / max(n - apart, 1), n - apart, equal


def graphs_compared(options, graphs):
    out = graphs + "-ours"
    subprocess.run([sys.executable, os.path.abspath(__file__), "--graphs", graphs, out, "--library", options.library], check=True)
    with open(out, "rb") as f:
        ours = pickle.load(f)
    with open(graphs + "-theirs", "rb") as f:
        expected = pickle.load(f)
    os.remove(out)
    total = same = 0
    for name, shapes in expected.items():
        if isinstance(shapes, str):
            print("%-24s TensorFlow refuses: %s" % (name, shapes[:200]))
            continue
        if isinstance(ours[name], str):
            print("%-24s refused: %s" % (name, ours[name][:300]))
            total += len(shapes)
            continue
        apart = [(output, of_shapes(ours[name].get(output), shape)) for output, shape in shapes.items() if ours[name].get(output) != shape]
        total, same = total + len(shapes), same + len(shapes) - len(apart)
        print("%-24s %5d outputs, %d apart" % (name, len(shapes), len(apart)))
        for output, how in apart if options.all else apart[:3]:
            print("      %s %s: %s, not %s" % (how, output, text([shapes[output]]), text([ours[name].get(output)])))
    print("%d outputs of whole graphs, %d equal: %.2f %%" % (total, same, 100.0 * same / max(total, 1)))
    return 100.0 * same / max(total, 1), total, same


def main():
    options = arguments()
    if options.make:
        return make(*options.make)
    if options.graphs:
        return shapes_of(options.library, *options.graphs)
    begin = time.time()
    path, graphs = kept(options.refresh)
    share, n, equal = operations(options, path)
    more = graphs_compared(options, graphs) if not options.ops else (100.0, 0, 0)
    wrong = int(share < BOUND) + int(more[0] < BOUND)
    print("%d kinds, %d wrong; %d answers and outputs, %d equal; %.0f s" % (2, wrong, n + more[1], equal + more[2], time.time() - begin))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
