"""slim — contrib.slim: what it has beside contrib.layers."""
from ..control_flow import group  # noqa: F401
from ..train.steps import (assert_global_step, create_global_step, get_global_step,  # noqa: F401
                           get_or_create_global_step)
from . import layers as _layers
from .arg_scope import add_arg_scope, arg_scope, arg_scope_func_key, arg_scoped_arguments, current_arg_scope, \
    has_arg_scope  # noqa: F401
from .optimizers import optimize_loss  # noqa: F401

stack = _layers.stack_layers
dropout = _layers.dropout


class QueueRunners:
    """`with QueueRunners(session):` starts the queue runners and ends them."""

    def __init__(self, session):
        self._session = session

    def __enter__(self):
        from ..train.coordinator import Coordinator
        self._coord, self._threads = Coordinator(), []
        for runner in self._session.graph.get_collection("queue_runners"):
            self._threads += runner.create_threads(self._session, coord=self._coord, daemon=True, start=True)
        return self

    def __exit__(self, *exc):
        self._coord.request_stop()
        self._coord.join(self._threads, stop_grace_period_secs=120, ignore_live_threads=True)
