#!/usr/bin/env python3
# hlo_parity — what a device that compiles is given: every operation's module, run by a PJRT plug-in on the CPU, compared
# with TensorFlow's answers.
#
# usage: hlo_parity.py [--all] [--family math,array,...] [--ops REGEX] [--variants fixed,theirs,...] [--plugin PATH]
#                      [--json FILE] [--text] [-v]
# The cases are those of ops_parity.py: the first of each operation and variant that has a module, or, with --all or --ops,
# all of them, half an hour. Of each, tests/hlo_emit writes the module; one that says "not for these shapes" or "no such
# operation" is counted apart. Without the plug-in there is nothing to run: it says so and ends well.
import argparse
import collections
import glob
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
FAMILIES = ["math", "array", "nn", "random", "state", "flow", "train", "image"]
BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
PLUGINS = os.path.expanduser("~/.cache/millrace/pjrt/plugin/*/libpjrt*.so")
# Of one bit each in every word: compiled code fuses and reorders.
LOOSER = {"float32": 2e-5, "float64": 1e-10, "float16": 8e-3, "bfloat16": 6e-2, "complex64": 5e-5, "complex128": 1e-10}
# Where TensorFlow's own answer is that far from double precision's, which compiled code is nearer to: it sums or rounds in
# half precision on the way, or computes a double in floats.
THEIRS = {("SoftmaxCrossEntropyWithLogits", "bfloat16"): 1.0, ("BiasAddGrad", "bfloat16"): 0.5,
          ("ApplyCenteredRMSProp", "float16"): 0.05, ("ResourceApplyCenteredRMSProp", "float16"): 0.05,
          ("ResizeBilinear", "float64"): 1e-5, ("ResizeBilinearGrad", "float64"): 1e-5}
# Float8 and kin have no numbers in NumPy; strings and resources no place in a module.
TAKEN = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "bfloat16", "complex64", "complex128"}


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--all", action="store_true")
    p.add_argument("--family", default=",".join(FAMILIES))
    p.add_argument("--ops", default="")
    p.add_argument("--variants")
    p.add_argument("--plugin", default=(sorted(glob.glob(PLUGINS)) or [""])[0])
    p.add_argument("--tool", default=os.path.join(BUILD, "tests", "hlo_emit"))
    p.add_argument("--json")
    p.add_argument("--text", action="store_true", help="print the modules")
    p.add_argument("--shown", type=int, default=2)
    p.add_argument("--emit-only", action="store_true", help="write the modules, run nothing")
    p.add_argument("-v", dest="verbose", action="store_true", help="disagreements as they come")
    p.add_argument("--trace", action="store_true", help="each case before it runs: to find one that ends the process")
    p.add_argument("--part", default="0/1", help="I/N: each N-th item from the I-th on")
    options = p.parse_args()
    options.variants = options.variants or ("fixed,theirs,script" if options.all or options.ops else "fixed,script")
    return options


class Emitter:
    """tests/hlo_emit, which is started again where it died."""

    def __init__(self, path):
        self.path, self.process = path, None

    def ask(self, graph, lines):
        if self.process is None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        text = "\n".join(lines).encode()
        self.process.stdin.write(struct.pack("<I", len(graph)) + graph + struct.pack("<I", len(text)) + text)
        self.process.stdin.flush()
        head = self.process.stdout.read(4)
        if len(head) < 4:
            self.process.wait()
            code, self.process = self.process.returncode, None
            return "error 13 hlo_emit died (%d)" % code
        return self.process.stdout.read(struct.unpack("<I", head)[0]).decode()


def dims(shape):
    return ",".join(str(n) for n in shape)


def from_hex(kind, text, data):
    names = dict(float="float32", double="float64", half="float16", bool="bool")
    from pjrt_client import DTYPES, TYPES
    dtype = DTYPES[TYPES[names.get(kind, kind)]]
    return np.frombuffer(bytes.fromhex(data), dtype).reshape([int(n) for n in text.split(",") if n])


class Session:
    """The steps of one item: modules, and the variables between them."""

    def __init__(self, emitter, plugin, item, options):
        self.emitter, self.plugin, self.item, self.options = emitter, plugin, item, options
        self.variables = {}

    def step(self, step):
        """What the fetches are; ("no", why) where there is no module, ("refused", code) where a check fails."""
        fetches, feeds, targets, _ = step
        lines = ["variable %s %s" % (name, dims(value.shape)) for name, value in self.variables.items()]
        lines += ["feed %s %s" % (name, dims(value.shape)) for name, value in feeds.items()]
        lines += ["fetch " + name for name in fetches] + ["target " + name for name in targets]
        answer = self.emitter.ask(self.item["graph"], lines)
        if answer.startswith("error "):
            code, message = answer[6:].split(" ", 1)
            return ("no" if code == "12" else "refused", int(code), message)
        head, text = answer.split("\n\n", 1)
        if self.options.text:
            print(text)
        if self.options.emit_only:
            return ("no", 12, "not run")
        return self.run([line.split(" ") for line in head.split("\n")], text, feeds, fetches)

    def argument(self, line, feeds):
        if line[0] == "input":
            name = line[1] if line[1] in feeds else line[1].rsplit(":", 1)[0]
            return np.asarray(feeds[name])
        if line[0] == "variable":
            return self.variables[line[1]]
        if line[0] == "constant":
            return from_hex(*line[1:])
        raise NotImplementedError("a stream")

    def run(self, head, text, feeds, fetches):
        given = [self.argument(line, feeds) for line in head if line[0] in ("input", "variable", "constant", "stream")]
        found = self.plugin.run(text, given)
        results, values = [line for line in head if line[0] in ("output", "assigned", "checked")], {}
        for line, value in zip(results, found):
            if line[0] == "checked" and not value:
                return ("refused", int(line[1]), " ".join(line[2:]))
        for line, value in zip(results, found):
            if line[0] == "output":
                values[int(line[1])] = value
            elif line[0] == "assigned":
                self.variables[line[1]] = value
        return [values[i] for i in range(len(fetches))]


