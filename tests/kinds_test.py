# kinds_test — every kind of tests/kinds gives the answer stated there. Needs no TensorFlow.
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds"))
import kinds

LIBRARY = os.path.join(kinds.BUILD, "lib", "libtensorflow.so.2")


@pytest.mark.parametrize("name", sorted(kinds.KINDS))
def test_kind(name):
    _, proves, expect, _ = kinds.KINDS[name]
    assert kinds.same(kinds.plain(expect), kinds.ask(LIBRARY, name)), proves
