#!/usr/bin/env python3
# trainer — trains the nets of a file of records in one library with the C interface; knows no TensorFlow.
#
# usage: trainer.py LIBRARY RECORDS STEPS [NAME ...]
# Prints a line of JSON for each net: losses, seconds of a step (the median), peak resident bytes so far; or what failed.
import json
import os
import pickle
import statistics
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.dirname(here)]
import capi
import values


def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def train(library, net, steps):
    graph = capi.Graph(library, net.pop("graph"))
    losses, seconds = [], []
    with capi.Session(graph) as session:
        session.run(feeds=values.feeds(net["first"]), targets=net["start"])
        for step in range(steps):
            feeds = values.feeds(net["feeds"], step)
            begin = time.perf_counter()
            loss, = session.run([net["loss"]], feeds, [net["train"]])
            seconds.append(time.perf_counter() - begin)
            losses.append(float(loss))
    return dict(losses=losses, seconds=statistics.median(seconds[1:] or seconds))


def main():
    library, records, steps, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with open(records, "rb") as f:
        nets = pickle.load(f)
    library = capi.Library(library)
    base = peak()
    for name in names or list(nets):
        try:
            told = train(library, nets.pop(name), steps)
        except (capi.Error, KeyError, ValueError) as error:
            told = dict(error=str(error))
        print(json.dumps(dict(told, name=name, peak=peak(), base=base)), file=out, flush=True)
    out.close()
    os._exit(0)


main()
