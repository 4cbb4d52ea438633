#!/usr/bin/env python3
# models_parity — tiny models of many kinds, as TensorFlow's Python writes them: the results agree (bench/models).
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
models = os.path.join(here, "..", "..", "bench", "models", "models.py")
sys.exit(subprocess.call([sys.executable, models, "--check"]))
