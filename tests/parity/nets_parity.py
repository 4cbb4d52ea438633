#!/usr/bin/env python3
# nets_parity — whole nets, written and differentiated by TensorFlow's Python, trained here and there: the losses agree.
#
# usage: nets_parity.py [--full] [--only REGEX] [--steps N] [--library PATH] [--json FILE] [--refresh] [--double N] [--twins FOLDER]
# Each net starts from the same values and sees the same batches in both libraries, through the same C interface; after
# every step the losses may be 1e-4 apart, relatively. Without --full the nets are smaller, not simpler; with it each
# has its real sizes and a process of its own, the peak of resident memory is compared too, and the nets that are
# measured come twice: as TensorFlow's Python writes them and, `built`, as the programs of examples/c do.
# --twins writes the former to a folder, for the benches. --double asks of the first N steps how far each library is from
# the same graph in double precision: where losses part, whose rounding it is.
import argparse
import hashlib
import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
nets = os.path.join(here, "nets")
BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
ANSWERS = os.environ.get("MILLRACE_ANSWERS", os.path.join(BUILD, "parity"))
TOLERANCE = 1e-4
LIMIT = 3600    # seconds for all nets in one library


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--full", action="store_true", help="the real sizes, and the peak of resident memory")
    p.add_argument("--only", default="", help="nets whose name matches")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--json")
    p.add_argument("--refresh", action="store_true", help="make what is kept in the build folder anew")
    p.add_argument("--double", type=int, default=0, help="so many steps in double precision, too")
    p.add_argument("--twins", help="a folder: write the graphs of nets that are measured there, and leave")
    p.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    return p.parse_known_args()[0]


LANGUAGE = ["--words", "40000", "--units", "512", "--unroll", "20", "--batch", "16"]
BUILT = dict(mnist=["mnist"], alexnet=["alexnet"], overfeat=["overfeat"], vgg_a=["vgg"], googlenet=["googlenet"],
             resnet50=["resnet50"], inception3=["inception3"], mlp_big=["mlp"], lstm_full=["lstm"] + LANGUAGE,
             lstm_sampled=["lstm"] + LANGUAGE + ["--samples", "512"], word2vec_nce=["word2vec"])


def rate_of(graph):
    """The edge that is the rate of gradient descent."""
    from tensorflow.core.framework import graph_pb2
    return next(n.input[1] for n in graph_pb2.GraphDef.FromString(graph).node if n.op == "ResourceApplyGradientDescent")


def built(name, like):
    """The record of the net that a program of examples/c writes; its pictures and words are those of its twin."""
    program, more = BUILT[name][0], BUILT[name][1:]
    path = os.path.join(ANSWERS, name + ".pb")
    subprocess.run([os.path.join(BUILD, "examples", program), "--graph", path] + more, check=True)
    with open(path, "rb") as f:
        graph = f.read()
    os.remove(path)
    feeds = dict(like["feeds"])
    if program == "lstm":
        feeds = dict(words=(("words", 40000), [20, 16], "int32"), next=(("words", 40000), [320], "int32"))
    elif program == "word2vec":
        feeds = {side: (("words", 50000), [128], "int32") for side in ("center", "context")}
    if like["calm"]:
        feeds[rate_of(graph)] = (("always", like["calm"]), [], "float32")
    return dict(like, name=name + ".built", graph=graph, start=["init"], train="train_step", loss="loss:0", feeds=feeds, first={})


def nets_known():
    """The module of nets; for a process of its own, the only one that imports TensorFlow's Python."""
    sys.path.insert(0, nets)
    import language
    import model
    import pictures
    assert language and pictures
    return model


def write(path, full):
    model = nets_known()
    records = {}
    for name in model.NETS:
        records[name] = model.record(name, full == "full")
        if full == "full" and name in BUILT:
            records[name + ".built"] = built(name, records[name])
    with open(path + ".new", "wb") as f:
        pickle.dump(records, f, protocol=4)
    os.replace(path + ".new", path)


def write_twins(folder):
    model = nets_known()
    for name in BUILT:
        path = os.path.join(folder, name + "_theirs.pb")
        if not os.path.exists(path):
            with open(path, "wb") as f:
                f.write(model.record(name, True)["graph"])


