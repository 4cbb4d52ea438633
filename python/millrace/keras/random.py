"""random — one seed for Python, NumPy and the library."""
import random

import numpy as np

from .. import graph
from ..eager import execute


def set_random_seed(seed):
    """What is drawn after this is the same each time."""
    random.seed(seed)
    np.random.seed(seed)
    execute.set_seed(seed)
    if not graph.executing_eagerly():
        graph.get_default_graph().seed = seed
