"""monitored — MonitoredSession and its kin: sessions with hooks, made again when a task is lost."""
import abc
import os

from .. import messages
import millrace.errors as errors
import millrace.logging as logging
from ..control_flow import group
from ..graph import GraphKeys, get_default_graph
from ..lookup_ops import tables_initializer
from .. import variables
from . import hooks as basic
from .coordinator import Coordinator
from .queue_runner import start_queue_runners
from .saver import _get_saver_or_default
from .session_hooks import SessionRunContext, SessionRunValues
from .ready_session import SessionManager

# Losing a task ends its session; what these say goes away with a new one.
_LOST = (errors.AbortedError, errors.UnavailableError)
USE_DEFAULT = object()


class Scaffold:
    """The operations that a model's sessions need: to initialize, to ask whether it is ready, to save."""

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None,
                 local_init_op=None, summary_op=None, saver=None, copy_from_scaffold=None, local_init_feed_dict=None):
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        pick = lambda given, name: given if given is not None or other is None else getattr(other, name)
        self._init_op, self._init_feed_dict = pick(init_op, "_init_op"), pick(init_feed_dict, "_init_feed_dict")
        if init_fn:
            self._user_init_fn = init_fn
            self._init_fn = lambda sess: init_fn(self, sess)
        else:
            self._user_init_fn = other._user_init_fn if other is not None else None
            self._init_fn = (lambda sess: self._user_init_fn(self, sess)) if self._user_init_fn else None
        self._ready_op = pick(ready_op, "_ready_op")
        self._ready_for_local_init_op = pick(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = pick(local_init_op, "_local_init_op")
        self._local_init_feed_dict = pick(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op, self._saver = pick(summary_op, "_summary_op"), pick(saver, "_saver")

    init_op = property(lambda self: self._init_op)
    init_fn = property(lambda self: self._init_fn)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)

    def finalize(self):
        """Makes what is not given, and finalizes the graph."""
        import millrace.summary as summary
        if self._init_op is None:
            self._init_op = Scaffold.get_or_default("init_op", GraphKeys.INIT_OP, lambda: group(
                variables.global_variables_initializer(), *_shared_initializers()))
        if self._ready_op is None:
            self._ready_op = Scaffold.get_or_default("ready_op", GraphKeys.READY_OP,
                                                     lambda: variables.report_uninitialized_variables())
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: variables.report_uninitialized_variables(variables.global_variables()))
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default("local_init_op", GraphKeys.LOCAL_INIT_OP,
                                                          Scaffold.default_local_init_op)
        if self._summary_op is None:
            self._summary_op = Scaffold.get_or_default("summary_op", GraphKeys.SUMMARY_OP, summary.merge_all)
        if self._saver is None:
            self._saver = _get_saver_or_default()
        self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        found = get_default_graph().get_collection(collection_key)
        if found:
            if len(found) > 1:
                raise RuntimeError("More than one item in the collection \"%s\". Please indicate which one to use by "
                                   "passing it to the tf.Scaffold constructor as:  tf.Scaffold(%s=item to use)" % (
                                       collection_key, arg_name))
            return found[0]
        op = default_constructor()
        if op is not None:
            get_default_graph().add_to_collection(collection_key, op)
        return op

    @staticmethod
    def default_local_init_op():
        return group(variables.local_variables_initializer(), tables_initializer())


def _shared_initializers():
    return [r.create for r in get_default_graph().get_collection(GraphKeys.RESOURCES) if hasattr(r, "create")]


class SessionCreator(metaclass=abc.ABCMeta):
    """Makes sessions."""

    @abc.abstractmethod
    def create_session(self):
        raise NotImplementedError("create_session is not implemented for %s." % self)


class ChiefSessionCreator(SessionCreator):
    """Restores or initializes the variables."""

    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        self._checkpoint_dir, self._filename = checkpoint_dir, checkpoint_filename_with_path
        self._scaffold, self._session_manager = scaffold or Scaffold(), None
        self._master, self._config = master, config

    def _get_session_manager(self):
        if self._session_manager is None:
            s = self._scaffold
            self._session_manager = SessionManager(s.local_init_op, s.ready_op, s.ready_for_local_init_op,
                                                   get_default_graph(), local_init_feed_dict=s.local_init_feed_dict)
        return self._session_manager

    def create_session(self):
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master, saver=self._scaffold.saver, checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._filename, config=self._config, init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict, init_fn=self._scaffold.init_fn)