def plain(item):
    """Whether every value has a place in a module."""
    for (_, feeds, _, _), expected in zip(item["steps"], item["expect"]):
        values = list(feeds.values()) + (expected if not isinstance(expected, int) else [])
        if any(np.asarray(v).dtype.name not in TAKEN for v in values):
            return False
    return item["gradient"] is None


def check(session, item):
    """(how, text, error): how is ok, wrong, no (no module) or loose (TensorFlow refuses what a module can't see)."""
    from compare import TOLERANCE, difference
    worst = 0.0
    for step, expected in zip(item["steps"], item["expect"]):
        found = session.step(step)
        if isinstance(found, tuple):
            kind, code, text = found
            if kind == "no" and isinstance(expected, int):
                continue  # the host's to refuse
            if kind == "no":
                return "no", text, 0
            if not isinstance(expected, int):
                return "wrong", "refused: %d %s" % (code, text), 0
            continue
        if isinstance(expected, int):
            return "loose", "TensorFlow refuses this: %d" % expected, 0
        for i, (a, b) in enumerate(zip(found, expected)):
            b = np.asarray(b)
            given = item["tol"]
            limit = max(LOOSER.get(str(b.dtype), 0.0), given or 0.0) * (10 if item["variant"] == "theirs" else 1)
            limit = max(limit, THEIRS.get((item["op"], str(b.dtype)), 0))
            error, text = difference(a, b)
            worst = max(worst, error if np.isfinite(error) else 0)
            if error > limit:
                return "wrong", "output %d: %s" % (i, text), error
    return "ok", "", worst


def items_of(options):
    from ops_parity import prepare
    for family, path in prepare([f for f in options.family.split(",") if f], False).items():
        with open(path, "rb") as f:
            for item in pickle.load(f):
                if item["variant"] in options.variants.split(",") and re.search(options.ops, item["op"]):
                    yield item


def report(ops, seconds, options):
    total = collections.Counter()
    for name, op in sorted(ops.items()):
        total.update({k: op[k] for k in ("ok", "wrong", "no", "loose")})
        total["emitted"] += op["ok"] > 0
        if op["wrong"] or (op["no"] and op["ok"]):
            print("%-34s %5d agree %4d disagree %4d without module  worst %.1e" % (name, op["ok"], op["wrong"], op["no"], op["worst"]))
            for how, label, text in op["shown"]:
                print("      %s %s: %s" % (how, label, text[:300]))
    print("%d cases, %d disagree (of programs for PJRT), %d agree; %d operations have modules, %d cases have none, %d are errors that "
          "only a kernel sees; %.0f s" % (total["ok"] + total["wrong"], total["wrong"], total["ok"], total["emitted"], total["no"],
                                          total["loose"], seconds))
    if options.json:
        with open(options.json, "w") as f:
            json.dump({n: {k: v for k, v in op.items() if k != "shown"} for n, op in ops.items()}, f, indent=1)
    return total


def main():
    options = arguments()
    if not os.path.exists(options.plugin):
        print("hlo_parity: no PJRT plug-in for the CPU (`./run deps pjrt`); skipped")
        return 0
    from pjrt_client import Plugin, Refused
    plugin, emitter, began = Plugin(options.plugin), Emitter(options.tool), time.time()
    ops, seen, first, every = {}, set(), *map(int, options.part.split("/"))
    for n, item in enumerate(items_of(options)):
        if n % every != first or not plain(item):
            continue
        if not options.all and not options.ops and (item["op"], item["variant"]) in seen:
            continue
        if options.trace:
            print(item["op"], item["variant"], item["label"], file=sys.stderr, flush=True)
        op = ops.setdefault(item["op"], dict(ok=0, wrong=0, no=0, loose=0, worst=0.0, shown=[]))
        try:
            how, text, error = check(Session(emitter, plugin, item, options), item)
        except Refused as refused:
            how, text, error = "wrong", "the plug-in refuses: %s" % refused, 0
        except NotImplementedError as missing:
            how, text, error = "no", str(missing), 0
        op[how] += 1
        if how == "ok":
            seen.add((item["op"], item["variant"]))
        if how == "wrong" and options.verbose:
            print("%s %s %s: %s" % (item["op"], item["variant"], item["label"], text[:600]), flush=True)
        op["worst"] = max(op["worst"], error if how == "ok" else 0)
        if how in ("wrong", "no") and sum(s[0] == how for s in op["shown"]) < options.shown:
            op["shown"].append((how, "%s %s" % (item["variant"], item["label"]), text))
    return 1 if report(ops, time.time() - began, options)["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