def kept(full, refresh):
    """The file of records, made where it is missing."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(nets)):
        if name.endswith(".py"):
            with open(os.path.join(nets, name), "rb") as f:
                digest.update(f.read())
    kind = "full" if full else "small"
    os.makedirs(ANSWERS, exist_ok=True)
    path = os.path.join(ANSWERS, "nets-%s-%s.pickle" % (kind, digest.hexdigest()[:16]))
    if refresh or not os.path.exists(path):
        for old in os.listdir(ANSWERS):
            if old.startswith("nets-%s-" % kind):
                os.remove(os.path.join(ANSWERS, old))
        subprocess.run([sys.executable, os.path.abspath(__file__), "--write", path, kind], check=True)
    return path


def trained(library, path, steps, names):
    """What trainer.py tells of each net."""
    done = subprocess.run([sys.executable, os.path.join(nets, "trainer.py"), library, path, str(steps)] + names,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    told = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    lacking = [name for name in names if name not in told]
    if lacking:    # it died at the first of these; the others are tried without it
        told[lacking[0]] = dict(error="the process died (%d): %s" % (done.returncode, done.stderr[-300:]))
        if lacking[1:]:
            told.update(trained(library, path, steps, lacking[1:]))
    return told


def theirs(path, options, names):
    """TensorFlow's answers: kept beside the records, unless memory is asked for."""
    library = os.path.join(list(importlib.util.find_spec("tensorflow").submodule_search_locations)[0], "libtensorflow_cc.so.2")
    kept_at = path.replace(".pickle", "-%d.json" % options.steps)
    told = {}
    if os.path.exists(kept_at) and not options.refresh:
        with open(kept_at) as f:
            told = json.load(f)
    lacking = [name for name in names if name not in told]
    for group in ([[name] for name in lacking] if options.full else [lacking]):
        told.update(trained(library, path, options.steps, group) if group else {})
        with open(kept_at, "w") as f:
            json.dump(told, f)
    return told


def doubles(path, steps, names):
    """The losses in double precision, by TensorFlow; {name: losses}."""
    done = subprocess.run([sys.executable, os.path.join(nets, "double.py"), path, str(steps)] + names, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=LIMIT)
    return {line["name"]: line["losses"] for line in map(json.loads, done.stdout.splitlines())}


def compare_doubles(name, ours, real, exact):
    for side, told in (("Millrace", ours), ("TensorFlow", real)):
        if "losses" in told:
            print("%-24s %-10s from doubles: %s" % (name, side, " ".join(
                "%.1e" % (abs(a - b) / max(abs(b), 1e-12)) for a, b in zip(told["losses"], exact))))


def compare(name, ours, real, full):
    """Prints a line; whether the losses agree."""
    for side, told in (("TensorFlow", real), ("Millrace", ours)):
        if "error" in told:
            print("%-24s %s: %s" % (name, side, told["error"][:600]))
            return False
    apart = [abs(a - b) / max(abs(b), 1e-12) if a == a and b == b else float("inf")
             for a, b in zip(ours["losses"], real["losses"])]
    ours["worst"] = max(apart)
    good = max(apart) <= TOLERANCE
    line = "%-24s loss %9.5f -> %9.5f   worst %.1e at step %-3d %8.1f ms a step, theirs %8.1f   %s" % (
        name, real["losses"][0], real["losses"][-1], max(apart), apart.index(max(apart)) + 1, 1e3 * ours["seconds"],
        1e3 * real["seconds"], "ok" if good else "DISAGREE")
    if full:
        line += "   peak %5.0f MiB of %5.0f: %.2f" % (ours["peak"] / 2**20, real["peak"] / 2**20, ours["peak"] / real["peak"])
    print(line)
    return good


def main():
    options = arguments()
    if options.twins:
        return write_twins(options.twins)
    if options.write:
        return write(*options.write)
    if any(a.startswith(("--family", "--ops")) for a in sys.argv):
        return 0    # ops_parity's business
    begin = time.time()
    path = kept(options.full, options.refresh)
    with open(path, "rb") as f:
        names = [name for name in pickle.load(f) if re.search(options.only, name)]
    real = theirs(path, options, names)
    told = {}
    for group in ([[name] for name in names] if options.full else [names]):
        told.update(trained(options.library, path, options.steps, group))
    good = sum([compare(name, told[name], real[name], options.full) for name in names])
    exact = doubles(path, options.double, names) if options.double else {}
    for name in exact:
        compare_doubles(name, told[name], real[name], exact[name])
    print("%d nets, %d agree over %d steps; %.0f s" % (len(names), good, options.steps, time.time() - begin))
    if options.json:
        with open(options.json, "w") as f:
            json.dump({name: dict(ours=told[name], theirs=real[name]) for name in names}, f, indent=1)
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
