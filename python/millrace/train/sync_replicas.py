"""sync_replicas — SyncReplicasOptimizer: replicas' gradients are added up, and applied once by the chief."""
from .. import data_flow, variables
import millrace.logging as logging
from ..constant import constant
from ..control_flow import group, no_op
from ..graph import GraphKeys, Tensor, control_dependencies, get_default_graph, name_scope
from ..indexed import IndexedSlices
from ..ops_apply import apply
from .hooks import SessionRunArgs, SessionRunHook
from .optimizer import Optimizer
from .queue_runner import QueueRunner


class SyncReplicasOptimizer(Optimizer):
    """Waits for `replicas_to_aggregate` gradients of each variable, applies their mean, and lets the replicas go on.

    Gradients older than the global step are dropped. `make_session_run_hook(is_chief)` starts it.
    """

    def __init__(self, opt, replicas_to_aggregate, total_num_replicas=None, variable_averages=None,
                 variables_to_average=None, use_locking=False, name="sync_replicas"):
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        super().__init__(use_locking, name)
        self._opt, self._replicas_to_aggregate, self._total_num_replicas = opt, replicas_to_aggregate, total
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._gradients_applied, self._global_step, self._sync_token_queue = False, None, None
        self._chief_queue_runner, self._accumulator_list = None, []
        logging.info("SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total)

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The step of a replica: hands in its gradients and waits for a token with the new global step."""
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        pairs = list(grads_and_vars)
        steps = global_step.op if not getattr(global_step, "_is_resource", False) else global_step.handle.op
        with get_default_graph().colocate_with(steps), get_default_graph().device(None):
            self._local_step = variables.Variable(0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
                                                  dtype=global_step.dtype.base_dtype, name="sync_rep_local_step")
        self.local_step_init_op = variables.assign(self._local_step, global_step)
        self.ready_for_local_init_op = variables.report_uninitialized_variables(variables.global_variables())
        self.chief_init_op = self.local_step_init_op
        with name_scope(None, self._name):
            train_ops, means = self._hand_in(pairs)
            with get_default_graph().device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients([(m, v) for m, (_, v) in zip(means, pairs)], global_step)
            return self._exchange(train_ops, update, name)

    def _hand_in(self, pairs):
        """(operations that hand the gradients in, their means)."""
        train_ops, means = [], []
        for index, (grad, var) in enumerate(pairs):
            with get_default_graph().device(var.device):
                if grad is None:
                    means.append(None)
                    continue
                kind = data_flow.SparseConditionalAccumulator if isinstance(grad, IndexedSlices) else \
                    data_flow.ConditionalAccumulator
                accumulator = kind(grad.dtype, shape=var.shape if kind is data_flow.SparseConditionalAccumulator else
                                   grad.shape if isinstance(grad, Tensor) and grad.shape.is_fully_defined() else var.shape,
                                   shared_name="%s%d/grad_accum" % (self._name, index))
                if isinstance(grad, IndexedSlices):
                    train_ops.append(accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_indexed_slices_grad(self._replicas_to_aggregate))
                else:
                    train_ops.append(accumulator.apply_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_grad(self._replicas_to_aggregate))
                self._accumulator_list.append((accumulator, var.device))
        return train_ops, means

    def _exchange(self, train_ops, update, name):
        step, graph = self._global_step, get_default_graph()
        with graph.device(step.device), name_scope(""):
            self._sync_token_queue = data_flow.FIFOQueue(-1, step.dtype.base_dtype, shapes=[()], name="sync_token_q",
                                                         shared_name="sync_token_q")
            dummy = data_flow.FIFOQueue(1, ["int32"], shapes=[()], name="dummy_queue", shared_name="dummy_queue")
        with graph.device(step.device), control_dependencies(train_ops):
            token = self._sync_token_queue.dequeue()
        train_op = variables.assign(self._local_step, token)
        with control_dependencies([update]):
            tokens = apply("Fill", None, {"dims": constant([self._tokens_per_step]),
                                          "value": step.value() if not getattr(step, "_is_resource", False) else
                                          step.read_value()})
            sync_op = self._sync_token_queue.enqueue_many((tokens,))
        if self._variable_averages is not None:
            with control_dependencies([sync_op]), name_scope(""):
                sync_op = self._variable_averages.apply(self._variables_to_average)
        self._chief_queue_runner = QueueRunner(dummy, [sync_op])
        for accumulator, device in self._accumulator_list:
            with graph.device(device):
                chief = accumulator.set_global_step(step, name="SetGlobalStep")
                self.chief_init_op = group(self.chief_init_op, chief)
        self._gradients_applied = True
        return train_op.op if isinstance(train_op, Tensor) else train_op

    def get_chief_queue_runner(self):
        """What applies the gradients, in the chief."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens=-1):
        """Puts the first tokens into the queue, so that replicas may begin."""
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError("Too few tokens to finish the first step: %d (given) vs %d (needed)" % (num_tokens, needed))
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        step = self._global_step
        with get_default_graph().device(step.device), name_scope(""):
            value = step.value() if not getattr(step, "_is_resource", False) else step.read_value()
            tokens = apply("Fill", None, {"dims": constant([num_tokens]), "value": value})
            return self._sync_token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Initializes what the replicas share; the chief's also starts the queue runner."""

    def __init__(self, sync_optimizer, is_chief, num_tokens):
        self._sync_optimizer, self._is_chief, self._num_tokens = sync_optimizer, is_chief, num_tokens

    def begin(self):
        opt = self._sync_optimizer
        if not opt._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._local_init_op, self._q_runner = opt.chief_init_op, opt.get_chief_queue_runner()
            self._init_tokens_op = opt.get_init_tokens_op(self._num_tokens)
        else:
            self._local_init_op, self._q_runner, self._init_tokens_op = opt.local_step_init_op, None, None

    def after_create_session(self, session, coord):
        from .ready_session import _ready
        ready, message = _ready(self._sync_optimizer.ready_for_local_init_op, session,
                                "Model is not ready for SyncReplicasOptimizer local init.")
        if not ready:
            raise RuntimeError("Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                               "%s, error: %s" % (self._local_init_op.name, message))
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)

    def before_run(self, run_context):
        return SessionRunArgs(None)
