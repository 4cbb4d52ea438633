#!/usr/bin/env python3
# ops_parity — every operation's answers and gradients compared with TensorFlow's.
#
# usage: ops_parity.py [--family math,array,...] [--ops REGEX] [--variants fixed,late,...] [--library PATH] [--json FILE]
#                      [--stress dynamic] [--list] [--refresh] [-v]
# TensorFlow's answers are kept in the build folder and made anew when the tables change. The library under test runs in
# processes of its own, so that a crash or a hang is one failed case. See README.md.
import argparse
import collections
import hashlib
import importlib
import json
import os
import pickle
import queue
import re
import subprocess
import sys
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from differences import Differences  # noqa: E402
FAMILIES = ["math", "linalg", "quantize", "array", "nn", "random", "state", "flow", "train", "text", "image", "waiting", "sparse", "input", "data", "rest"]
BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
ANSWERS = os.environ.get("MILLRACE_ANSWERS", os.path.join(BUILD, "parity"))  # TensorFlow's, may be shared by several builds
HANG = 20.0        # seconds that one item may take
GIVE_UP = 8        # crashes or hangs of one operation after which its other cases are left out


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--family", default=",".join(FAMILIES))
    p.add_argument("--ops", default="")
    p.add_argument("--variants", default="")
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--json")
    p.add_argument("--stress", default="", help="MILLRACE_STRESS of the library under test")
    p.add_argument("--import", dest="imports", action="store_true", help="only take the graphs in and give them out again")
    p.add_argument("--refresh", action="store_true")
    p.add_argument("--list", action="store_true", help="how many cases each operation has; runs nothing")
    p.add_argument("--all", action="store_true", help="a line for every operation, also those without kernel")
    p.add_argument("--shown", type=int, default=3, help="failures shown of each operation")
    p.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    return p.parse_args()


# ---- TensorFlow's side

def make(family, path):
    """Writes the items of a family; runs in a process of its own."""
    import oracle
    import cases
    importlib.import_module("cases_" + family)
    items, skipped = oracle.answer(cases.TABLE, lambda text: print("%s: %s" % (family, text), file=sys.stderr))
    with open(path + ".new", "wb") as f:
        pickle.dump(items, f, protocol=4)
    os.replace(path + ".new", path)
    print("%s: %d items; TensorFlow has no answer to %d cases" % (family, len(items), skipped), file=sys.stderr)


def kept(family):
    digest = hashlib.sha256()
    for name in ("cases.py", "oracle.py", "cases_%s.py" % family):
        with open(os.path.join(here, name), "rb") as f:
            digest.update(f.read())
    folder = ANSWERS
    os.makedirs(folder, exist_ok=True)
    os.makedirs(os.path.join(BUILD, "parity"), exist_ok=True)
    return os.path.join(folder, "%s-%s.pickle" % (family, digest.hexdigest()[:16]))


def prepare(families, refresh):
    """The file of each family, made where it is missing, two at a time."""
    paths = {family: kept(family) for family in families}
    todo = [f for f in families if refresh or not os.path.exists(paths[f])]
    running = {}
    while todo or running:
        while todo and len(running) < 2:
            family = todo.pop(0)
            for old in os.listdir(os.path.dirname(paths[family])):
                if old.startswith(family + "-"):
                    os.remove(os.path.join(os.path.dirname(paths[family]), old))
            log = open(os.path.join(BUILD, "parity", family + ".log"), "w")
            running[family] = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--make", family, paths[family]],
                                               stderr=log, stdout=log)
        time.sleep(0.05)
        for family, process in list(running.items()):
            if process.poll() is not None:
                del running[family]
                if process.returncode:
                    sys.exit("parity: no answers for %s: see %s" % (family, os.path.join(BUILD, "parity", family + ".log")))
    return paths


# ---- our side

class Results:
    def __init__(self):
        self.lock, self.ops = threading.Lock(), collections.OrderedDict()
        self.differences = Differences()

    def add(self, item, result):
        with self.lock:
            op = self.ops.setdefault(item["op"], dict(cases=0, ok=0, wrong=0, no_kernel=0, waits=0, listed=0, crash=0, error=0.0, shown=[], missing=set()))
            op["cases"] += 1
            how = result["how"]
            if how == "ok":
                op["ok"] += 1
                op["error"] = max(op["error"], float(result["error"] or 0))
                return
            if self.differences.reason(item["op"], item["variant"], item["label"], result["text"]):
                op["listed"] += 1
                return
            # A gradient may need another operation that has no kernel yet: then this one is not to blame.
            other = re.search(r"\((\w+)\): the op has no kernel yet", result["text"])
            if (other and other[1] != item["op"]) or "No gradient defined for op: %s " % item["op"] in result["text"]:
                how = "no_kernel"
                op["waits"] += 1
            op["no_kernel" if how == "no_kernel" else "wrong"] += 1
            if how in ("crash", "hang"):
                op["crash"] += 1
            op["shown"].append((how, item["variant"], item["label"], result["text"][:400]))


