#!/usr/bin/env python3
# models — many kinds of models, each run here and by TensorFlow: how far apart the results are, and the times.
#
# usage: ./run bench models [NAME...] [--check] [--make] [--rounds N] [--threads N] [--json FILE] [--millrace PATH]
# A NAME is a model or the beginning of one; `./run bench conv3d` measures the layers over volumes alone. Models are made by TensorFlow's Python once, with random weights of a fixed
# seed, and kept with their inputs and its answers in MILLRACE_MODELS (~/.cache/millrace/models) until these files change.
# --check compares the values of tiny ones only. Times are medians of short rounds in turn, of processes that stand still
# between them: Millrace and TensorFlow (oneDNN on, graph rewriting on, one step's operations on one thread) at each number
# of threads. TensorFlow is called through the same C interface.
import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "tests", "parity"))
import capi  # noqa: E402

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(here, "..", "..", "build"))
STORE = os.environ.get("MILLRACE_MODELS", os.path.expanduser("~/.cache/millrace/models"))
SOURCES = ["zoo.py", "pictures.py", "sequences.py", "tables.py", "volumes.py"]
LAYERS = "conv3d"  # where no name is given, these are left out: they are no models
TOLERANCE = 1e-4
ROUND = 0.05     # seconds of steps, at least


def tensorflow_library():
    found = importlib.util.find_spec("tensorflow")
    return os.path.join(list(found.submodule_search_locations)[0], "libtensorflow_cc.so.2")


# ---- one model in one library

capi.FUNCTIONS["TF_LoadSessionFromSavedModel"] = (capi.P, [capi.P, capi.P, capi.S, capi.P, capi.I, capi.P, capi.P, capi.P])


class Loaded:
    """A model with its inputs, ready to be run."""

    def __init__(self, library, folder, config):
        with open(os.path.join(folder, "model.json")) as file:
            self.about = json.load(file)
        values = np.load(os.path.join(folder, "values.npz"), allow_pickle=True)
        self.inputs = [values["in_%d" % i] for i in range(len(self.about["feeds"]))]
        self.library = library
        if self.about["form"] == "saved":
            self.open_saved(os.path.join(folder, "saved"), config)
        else:
            with open(os.path.join(folder, "graph.pb"), "rb") as file:
                self.graph = capi.Graph(library, file.read())
            self.session = capi.Session(self.graph, config)
        fetches = self.about["fetches"]
        self.feeds, self.fetches = self.graph.outputs(self.about["feeds"]), self.graph.outputs(fetches)
        self.values = (capi.P * max(1, len(self.inputs)))(*[library.tensor(v) for v in self.inputs])
        self.fetched, self.status = (capi.P * len(fetches))(), library.TF_NewStatus()

    def open_saved(self, folder, config):
        library, options = self.library, self.library.TF_NewSessionOptions()
        library.checked("TF_SetConfig", options, config, len(config))
        self.graph = capi.Graph(library)
        tags = (ctypes.c_char_p * 1)(b"serve")
        self.session = capi.Session.__new__(capi.Session)
        self.session.graph, self.session.library, self.session.session = self.graph, library, None
        self.session.session = library.checked("TF_LoadSessionFromSavedModel", options, None, folder.encode(), tags, 1,
                                               self.graph.graph, None)

    def step(self):
        call = self.library
        call.TF_SessionRun(self.session.session, None, self.feeds, self.values, len(self.inputs), self.fetches, self.fetched,
                           len(self.fetched), None, 0, None, self.status)
        if call.TF_GetCode(self.status):
            raise capi.Error(call.TF_GetCode(self.status), call.TF_Message(self.status).decode(errors="replace"))

    def drop(self):
        for tensor in self.fetched:
            self.library.TF_DeleteTensor(tensor)

    def answers(self):
        self.step()
        out = [self.library.array(tensor) for tensor in self.fetched]
        self.drop()
        return out

    def round(self):
        """Seconds of a step, over a round."""
        steps, start = 0, time.perf_counter()
        while True:
            self.step()
            self.drop()
            steps += 1
            spent = time.perf_counter() - start
            if spent >= ROUND:
                return spent / steps

    def close(self):
        for value in self.values:
            self.library.TF_DeleteTensor(value)
        self.session.close()


