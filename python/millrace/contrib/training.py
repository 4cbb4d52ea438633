"""training — contrib.training: hooks and batches."""
from ..train.hooks import SessionRunArgs, SessionRunHook
from ..train.monitored import ChiefSessionCreator, MonitoredSession
from ..train.steps import get_global_step
from .slim_learning import add_gradients_summaries, clip_gradient_norms, clip_gradient_norms_fn, create_train_op, \
    multiply_gradients  # noqa: F401


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries once, at the end."""

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        if (log_dir is None) == (summary_writer is None):
            raise ValueError("exactly one of log_dir or summary_writer should be specified.")
        self._summary_op, self._log_dir, self._summary_writer, self._feed = summary_op, log_dir, summary_writer, feed_dict

    def begin(self):
        import millrace.summary as summary
        if self._summary_op is None:
            self._summary_op = summary.merge_all()
        if self._summary_writer is None:
            self._summary_writer = summary.FileWriterCache.get(self._log_dir)
        self._global_step = get_global_step()

    def end(self, session):
        if self._summary_op is not None:
            step = None if self._global_step is None else session.run(self._global_step)
            self._summary_writer.add_summary(session.run(self._summary_op, self._feed), step)
        self._summary_writer.flush()


class StopAfterNEvalsHook(SessionRunHook):
    """Stops after so many runs."""

    def __init__(self, num_evals, log_progress=True):
        self._left = num_evals

    def before_run(self, run_context):
        return SessionRunArgs(None)

    def after_run(self, run_context, run_values):
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                run_context.request_stop()


def train(train_op, logdir, master="", is_chief=True, scaffold=None, hooks=None, chief_only_hooks=None,
          save_checkpoint_secs=600, save_summaries_steps=100, config=None, max_wait_secs=7200, run_metadata=None):
    """Runs train_op in a MonitoredTrainingSession until a hook stops it."""
    from ..train.monitored import MonitoredTrainingSession
    if logdir is None and is_chief and save_checkpoint_secs:
        raise ValueError("logdir cannot be None when save_checkpoint_secs is None")
    loss = None
    with MonitoredTrainingSession(master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold,
                                  hooks=hooks, chief_only_hooks=chief_only_hooks,
                                  save_checkpoint_secs=save_checkpoint_secs, save_summaries_steps=save_summaries_steps,
                                  config=config, max_wait_secs=max_wait_secs) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


def evaluate_once(checkpoint_path, master="", scaffold=None, eval_ops=None, feed_dict=None, final_ops=None,
                  final_ops_feed_dict=None, hooks=None, config=None):
    """Restores a checkpoint, runs eval_ops until a hook stops, and gives the values of final_ops."""
    from ..train.hooks import FinalOpsHook
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master,
                                  config=config)
    with MonitoredSession(session_creator=creator, hooks=list(hooks or []) + [final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    return final.final_ops_values


def evaluate_repeatedly(checkpoint_dir, master="", scaffold=None, eval_ops=None, feed_dict=None, final_ops=None,
                        final_ops_feed_dict=None, eval_interval_secs=60, hooks=None, config=None,
                        max_number_of_evaluations=None, timeout=None, timeout_fn=None):
    """The same for each checkpoint as it appears; gives the last values."""
    from ..train.saver import checkpoints_iterator
    values, count = None, 0
    for path in checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn):
        values = evaluate_once(path, master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
        count += 1
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values


def bucket_by_sequence_length(input_length, tensors, batch_size, bucket_boundaries, num_threads=1, capacity=32,
                              bucket_capacities=None, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
                              keep_input=True, shared_name=None, name=None):
    raise NotImplementedError("tf.contrib.training.bucket_by_sequence_length is not part of Millrace: use "
                              "tf.data.experimental.bucket_by_sequence_length")