def lines_of(process):
    """Lines of a process as they come; None when it ends."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def run_items(path, items, options, results):
    first, bad = 0, collections.Counter()
    stderr = open(os.path.join(BUILD, "parity", os.path.basename(path) + ".stderr"), "w")
    while first < len(items):
        process = subprocess.Popen([sys.executable, os.path.join(here, "runner.py"), options.library, path, str(first), options.variants],
                                   stdout=subprocess.PIPE, stderr=stderr, text=True)
        lines, at, ended = lines_of(process), None, None
        while True:
            try:
                line = lines.get(timeout=HANG)
            except queue.Empty:
                ended = "hang"
                break
            if line is None:
                break
            told = json.loads(line)
            at = told.get("begin", None)
            if at is None:
                results.add(items[told["i"]], told)
        process.kill()
        process.wait()
        if at is None and ended is None:
            if process.returncode != 0 and first == 0 and not results.ops:
                print("parity: the runner does not start; see %s" % stderr.name)
            return
        at = first if at is None else at
        text = "no answer in %g s" % HANG if ended else "the process died (%d)" % process.returncode
        results.add(items[at], dict(how=ended or "crash", error=None, text=text))
        op = items[at]["op"]
        bad[op] += 1
        first = at + 1
        while bad[op] >= GIVE_UP and first < len(items) and items[first]["op"] == op:
            results.add(items[first], dict(how="crash", error=None, text="not tried after %d crashes" % GIVE_UP))
            first += 1


def select(path, options, folder):
    with open(path, "rb") as f:
        items = pickle.load(f)
    variants = set(options.variants.split(",")) if options.variants else None
    chosen = [i for i in items if re.search(options.ops, i["op"]) and (variants is None or i["variant"] in variants)]
    if len(chosen) == len(items):
        return path, items
    path = os.path.join(folder, "chosen-%d-%s" % (os.getpid(), os.path.basename(path)))
    with open(path, "wb") as f:
        pickle.dump(chosen, f, protocol=4)
    return path, chosen


def our_kernels(options):
    """What the library says it has kernels for, or None if it cannot say."""
    code = "import sys, capi\nprint(' '.join(sorted(capi.Library(sys.argv[1]).kernels())))"
    done = subprocess.run([sys.executable, "-c", code, options.library], cwd=here, capture_output=True, text=True)
    return set(done.stdout.split()) if done.returncode == 0 else None


def report(results, options, seconds):
    kernels = our_kernels(options)
    total = collections.Counter()
    for name, op in results.ops.items():
        listed = kernels is not None and name in kernels
        # What a kernel is listed for must run; what has none yet is counted, not failed.
        lacking = op["no_kernel"] - op["waits"] if listed else 0
        disagree = op["wrong"] + lacking
        total.update(cases=op["cases"], ok=op["ok"], disagree=disagree, no_kernel=op["no_kernel"] - lacking, crash=op["crash"],
                     listed=op["listed"])
        total["ops"] += 1
        total["good"] += op["ok"] == op["cases"]
        op["disagree"] = disagree
        if op["no_kernel"] == op["cases"] and not listed and not options.all:
            total["ops_without"] += 1
            continue
        state = "ok" if not disagree and not op["no_kernel"] else "DISAGREE" if disagree else "partly"
        print("%-38s %5d cases %5d agree %5d disagree %5d no kernel   worst %.1e  %s" % (
            name, op["cases"], op["ok"], disagree, op["no_kernel"] - lacking, op["error"], state))
        shown = [s for s in op["shown"] if s[0] != "no_kernel"] + [s for s in op["shown"] if s[0] == "no_kernel"]
        for how, variant, label, text in shown[:options.shown] if disagree else shown[:1]:
            print("      %s %s, %s: %s" % (how, variant, label, text))
    if kernels is not None and not options.ops:
        untried = sorted(k for k in kernels if k not in results.ops)
        print("listed kernels without a case of their own: %s" % (" ".join(untried) or "none"))
    for n, ops, why in results.differences.table():
        print("listed: %4d cases of %s: %s" % (n, ops, why))
    print("%d listed as different" % total["listed"])
    print("%d cases, %d disagree (%d of them crashes or hangs), %d agree, %d without kernel; %d operations: %d agree in full, "
          "%d have no kernel; %.0f s" % (total["cases"], total["disagree"], total["crash"], total["ok"], total["no_kernel"],
                                         total["ops"], total["good"], total["ops_without"], seconds))
    return total


def main():
    options = arguments()
    if options.make:
        return make(*options.make)
    begin = time.time()
    families = [f for f in options.family.split(",") if f in FAMILIES]
    paths = prepare(families, options.refresh)
    folder = os.path.join(BUILD, "parity")
    if options.imports:
        os.environ["MILLRACE_PARITY_IMPORT"] = "1"
    if options.stress:
        os.environ["MILLRACE_STRESS"] = options.stress
    results, work, chosen = Results(), queue.Queue(), {}
    for family in families:
        chosen[family] = select(paths[family], options, folder)
        if options.list:
            for item in chosen[family][1]:
                results.add(item, dict(how="ok", error=0))
        else:
            work.put(family)
    if options.list:
        for name, op in results.ops.items():
            print("%-38s %5d" % (name, op["cases"]))
        return print("%d cases of %d operations" % (sum(o["cases"] for o in results.ops.values()), len(results.ops)))
    if not os.path.exists(options.library):
        sys.exit("parity: no library %s" % options.library)

    def serve():
        while True:
            try:
                family = work.get_nowait()
            except queue.Empty:
                return
            run_items(*chosen[family], options, results)

    threads = [threading.Thread(target=serve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path, _ in chosen.values():
        if os.path.basename(path).startswith("chosen-"):
            os.remove(path)
    total = report(results, options, time.time() - begin)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(dict(total=total, ops={k: {n: v for n, v in o.items() if n != "missing"} for k, o in results.ops.items()}), f, indent=1)
    return 1 if total["disagree"] else 0


if __name__ == "__main__":
    sys.exit(main())