# ---- how far apart

def difference(ours, theirs):
    """The greatest difference in the greatest value; numbers that are no floats, and strings, agree or are 1 apart."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if b.dtype.kind not in "fc":
            worst = max(worst, 0.0 if np.array_equal(a, b) else 1.0)
        elif b.size:
            apart, scale = np.abs(a.astype(complex) - b.astype(complex)), np.abs(b.astype(complex))
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            worst = max(worst, float(np.max(np.where(same, 0, apart))) / max(float(np.max(np.where(np.isfinite(scale), scale, 0))), 1e-30))
    return worst


def kept_answers(folder):
    values = np.load(os.path.join(folder, "values.npz"), allow_pickle=True)
    return [values["out_%d" % i] for i in range(sum(name.startswith("out_") for name in values.files))]


# ---- processes: one per library and number of threads; each answers "load FOLDER", "round", "drop"

def serve(path, threads):
    library = capi.Library(path)
    config = b"\x10%c\x28\x01" % threads  # intra_op_parallelism_threads, inter_op_parallelism_threads = 1
    loaded, out = None, os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "load":
                loaded = Loaded(library, rest, config)
                answer = {"error": difference(loaded.answers(), kept_answers(rest))}
                loaded.answers()
            elif word == "round":
                answer = {"time": loaded.round()}
            else:
                answer, loaded = {}, loaded.close() if loaded else None
        except Exception as failure:
            answer = {"failed": str(failure)[:500]}
        out.write(json.dumps(answer) + "\n")


class Child:
    def __init__(self, path, threads):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="1", CUDA_VISIBLE_DEVICES="")
        self.command = [sys.executable, os.path.abspath(__file__), "--serve", path, str(threads)]
        self.environment, self.process = environment, None

    def ask(self, line):
        if not self.process or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=None if os.environ.get("BENCH_STDERR") else subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            return {"failed": "the process ended: %s" % self.process.wait()}
        return json.loads(answer)


# ---- making

def names_known():
    """The names without TensorFlow: what stands behind @model."""
    known = []
    for name in SOURCES[1:]:
        with open(os.path.join(here, name)) as file:
            lines = file.read().split("\n")
        known += [b[4:b.index("(")] for a, b in zip(lines, lines[1:]) if a.startswith("@model(")]
    return known


def source_of(name):
    """What the model is made by: its function, and what stands above the first model of its file."""
    for file in SOURCES[1:]:
        with open(os.path.join(here, file)) as f:
            text = f.read()
        at = text.find("\ndef %s(tiny)" % name)
        if at >= 0:
            end = text.find("\n@model", at)
            with open(os.path.join(here, "zoo.py")) as f:
                return f.read() + text[at:end if end >= 0 else None]
    return ""


def is_made(name, folder):
    try:
        with open(os.path.join(folder, "stamp")) as file:
            return file.read() == hashlib.sha256(source_of(name).encode()).hexdigest()
    except FileNotFoundError:
        return False


def make_missing(names, tiny):
    """Makes what is not there in a process of its own, TensorFlow's Python; says what failed."""
    root = os.path.join(STORE, "tiny" if tiny else "full")
    missing = [name for name in names if not is_made(name, os.path.join(root, name))]
    if missing:
        command = [sys.executable, os.path.abspath(__file__), "--write", root] + (["--tiny"] if tiny else []) + missing
        # The same answers on every processor: with oneDNN, which some get unasked, the first of equals in a pool takes the
        # gradient, without it all that are near.
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
        subprocess.call(command, env=environment, stderr=None if os.environ.get("BENCH_STDERR") else subprocess.DEVNULL)
    return root


def write(root, tiny, names):
    import pictures
    import sequences
    import tables
    import volumes
    import zoo
    assert pictures and sequences and tables and volumes
    for name in names:
        folder = os.path.join(root, name)
        try:
            zoo.make(name, tiny, folder)
            with open(os.path.join(folder, "stamp"), "w") as file:
                file.write(hashlib.sha256(source_of(name).encode()).hexdigest())
        except Exception as failure:
            print("%s could not be made: %s" % (name, str(failure)[:500]), flush=True)


