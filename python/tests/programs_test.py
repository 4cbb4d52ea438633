"""programs_test — each graph program of tests/programs runs; compare.py holds what they give to TensorFlow's."""
import importlib.util
import os

import pytest

import millrace
import millrace.compat.v1 as tf
from millrace import graph

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def of_graphs(name):
    """Eager programs change the mode of the process: they run in processes of their own, in compare.py."""
    with open(os.path.join(FOLDER, name)) as f:
        return "EAGER = True" not in f.read()


@pytest.mark.parametrize("name", sorted(n[:-3] for n in os.listdir(FOLDER) if n.endswith(".py") and of_graphs(n)))
def test_program(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(FOLDER, name + ".py"))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    if getattr(program, "EAGER", False):
        with graph.eager_mode():
            assert program.main(millrace)
    else:
        with tf.Graph().as_default():
            assert program.main(tf)
