"""slim_learning — contrib.slim.learning: training operations, and the loop that runs one."""
import time

from .. import variables
import millrace.logging as logging
import millrace.summary as summary
from ..control_flow import group, with_dependencies
from ..graph import GraphKeys, Tensor, control_dependencies, get_collection, get_default_graph, name_scope
from ..indexed import IndexedSlices
from ..lookup_ops import tables_initializer
from ..math_ops import clip_by_norm
from ..train.saver import Saver
from ..train.steps import get_or_create_global_step

_USE_GLOBAL_STEP = 0
_USE_DEFAULT = 0


def clip_gradient_norms(gradients_to_variables, max_norm):
    """Each gradient, of at most that norm."""
    out = []
    for grad, var in gradients_to_variables:
        if grad is not None:
            if isinstance(grad, IndexedSlices):
                grad = IndexedSlices(clip_by_norm(grad.values, max_norm), grad.indices, grad.dense_shape)
            else:
                grad = clip_by_norm(grad, max_norm)
        out.append((grad, var))
    return out


def clip_gradient_norms_fn(max_norm):
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(grads_and_vars, gradient_multipliers):
    """Gradients times what is given for their variables."""
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    out = []
    for grad, var in grads_and_vars:
        factor = gradient_multipliers.get(var, gradient_multipliers.get(var.op.name))
        if factor is not None:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            grad = IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape) if isinstance(
                grad, IndexedSlices) else grad * factor
        out.append((grad, var))
    return out


def add_gradients_summaries(grads_and_vars):
    from ..math_ops import global_norm
    out = []
    for grad, var in grads_and_vars:
        if grad is None:
            logging.info("Var %s has no gradient", var.op.name)
            continue
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        out.append(summary.histogram(var.op.name + "/gradient", values))
        out.append(summary.scalar(var.op.name + "/gradient_norm", global_norm([values])))
    return out


def create_train_op(total_loss, optimizer, global_step=_USE_GLOBAL_STEP, update_ops=None, variables_to_train=None,
                    transform_grads_fn=None, summarize_gradients=False, gate_gradients=1, aggregation_method=None,
                    colocate_gradients_with_ops=False, check_numerics=True, clip_gradient_norm=0,
                    gradient_multipliers=None):
    """The loss, as a tensor that takes a training step when it is computed."""
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    known = set(get_collection(GraphKeys.UPDATE_OPS))
    updates = known if update_ops is None else set(update_ops)
    if not known.issubset(updates):
        logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if updates:
        with control_dependencies([u.op if isinstance(u, Tensor) else u for u in updates]):
            barrier = group(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    trained = variables.trainable_variables() if variables_to_train is None else variables_to_train
    pairs = optimizer.compute_gradients(total_loss, trained, gate_gradients=gate_gradients,
                                        aggregation_method=aggregation_method,
                                        colocate_gradients_with_ops=colocate_gradients_with_ops)
    if gradient_multipliers:
        pairs = multiply_gradients(pairs, gradient_multipliers)
    if clip_gradient_norm:
        pairs = clip_gradient_norms(pairs, clip_gradient_norm)
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    step = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            from ..checks import check_numerics as check
            total_loss = check(total_loss, "LossTensor is inf or nan")
        train_op = with_dependencies([step], total_loss)
    if train_op not in get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP):
        get_default_graph().add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def train_step(sess, train_op, global_step, train_step_kwargs):
    """(loss, whether to stop) of one step."""
    start = time.time()
    loss, step = sess.run([train_op, global_step])
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, time.time() - start)
    stop = bool(sess.run(train_step_kwargs["should_stop"])) if "should_stop" in train_step_kwargs else False
    return loss, stop


def train(train_op, logdir, train_step_fn=train_step, train_step_kwargs=_USE_DEFAULT, log_every_n_steps=1, graph=None,
          master="", is_chief=True, global_step=None, number_of_steps=None, init_op=_USE_DEFAULT, init_feed_dict=None,
          local_init_op=_USE_DEFAULT, init_fn=None, ready_op=_USE_DEFAULT, summary_op=_USE_DEFAULT,
          save_summaries_secs=600, summary_writer=_USE_DEFAULT, startup_delay_steps=0, saver=None,
          save_interval_secs=600, sync_optimizer=None, session_config=None, session_wrapper=None, trace_every_n_steps=None,
          ignore_live_threads=False):
    """Runs train_op until number_of_steps, with a supervisor; gives the last loss."""
    from ..train.supervisor import Supervisor
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if not logdir and trace_every_n_steps is not None:
        raise ValueError("logdir must be provided because trace_every_n_steps is set.")
    if sync_optimizer is not None:
        raise NotImplementedError("slim.learning.train with sync_optimizer is not part of Millrace: use hooks")
    graph = graph or get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = get_or_create_global_step()
        saver = saver or Saver()
        default = lambda given, make: make() if given is _USE_DEFAULT and given is not None else given
        with name_scope("init_ops"):
            init = default(init_op, variables.global_variables_initializer)
            local = default(local_init_op, lambda: group(variables.local_variables_initializer(), tables_initializer()))
            ready = default(ready_op, variables.report_uninitialized_variables)
        if summary_op is _USE_DEFAULT and summary_op is not None:
            summary_op = summary.merge_all()
        if train_step_kwargs is _USE_DEFAULT:
            train_step_kwargs = _step_arguments(global_step, number_of_steps, log_every_n_steps)
    supervisor = Supervisor(graph=graph, is_chief=is_chief, logdir=logdir, init_op=init, init_feed_dict=init_feed_dict,
                            local_init_op=local, ready_op=ready, summary_op=summary_op, global_step=global_step,
                            saver=saver, save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs,
                            init_fn=init_fn, summary_writer=Supervisor.USE_DEFAULT if summary_writer is _USE_DEFAULT
                            else summary_writer)
    loss = None
    with supervisor.managed_session(master, config=session_config) as sess:
        wrapped = session_wrapper(sess) if session_wrapper else sess
        stop = False
        while not supervisor.should_stop() and not stop:
            loss, stop = train_step_fn(wrapped, train_op, global_step, train_step_kwargs)
        if logdir and is_chief:
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.request_stop()
    return loss


def _step_arguments(global_step, number_of_steps, log_every_n_steps):
    from ..ops_apply import apply
    found = {}
    with name_scope("train_step"):
        step = global_step.value() if hasattr(global_step, "value") else global_step
        if number_of_steps:
            found["should_stop"] = step >= number_of_steps
        if log_every_n_steps > 0:
            found["should_log"] = apply("Equal", None, {"x": step % log_every_n_steps, "y": 0})
    return found