# ---- the two ways to be called

def check(names, ours):
    """Values only. What TensorFlow answered was written down when the model was made."""
    root, wrong, child = make_missing(names, True), 0, Child(ours, 2)
    for name in names:
        answer = child.ask("load " + os.path.join(root, name))
        child.ask("drop")
        error = answer.get("error")
        if error is None or not error <= TOLERANCE:
            wrong += 1
            print("%s: %s" % (name, answer.get("failed") or "%.1e apart" % error), flush=True)
    print("models: %d of %d agree within %g" % (len(names) - wrong, len(names), TOLERANCE))
    return wrong


def measure(names, ours, threads, rounds):
    root = make_missing(names, False)
    theirs = tensorflow_library()
    children = {(who, n): Child(path, n) for n in threads for who, path in (("ours", ours), ("theirs", theirs))}
    table = []
    print("%-20s %9s" % ("model", "error") + "".join("  %10s %10s %6s" % ("ms, %d thr." % n, "TensorFlow", "ratio") for n in threads))
    for name in names:
        line, failed = {"model": name}, None
        for (who, n), child in children.items():
            answer = child.ask("load " + os.path.join(root, name))
            failed = failed or (answer.get("failed") and "%s: %s" % (who, answer["failed"]))
            if who == "ours" and "error" in answer:
                line["error"] = max(line.get("error", 0), answer["error"])
        times = {key: [] for key in children}
        for _ in range(0 if failed else rounds):
            for key, child in children.items():
                times[key].append(child.ask("round")["time"] * 1e3)
        for child in children.values():
            child.ask("drop")
        if failed:
            line["failed"] = failed
            print("%-20s failed: %s" % (name, failed), flush=True)
        else:
            medians = {key: statistics.median(list_) for key, list_ in times.items()}
            for n in threads:
                line["ours_%d" % n], line["theirs_%d" % n] = medians["ours", n], medians["theirs", n]
                line["ratio_%d" % n] = medians["ours", n] / medians["theirs", n]
            print("%-20s %9.1e" % (name, line["error"]) + "".join("  %10.3f %10.3f %6.2f" % (
                line["ours_%d" % n], line["theirs_%d" % n], line["ratio_%d" % n]) for n in threads), flush=True)
        table.append(line)
    for n in threads:
        ratios = sorted((line["ratio_%d" % n], line["model"]) for line in table if "ratio_%d" % n in line)
        if ratios:
            print("%d threads: median %.2f, worst %.2f (%s), %d of %d above 1; greatest error %.1e" % (
                n, statistics.median(r for r, _ in ratios), *ratios[-1], sum(r > 1 for r, _ in ratios), len(ratios),
                max(line.get("error", 0) for line in table)))
    return table


def main():
    p = argparse.ArgumentParser()
    p.add_argument("names", nargs="*")
    p.add_argument("--check", action="store_true", help="values of the tiny models only")
    p.add_argument("--make", action="store_true", help="make the models, no more")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--threads", type=int, action="append")
    p.add_argument("--json")
    p.add_argument("--millrace", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    p.add_argument("--write", help=argparse.SUPPRESS)
    p.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.serve:
        return serve(a.serve[0], int(a.serve[1]))
    if a.write:
        return write(a.write, a.tiny, a.names)
    names = [n for n in names_known() if any(n.startswith(x) for x in a.names) or not (a.names or n.startswith(LAYERS))]
    if a.make:
        return make_missing(names, a.tiny) and 0
    if a.check:
        return min(check(names, a.millrace), 99)
    table = measure(names, a.millrace, a.threads or [1, 2], a.rounds)
    if a.json:
        with open(a.json, "w") as file:
            json.dump(table, file, indent=1)
    return 1 if any("failed" in line or line["error"] > TOLERANCE for line in table) else 0


if __name__ == "__main__":
    sys.exit(main())
