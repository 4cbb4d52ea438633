"""server — clusters: ClusterSpec, Server, replica_device_setter."""
from .. import _c, messages
from ..device import DeviceSpec

_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
           "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
           "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp")


class ClusterSpec:
    """The tasks of a cluster: {job: [address, ...]} or {job: {index: address}}."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, dict):
            self._jobs = {job: self._tasks(job, tasks) for job, tasks in cluster.items()}
        elif hasattr(cluster, "job"):
            self._jobs = {_text(job.name): {int(i): _text(a) for i, a in job.tasks.items()} for job in cluster.job}
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, "
                            "or a `ClusterDef` protocol buffer")

    @staticmethod
    def _tasks(job, tasks):
        if isinstance(tasks, (list, tuple)):
            return {i: _text(a) for i, a in enumerate(tasks)}
        if isinstance(tasks, dict):
            return {int(i): _text(a) for i, a in tasks.items()}
        raise TypeError("The tasks for job %r must be a list or a dictionary from integers to strings." % job)

    jobs = property(lambda self: list(self._jobs))

    def as_dict(self):
        return {job: ([tasks[i] for i in sorted(tasks)] if sorted(tasks) == list(range(len(tasks))) else dict(tasks))
                for job, tasks in self._jobs.items()}

    def as_cluster_def(self):
        found = messages.ClusterDef()
        for name in sorted(self._jobs):
            job = found.job.add(name=name)
            for i in sorted(self._jobs[name]):
                job.tasks[i] = self._jobs[name][i]
        return found

    def _job(self, name):
        if name not in self._jobs:
            raise ValueError("No such job in cluster: %r" % name)
        return self._jobs[name]

    def num_tasks(self, job_name):
        return len(self._job(job_name))

    def task_indices(self, job_name):
        return sorted(self._job(job_name))

    def task_address(self, job_name, task_index):
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError("No task with index %r in job %r" % (task_index, job_name))
        return job[task_index]

    def job_tasks(self, job_name):
        job = self._job(job_name)
        return [job.get(i) for i in range(max(job) + 1)] if job else []

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(str(self))

    def __str__(self):
        return "ClusterSpec({%s})" % ", ".join("%r: %r" % (k, self.as_dict()[k]) for k in sorted(self._jobs))

    __repr__ = __str__


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _server_def(given, job_name, task_index, protocol, config):
    if hasattr(given, "job_name"):
        made = messages.ServerDef.FromString(given.SerializeToString())
    else:
        made = messages.ServerDef()
        made.cluster.CopyFrom(ClusterSpec(given).as_cluster_def())
    if job_name is not None:
        made.job_name = job_name
    if task_index is not None:
        made.task_index = task_index
    made.protocol = protocol or made.protocol or "grpc"
    if config is not None:
        made.default_session_config.CopyFrom(config)
    if not made.job_name:
        if len(made.cluster.job) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        made.job_name = made.cluster.job[0].name
    if task_index is None and not hasattr(given, "job_name"):
        tasks = next((j.tasks for j in made.cluster.job if j.name == made.job_name), {})
        if len(tasks) == 1:
            made.task_index = next(iter(tasks))
        else:
            raise ValueError("Must specify an explicit `task_index`.")
    return made


class Server:
    """A task of a cluster in this process. `target` is what a Session takes."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._server = None
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        data = self._server_def.SerializeToString()
        self._server = _c.call("TF_NewServer", data, len(data))
        if start:
            self.start()

    server_def = property(lambda self: self._server_def)
    target = property(lambda self: _c.TF_ServerTarget(self._server).decode())

    def start(self):
        _c.call("TF_ServerStart", self._server)

    def join(self):
        """Waits until the server is stopped."""
        _c.call("TF_ServerJoin", self._server)

    def __del__(self):
        try:
            server, self._server = self._server, None
            if server:
                _c.call("TF_ServerStop", server)
                _c.TF_DeleteServer(server)
        except Exception:  # the interpreter is going
            pass

    @staticmethod
    def create_local_server(config=None, start=True):
        """A cluster of one task on a free port."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
    """(workers, parameter servers) of a cluster in this process."""
    import socket
    sockets = [socket.socket() for _ in range(num_workers + num_ps)]
    try:
        for s in sockets:
            s.bind(("localhost", 0))
        addresses = ["localhost:%d" % s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()
    cluster = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})
    workers = [Server(cluster, "worker", i, protocol, worker_config) for i in range(num_workers)]
    return workers, [Server(cluster, "ps", i, protocol, ps_config) for i in range(num_ps)]


# ---------------------------------------- where operations go

class _RoundRobinStrategy:
    """The next task, for each operation."""

    def __init__(self, num_tasks):
        self._num_tasks, self._next_task = num_tasks, 0

    def __call__(self, unused_op):
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return task


def byte_size_load_fn(op):
    """The bytes of an operation's output, as its load."""
    if len(op.outputs) != 1:
        raise ValueError("Op %s must have a single output" % op)
    output = op.outputs[0]
    return output.shape.with_rank_at_least(0).num_elements() * output.dtype.size


class GreedyLoadBalancingStrategy:
    """The task that has the least to do so far."""

    def __init__(self, num_tasks, load_fn):
        import numpy as np
        self._num_tasks, self._load_fn, self._loads = num_tasks, load_fn, np.zeros(num_tasks)

    def __call__(self, op):
        import numpy as np
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class _Chooser:
    """The device function of replica_device_setter."""

    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._ps_tasks, self._ps_device, self._worker_device = ps_tasks, ps_device, worker_device
        self._merge_devices, self._ps_ops, self._ps_strategy = merge_devices, ps_ops, ps_strategy

    def device_function(self, op):
        if not self._merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        node_type = op.type if hasattr(op, "type") else op.op
        if self._ps_tasks and self._ps_device and node_type in self._ps_ops:
            ps = DeviceSpec.from_string(self._ps_device)
            if ps.job and ps.task is None:
                ps = ps.replace(task=self._ps_strategy(op))
            return ps.make_merged_spec(current).to_string()
        return DeviceSpec.from_string(self._worker_device or "").make_merged_spec(current).to_string()


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None,
                          ps_ops=None, ps_strategy=None):
    """A function for tf.device: variables go to the parameter servers in turn, all else to the worker."""
    if cluster is not None:
        spec = cluster.as_dict() if isinstance(cluster, ClusterSpec) else ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job
        if job not in spec or not spec[job]:
            return None
        ps_tasks = len(spec[job])
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _RoundRobinStrategy(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    ps_ops = list(_PS_OPS) if ps_ops is None else ps_ops
    return _Chooser(ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy).device_function

