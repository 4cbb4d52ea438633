# runner — runs items in the library under test and says how each one went, one JSON line per item. No TensorFlow here.
#
# usage: runner.py LIBRARY ITEMS FIRST; writes {"i": n, "how": ok|wrong|error|no_kernel, "error": e, "text": t}, and before
# each item {"begin": n}, so that the parent knows where a crash happened.
import json
import os
import pickle
import re
import sys

import numpy as np

import capi
from compare import difference, tolerance

# inter = intra = 1, no graph rewriting: as the oracle ran.
CONFIG = bytes([0x10, 1, 0x28, 1, 0x52, 5, 0x52, 3, 0x98, 1, 1])


GRADIENTS = ("grad", "grad_fixed", "theirs", "grad_grad", "grad_theirs")
IMPORT_ONLY = "MILLRACE_PARITY_IMPORT" in os.environ


def nodes(graphdef):
    """(operation, name) of each node of a GraphDef."""
    for number, node in capi.fields(graphdef):
        if number == 1:
            words = dict((f, v.decode()) for f, v in capi.fields(node) if f in (1, 2))
            yield words.get(2), words.get(1)


class Runner:
    def __init__(self, path):
        self.library = capi.Library(path)
        self.graph_bytes, self.graph, self.session, self.gradients = None, None, None, {}

    def open(self, item):
        if self.graph_bytes == item["graph"] and item["variant"] != "script" and self.session:
            return
        self.close()
        self.graph = capi.Graph(self.library, item["graph"])
        self.session = capi.Session(self.graph, CONFIG)
        self.graph_bytes = item["graph"]

    def close(self):
        if self.session:
            self.session.close()
        self.session = self.graph = self.graph_bytes = None
        self.gradients = {}

    def fetches(self, item, given):
        if item["gradient"] is None:
            return given
        found = self.gradient(*item["gradient"]) if not item.get("first") else \
            self.gradient(self.gradient(*item["first"]), *item["gradient"][1:])
        if None in found:
            raise ValueError("no gradient for %s" % xs[found.index(None)])
        return found

    def gradient(self, ys, xs, dys):
        key = repr((ys, xs, dys))
        if None in ys:
            raise ValueError("no gradient")
        if key not in self.gradients:
            self.gradients[key] = self.graph.gradients(ys, xs, dys)
        return self.gradients[key]

    def step(self, item, step, expected):
        """(error, text): how far the answer is off; text says what is wrong, or is empty."""
        fetches, feeds, targets, options = step
        try:
            found = self.session.run(self.fetches(item, fetches), feeds, targets)
        except capi.Error as error:
            if isinstance(expected, int) and error.code != capi.UNIMPLEMENTED:
                # Codes that TensorFlow did not choose (a kernel that fails inside) may be told better.
                same = error.code == expected or expected in (capi.UNKNOWN, capi.ABORTED, capi.INTERNAL)
                return (0.0, "") if same else (np.inf, "%s instead of %s" % (error, capi.CODES[expected]))
            raise
        if isinstance(expected, int):
            return np.inf, "accepted instead of %s" % capi.CODES[expected]
        worst = 0.0
        if item["variant"] == "fixed":
            text = self.static_shapes(fetches, expected)
            if text:
                return np.inf, text
        for i, (a, b) in enumerate(zip(found, expected)):
            if options.get("loose"):
                if a.shape != b.shape or a.dtype != b.dtype:
                    return np.inf, "output %d: %s%s instead of %s%s" % (i, a.dtype, a.shape, b.dtype, b.shape)
                continue
            error, text = difference(a, b)
            worst = max(worst, error)
            # Gradients subtract what is nearly equal, so that the last bits of the values show.
            if error > tolerance(b.dtype, item["tol"]) * (10 if item["variant"] in GRADIENTS else 1):
                return error, "output %d: %s" % (i, text)
        return worst, ""

    def static_shapes(self, fetches, expected):
        """What the graph says of a shape must hold for the value: what it says wrongly, or nothing."""
        for name, value in zip(fetches, expected):
            known = self.graph.shape(name)
            if known is not None and (len(known) != value.ndim or any(k not in (-1, n) for k, n in zip(known, value.shape))):
                return "the graph says %s has shape %s, its value has %s" % (name, known, list(value.shape))
        return ""

    def imported(self, item):
        """Only takes the graph in and gives it out again: as many nodes as came in, and refused if TensorFlow refuses."""
        self.close()
        if self.graph_bytes == item["graph"]:
            return dict(how="ok", error=0.0, text="")
        graph = capi.Graph(self.library, item["graph"])
        self.graph_bytes = item["graph"]
        back = {name for _, name in nodes(graph.bytes())}
        lost = [name for _, name in nodes(item["graph"]) if name not in back]
        text = "lost on the way through: %s" % lost[:3] if lost else ""
        if item["variant"] == "fixed" and not isinstance(item["expect"][0], int):
            self.graph = graph
            text = text or self.static_shapes(item["steps"][0][0], item["expect"][0])
            self.graph = None
        return dict(how="wrong" if text else "ok", error=None if text else 0.0, text=text)

    def item(self, item):
        try:
            if IMPORT_ONLY:
                return self.imported(item)
            self.open(item)
            worst = 0.0
            for n, (step, expected) in enumerate(zip(item["steps"], item["expect"])):
                error, text = self.step(item, step, expected)
                worst = max(worst, error)
                if text:
                    return dict(how="wrong", error=error, text="step %d: %s" % (n, text) if len(item["steps"]) > 1 else text)
            return dict(how="ok", error=worst, text="")
        except capi.Error as error:
            missing = error.code == capi.UNIMPLEMENTED
            if self.session is None and isinstance(item["expect"][0], int) and not missing:
                return dict(how="ok", error=0.0, text="")    # refused when the graph came in
            self.close_quietly()
            kernel = re.search(r"no kernel[^'\"]*['\"]?(\w+)", error.message)
            return dict(how="no_kernel" if missing else "error", error=None, text=str(error), kernel=kernel and kernel.group(1))
        except AttributeError as error:    # a function that the library does not have
            self.close_quietly()
            return dict(how="no_kernel", error=None, text=str(error))
        except (KeyError, ValueError) as error:
            self.close_quietly()
            return dict(how="error", error=None, text=repr(error))

    def close_quietly(self):
        try:
            self.close()
        except capi.Error:
            pass


def main():
    library, items, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(items, "rb") as f:
        items = pickle.load(f)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    runner = Runner(library)
    wanted = set(sys.argv[4].split(",")) if len(sys.argv) > 4 and sys.argv[4] else None
    for i in range(first, len(items)):
        if wanted and items[i]["variant"] not in wanted:
            continue
        print(json.dumps({"begin": i}), file=out, flush=True)
        result = runner.item(items[i])
        result["i"] = i
        if result["error"] is not None and not np.isfinite(result["error"]):
            result["error"] = "inf"
        print(json.dumps(result), file=out, flush=True)
    out.close()
    os._exit(0)


main()
