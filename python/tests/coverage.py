"""coverage — which share of a table of symbols resolves: coverage.py python-api.tsv [--missing N].

The table's columns: rank, symbol, group, code_bases, files, uses ... A symbol resolves when it is found by the name that
programs use; what only answers as missing does not count.
"""
import argparse
import csv
import importlib
import sys


def resolves(tf, symbol):
    from millrace import api, tf1
    if symbol.startswith(("python.", "core.")):
        parts = symbol.split(".")
        found, module = None, None
        for n in range(len(parts), 1, -1):
            inside = ".".join(parts[1:n])
            if inside in tf1._INSIDE or parts[n - 1].endswith("_pb2"):
                module = importlib.import_module("tensorflow." + ".".join(parts[:n]))
                break
        if module is None:
            return False
        found = module
        rest = parts[n:]
    else:
        found, rest = tf, symbol.split(".")
    for part in rest:
        if part in ("compat", "v1") and found is tf and part == "v1":
            continue
        try:
            found = getattr(found, part)
        except Exception:
            return False
    return not isinstance(found, api.Missing)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--missing", type=int, default=25)
    options = parser.parse_args()
    import millrace.compat.v1 as tf
    from millrace import tf1
    tf1.install(force=True)
    with open(options.table) as f:
        rows = list(csv.DictReader(f, delimiter="\t"))
    groups, missing, got, total, symbols = {}, [], 0, 0, 0
    for row in rows:
        uses = int(row["uses"])
        there = resolves(tf, row["symbol"])
        total += uses
        got += uses * there
        symbols += there
        group = groups.setdefault(row["group"], [0, 0])
        group[0] += uses * there
        group[1] += uses
        if not there:
            missing.append((uses, row["symbol"]))
    for name, (there, uses) in sorted(groups.items(), key=lambda g: -g[1][1])[:30]:
        print("%-45s %6.1f %% of %6d uses" % (name, 100 * there / max(1, uses), uses))
    for uses, symbol in sorted(missing, reverse=True)[:options.missing]:
        print("missing %6d  %s" % (uses, symbol))
    print("%.2f %% of %d uses, %d of %d symbols" % (100 * got / total, total, symbols, len(rows)))


if __name__ == "__main__":
    sys.exit(main())
