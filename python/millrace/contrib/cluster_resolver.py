"""cluster_resolver — contrib.cluster_resolver: which cluster this process belongs to."""
import json
import os

from ..train.server import ClusterSpec


class ClusterResolver:
    """`cluster_spec()` and `master()`."""


class SimpleClusterResolver(ClusterResolver):
    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, **unused):
        self._spec, self._master, self.task_type, self.task_id = cluster_spec, master, task_type, task_id

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        return self._master


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment variable TF_CONFIG."""

    def __init__(self, task_type=None, task_id=None, **unused):
        self._env = json.loads(os.environ.get("TF_CONFIG") or "{}")
        task = self._env.get("task", {})
        self.task_type, self.task_id = task_type or task.get("type"), task_id if task_id is not None else task.get("index")

    def cluster_spec(self):
        return ClusterSpec(self._env.get("cluster", {}))

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        spec = self.cluster_spec()
        if not spec:
            return ""
        return "grpc://" + spec.task_address(task_type or self.task_type, task_id if task_id is not None else self.task_id)


class TPUClusterResolver(ClusterResolver):
    """There are no TPUs here: fails when it is made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.contrib.cluster_resolver.TPUClusterResolver is not part of Millrace")
