#!/usr/bin/env python3
# saved_models_parity — SavedModels with tables and files, written by TensorFlow and Keras, loaded and run here.
#
# usage: saved_models_parity.py [--only REGEX] [--library PATH] [--refresh]
# Each model goes through TF_LoadSessionFromSavedModel and, as a person would use it, through `millrace inspect` and
# `millrace run`; what comes out is TensorFlow's answer. The models are kept in the build folder until their table changes.
import argparse
import ctypes as c
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import capi  # noqa: E402
from compare import difference, tolerance  # noqa: E402

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.dirname(here)), "build"))
ANSWERS = os.environ.get("MILLRACE_ANSWERS", os.path.join(BUILD, "parity"))


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="", help="models whose name matches")
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libtensorflow.so.2"))
    p.add_argument("--refresh", action="store_true")
    p.add_argument("--write", help=argparse.SUPPRESS)
    return p.parse_known_args()[0]


def models(refresh):
    """The folder of models, made where it is missing."""
    with open(os.path.join(here, "saved_models.py"), "rb") as f:
        folder = os.path.join(ANSWERS, "saved-models-" + hashlib.sha256(f.read()).hexdigest()[:16])
    if refresh or not os.path.exists(os.path.join(folder, "answers.pickle")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        log = os.path.join(BUILD, "parity-saved-models.log")
        with open(log, "w") as f:
            made = subprocess.run([sys.executable, os.path.abspath(__file__), "--write", folder], stdout=f, stderr=f)
        if made.returncode:
            sys.exit("parity: the models could not be written: see " + log)
    return folder


# ---- what a MetaGraphDef calls its ends

def entry(message):
    found = dict(capi.fields(message))
    return found.get(1, b"").decode(), found.get(2, b"")


def signature(meta):
    """({name: edge} of the inputs, of the outputs) of serving_default."""
    named = dict(entry(value) for number, value in capi.fields(meta) if number == 5)
    ends = {1: {}, 2: {}}
    for number, value in capi.fields(named["serving_default"]):
        if number in ends:
            name, info = entry(value)
            ends[number][name] = dict(capi.fields(info))[1].decode()
    return ends[1], ends[2]


def load(library, path):
    graph, meta, options = capi.Graph(library), library.TF_NewBuffer(), library.TF_NewSessionOptions()
    try:
        tags = (capi.S * 1)(b"serve")
        session = capi.Session.__new__(capi.Session)
        session.graph, session.library, session.session = graph, library, None
        session.session = library.checked("TF_LoadSessionFromSavedModel", options, None, path.encode(), tags, 1, graph.graph, meta)
        return session, library.take_buffer(meta)
    finally:
        library.TF_DeleteSessionOptions(options)


def run_library(library, path, inputs):
    session, meta = load(library, path)
    with session:
        takes, gives = signature(meta)
        names = sorted(gives)
        return dict(zip(names, session.run([gives[n] for n in names], {takes[n]: value for n, value in inputs.items()})))


# ---- the command

def literal(array):
    if array.ndim:
        return "[%s]" % " ".join(literal(np.asarray(part, array.dtype)) for part in array)
    value = array.item()
    return json.dumps(value.decode() if isinstance(value, bytes) else value)


def command(*words):
    done = subprocess.run([os.path.join(BUILD, "bin", "millrace"), *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return json.loads(done.stdout)


def run_command(path, inputs, expect):
    missing = command("inspect", "--json", path)["missing"]
    if missing:
        raise ValueError("inspect says that %s can't run here" % missing)
    words = ["run", "--json", path]
    for name, value in inputs.items():
        words += ["--input", "%s=%s" % (name, literal(np.asarray(value)))]
    for name in sorted(expect):
        words += ["--output", name]
    return list(command(*words).values())


def agree(name, how, found, expect):
    error, text = difference(found, expect)
    if error > tolerance(expect.dtype, None):
        raise ValueError("%s of %s: %s" % (name, how, text))


def check(library, path, inputs, expect):
    found = run_library(library, path, inputs)
    for name, value in expect.items():
        agree(name, "the library", found[name], value)
    if not os.path.exists(os.path.join(BUILD, "bin", "millrace")) or "build" not in BUILD:
        return
    for name, result in zip(sorted(expect), run_command(path, inputs, expect)):
        value = expect[name]
        told = np.array([x.encode() if isinstance(x, str) else x for x in np.asarray(result["value"], object).reshape(-1)], value.dtype)
        agree(name, "the command", told.reshape(result["shape"]), value)


def main():
    options = arguments()
    if options.write:
        sys.path.insert(0, here)
        import saved_models
        return saved_models.write(options.write)
    folder = models(options.refresh)
    with open(os.path.join(folder, "answers.pickle"), "rb") as f:
        answers = pickle.load(f)
    library, wrong = capi.Library(options.library), 0
    for name, (inputs, expect) in answers.items():
        if not re.search(options.only, name):
            continue
        try:
            check(library, os.path.join(folder, name), inputs, expect)
        except (capi.Error, KeyError, ValueError) as error:
            wrong += 1
            print("%-24s %s" % (name, error))
    print("%d of %d models agree" % (len(answers) - wrong, len(answers)))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
