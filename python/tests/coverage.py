"""coverage — what of TensorFlow 1 programs finds here, keyword arguments too: coverage.py [TABLE.tsv] [--sources FOLDER].

The table's columns: rank, symbol, group, code_bases, files, uses, ..., keywords ("axis:3 name:2"). The folder holds code bases, a
folder each, whose files are read (`uses.py`). A symbol resolves when it is found by the name that programs use; what only
answers as missing does not count. A use is complete if its keywords are accepted too.
"""
import argparse
import csv
import importlib
import inspect
import os
import sys
import types

import uses as source_uses

MISSING = object()


def find(tf, symbol):
    """What a symbol stands for, or MISSING. A chain ends at a function or value: what follows is an attribute of its result."""
    from millrace import api, tf1
    parts = symbol.split(".")
    found = tf
    if parts[0] in ("python", "core"):
        for n in range(len(parts), 1, -1):
            if ".".join(parts[1:n]) in tf1._INSIDE or parts[n - 1].endswith("_pb2"):
                found = importlib.import_module("tensorflow." + ".".join(parts[:n]))
                break
        else:
            return tf if len(parts) == 1 else MISSING
        parts = parts[n:]
    for part in parts:
        if not isinstance(found, (types.ModuleType, type, api.Missing)):
            return found
        try:
            found = getattr(found, part)
        except Exception:
            return MISSING
    return MISSING if isinstance(found, api.Missing) else found


def accepts(found, keyword):
    """Whether a call takes that keyword. A function that takes any is believed, a message is asked for its fields."""
    from millrace import messages
    if isinstance(found, type) and issubclass(found, messages.Message):
        return keyword in found._by_name
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return True
    return keyword in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class Answers:
    """The answers for each symbol, asked once."""

    def __init__(self):
        import millrace.compat.v1 as tf
        from millrace import tf1
        tf1.install(force=True)
        self.tf, self.found, self.taken = tf, {}, {}

    def there(self, symbol):
        if symbol not in self.found:
            self.found[symbol] = find(self.tf, symbol)
        return self.found[symbol] is not MISSING

    def takes(self, symbol, keyword):
        if (symbol, keyword) not in self.taken:
            self.taken[symbol, keyword] = self.there(symbol) and accepts(self.found[symbol], keyword)
        return self.taken[symbol, keyword]


def count_table(answers, path, most):
    with open(path) as f:
        rows = list(csv.DictReader(f, delimiter="\t"))
    groups, missing, refused, got, complete, total, symbols = {}, [], [], 0, 0, 0, 0
    for row in rows:
        symbol, uses = row["symbol"], int(row["uses"])
        there = answers.there(symbol)
        lost = 0
        for word in (row["keywords"] or "").split():
            keyword, _, count = word.rpartition(":")
            if there and keyword != "**" and not answers.takes(symbol, keyword):
                lost += int(count)
                refused.append((int(count), "%s(%s=)" % (symbol, keyword)))
        total, got, symbols = total + uses, got + uses * there, symbols + there
        complete += max(0, uses - lost) * there
        group = groups.setdefault(row["group"], [0, 0])
        group[0] += uses * there
        group[1] += uses
        if not there:
            missing.append((uses, symbol))
    for name, (there, uses) in sorted(groups.items(), key=lambda g: -g[1][1])[:30]:
        print("%-45s %6.1f %% of %6d uses" % (name, 100 * there / max(1, uses), uses))
    for word, lines in (("missing", missing), ("refused", refused)):
        for uses, symbol in sorted(lines, reverse=True)[:most]:
            print("%s %6d  %s" % (word, uses, symbol))
    print("%.2f %% of %d uses, %d of %d symbols; with their keywords %.2f %%" % (
        100 * got / total, total, symbols, len(rows), 100 * complete / total))


def count_sources(answers, folder, most):
    """Files and whole code bases of which every use resolves, with its keywords."""
    files, whole, uses, good, blame, bases = 0, 0, 0, 0, {}, []
    for base in sorted(os.listdir(folder)):
        found = source_uses.of_folder(os.path.join(folder, base))
        if not found:
            continue
        wrong = {}
        for path, named in found.items():
            bad = {s if not answers.there(s) else "%s(%s=)" % (s, next(k for k in ks if not answers.takes(s, k)))
                   for s, ks in named if not answers.there(s) or not all(answers.takes(s, k) for k in ks)}
            files, whole, uses = files + 1, whole + (not bad), uses + len(named)
            good += sum(answers.there(s) and all(answers.takes(s, k) for k in ks) for s, ks in named)
            for one in bad:
                wrong.setdefault(one, 0)
                wrong[one] += 1
        for one in wrong:
            blame.setdefault(one, set()).add(base)
        bases.append((len(wrong), base, sorted(wrong, key=lambda o: -wrong[o])))
    for n, base, wrong in sorted(bases):
        print("%-36s %4d missing  %s" % (base, n, ", ".join(wrong[:4])))
    for one, where in sorted(blame.items(), key=lambda b: (-len(b[1]), b[0]))[:most]:
        print("missing in %3d code bases  %s" % (len(where), one))
    print("%.2f %% of %d uses, %.1f %% of %d files, %d of %d code bases complete" % (
        100 * good / max(1, uses), uses, 100 * whole / max(1, files), files, sum(not b[0] for b in bases), len(bases)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table", nargs="?")
    parser.add_argument("--sources", help="a folder of code bases, unpacked")
    parser.add_argument("--missing", type=int, default=25)
    options = parser.parse_args()
    answers = Answers()
    if options.table:
        count_table(answers, options.table, options.missing)
    if options.sources:
        count_sources(answers, options.sources, options.missing)


if __name__ == "__main__":
    sys.exit(main())
