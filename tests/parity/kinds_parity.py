#!/usr/bin/env python3
# kinds_parity — the table of kinds with the answers of Millrace and of this Python's TensorFlow side by side.
import importlib.util
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "kinds"))
import kinds

if __name__ == "__main__":
    found = importlib.util.find_spec("tensorflow")
    if found:
        sys.argv += ["--tensorflow", os.path.join(list(found.submodule_search_locations)[0], "libtensorflow_cc.so.2")]
    if any(a.startswith("--family") or a.startswith("--ops") for a in sys.argv):
        sys.exit(0)    # ops_parity's business
    sys.exit(kinds.main())
