"""eager — contrib.eager: names that programs of graphs use."""
from ..shims import (run_all_tests_in_graph_and_eager_modes, run_test_in_graph_and_eager_modes,  # noqa: F401
                     executing_eagerly, in_eager_mode)
from ..data.iterator import Iterator  # noqa: F401


def Variable(*args, **kwargs):
    """A resource variable."""
    from ..variables import Variable as make
    return make(*args, use_resource=True, **kwargs)