class WorkerSessionCreator(SessionCreator):
    """Waits until the chief has."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        self._scaffold, self._session_manager = scaffold or Scaffold(), None
        self._master, self._config, self._max_wait_secs = master, config, max_wait_secs

    def create_session(self):
        s = self._scaffold
        s.finalize()
        if self._session_manager is None:
            self._session_manager = SessionManager(s.local_init_op, s.ready_op, s.ready_for_local_init_op,
                                                   get_default_graph(), local_init_feed_dict=s.local_init_feed_dict)
        return self._session_manager.wait_for_session(self._master, config=self._config,
                                                      max_wait_secs=self._max_wait_secs)


# ---------------------------------------- sessions around sessions

class _WrappedSession:
    """A session that passes on to another."""

    def __init__(self, sess):
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, _WrappedSession)

    graph = property(lambda self: self._sess.graph)
    sess_str = property(lambda self: self._sess.sess_str)

    def should_stop(self):
        if self._check_stop():
            return True
        return self._wrapped_is_stoppable and self._sess is not None and self._sess.should_stop()

    def _check_stop(self):
        return self._sess is None

    def close(self):
        if self._sess:
            try:
                self._sess.close()
            except _LOST:
                pass
            finally:
                self._sess = None

    def run(self, *args, **kwargs):
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        run_with_hooks = run_with_hooks or self.run
        return step_fn(MonitoredSession.StepContext(raw_session, run_with_hooks))


class _RecoverableSession(_WrappedSession):
    """Makes the session again when its tasks were lost."""

    def __init__(self, sess_creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self):
        while True:
            try:
                return self._sess_creator.create_session()
            except _LOST as error:
                logging.info("An error was raised while a session was being created. A new session will be created. "
                             "Error: %s", error)

    def _check_stop(self):
        try:
            return self._sess._check_stop() if self._sess else True
        except _LOST:
            self.close()
            self._sess = self._create_session()
            return self._sess._check_stop()

    def _again(self, function):
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                return function(self._sess)
            except _LOST as error:
                logging.info("An error was raised. The current session will be closed and a new session will be created. "
                             "Error: %s", error)
                self.close()
                self._sess = None

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        return self._again(lambda sess: sess.run(fetches, feed_dict=feed_dict, options=options,
                                                 run_metadata=run_metadata))

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        return self._again(lambda sess: sess.run_step_fn(step_fn, raw_session, None))


class _CoordinatedSession(_WrappedSession):
    """Stops with a coordinator's threads, and reports their errors."""

    def __init__(self, sess, coord, stop_grace_period_secs=120):
        super().__init__(sess)
        self._coord, self._stop_grace_period_secs = coord, stop_grace_period_secs

    def _check_stop(self):
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self):
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception:  # errors of threads count, not those of closing
                pass

    def run(self, *args, **kwargs):
        try:
            return self._sess.run(*args, **kwargs)
        except _LOST:
            raise
        except Exception:
            self._coord.raise_requested_exception()
            raise


class _HookedSession(_WrappedSession):
    """Calls hooks around each run."""

    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks, self._should_stop = hooks, False

    def _check_stop(self):
        return self._should_stop

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        actual = {"caller": fetches}
        context = SessionRunContext(basic.SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or messages.RunOptions()
        feed_dict = self._ask(context, actual, feed_dict, options)
        asked = options.ByteSize() > 0 if hasattr(options, "ByteSize") else bool(options.SerializeToString())
        run_metadata = run_metadata or (messages.RunMetadata() if asked else None)
        outputs = self._sess.run(fetches=actual, feed_dict=feed_dict, options=options if asked else None,
                                 run_metadata=run_metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(outputs.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return outputs["caller"]

    def _ask(self, context, actual, feed_dict, options):
        """Adds what hooks want to the fetches and options; gives the feeds with theirs."""
        feeds = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                actual[hook] = request.fetches
            for key in request.feed_dict or ():
                if key in feeds:
                    raise RuntimeError("Same tensor is fed by two hooks.")
                feeds[key] = request.feed_dict[key]
            if request.options:
                options.MergeFrom(request.options)
        if not feeds:
            return feed_dict
        if not feed_dict:
            return feeds
        if set(feeds) & set(feed_dict):
            raise RuntimeError("Same tensor is fed by a SessionRunHook and user. Conflicting tensors are: %s" % (
                set(feeds) & set(feed_dict),))
        return {**feed_dict, **feeds}


class _MonitoredSession:
    """What monitored sessions share: `run`, `should_stop`, `close`, as a context."""

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._creator = self._CoordinatedCreator(session_creator or ChiefSessionCreator(), self._hooks,
                                                 stop_grace_period_secs)
        if should_recover:
            self._sess = _RecoverableSession(self._creator)
        else:
            self._sess = self._creator.create_session()

    class _CoordinatedCreator(SessionCreator):
        def __init__(self, session_creator, hooks, stop_grace_period_secs):
            self._session_creator, self._hooks = session_creator, hooks
            self._stop_grace_period_secs = stop_grace_period_secs
            self.coord = self.tf_sess = None

        def create_session(self):
            self.tf_sess = self._session_creator.create_session()
            self.coord = Coordinator(clean_stop_exception_types=[])
            if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
            return _CoordinatedSession(_HookedSession(self.tf_sess, self._hooks), self.coord,
                                       self._stop_grace_period_secs)

    class StepContext:
        """What a step function gets: the bare `session`, and `run_with_hooks`."""

        def __init__(self, session, run_with_hooks_fn):
            self._session, self._run = session, run_with_hooks_fn

        session = property(lambda self: self._session)

        def run_with_hooks(self, *args, **kwargs):
            return self._run(*args, **kwargs)

        def request_stop(self):
            raise StopIteration("step_fn has requested the iterations to stop.")

    @property
    def graph(self):
        return None if self._creator.tf_sess is None else self._creator.tf_sess.graph

    def _tf_sess(self):
        return self._creator.tf_sess

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn):
        import inspect
        arguments = inspect.getfullargspec(step_fn).args
        if arguments != ["step_context"] and arguments != ["self", "step_context"]:
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
                             "arguments if it's an instance method. Got %s instead." % (arguments,))
        try:
            return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)
        except StopIteration:
            self._sess._coord.request_stop() if hasattr(self._sess, "_coord") else self._creator.coord.request_stop()

    def should_stop(self):
        return self._sess is None or self._sess.should_stop()

    def close(self):
        self._close_internal()

    def _is_closed(self):
        return self._creator.tf_sess is None

    def _close_internal(self, exception_type=None):
        try:
            if not exception_type:
                for hook in self._hooks:
                    hook.end(self._creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = self._creator.tf_sess = self._creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        if exception_type in (errors.OutOfRangeError, StopIteration):
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None


class MonitoredSession(_MonitoredSession):
    """A session with hooks that survives the loss of a task."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks; the loss of a task ends it."""

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None,
                 stop_grace_period_secs=120, checkpoint_filename_with_path=None):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self):
        return self._tf_sess()


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None,
                             chief_only_hooks=None, save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT,
                             save_summaries_secs=USE_DEFAULT, config=None, stop_grace_period_secs=120,
                             log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT,
                             summary_dir=None, save_graph_def=True):
    """A MonitoredSession for training: the chief saves checkpoints and summaries, workers wait for it."""
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    else:
        save_summaries_steps = None if save_summaries_steps is USE_DEFAULT else save_summaries_steps
        save_summaries_secs = None if save_summaries_secs is USE_DEFAULT else save_summaries_secs
    if save_checkpoint_secs is USE_DEFAULT and save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    else:
        save_checkpoint_steps = None if save_checkpoint_steps is USE_DEFAULT else save_checkpoint_steps
        save_checkpoint_secs = None if save_checkpoint_secs is USE_DEFAULT else save_checkpoint_secs
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or [])
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(basic.StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        if (save_summaries_steps and save_summaries_steps > 0) or (save_summaries_secs and save_summaries_secs > 0):
            all_hooks.append(basic.SummarySaverHook(save_summaries_steps, save_summaries_secs, summary_dir,
                                                    scaffold=scaffold))
    if checkpoint_dir and ((save_checkpoint_secs and save_checkpoint_secs > 0) or
                           (save_checkpoint_steps and save_checkpoint_steps > 0)):
        os.makedirs(checkpoint_dir, exist_ok=True)
        all_hooks.append(basic.CheckpointSaverHook(checkpoint_dir, save_checkpoint_secs, save_checkpoint_steps,
                                                   scaffold=scaffold))
    return MonitoredSession(creator, all_hooks + list(hooks or []), stop_grace_period_secs)



