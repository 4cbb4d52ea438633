"""supervisor — Supervisor: what trained before there were monitored sessions."""
import contextlib
import os


from .. import messages, variables
import millrace.errors as errors
import millrace.logging as logging
import millrace.summary as summary
from ..control_flow import group
from ..graph import GraphKeys, get_default_graph
from ..lookup_ops import tables_initializer
from .coordinator import Coordinator, LooperThread
from .queue_runner import start_queue_runners
from .saver import Saver
from .ready_session import SessionManager
from .steps import get_global_step


class Supervisor:
    """Makes a session, saves checkpoints and summaries in threads, and ends them: `with sv.managed_session() as sess`."""
    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True,
                 init_op=USE_DEFAULT, init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None,
                 summary_op=USE_DEFAULT, saver=USE_DEFAULT, global_step=USE_DEFAULT, save_summaries_secs=120,
                 save_model_secs=600, recovery_wait_secs=30, stop_grace_secs=120, checkpoint_basename="model.ckpt",
                 session_manager=None, summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
        self._graph = graph or get_default_graph()
        with self._graph.as_default():
            first = lambda given, key, make: self._first(given, key, make)
            self._ready_op = first(ready_op, GraphKeys.READY_OP, variables.report_uninitialized_variables)
            self._ready_for_local_init_op = None if ready_for_local_init_op is Supervisor.USE_DEFAULT else \
                ready_for_local_init_op
            self._init_op = first(init_op, GraphKeys.INIT_OP, variables.global_variables_initializer)
            self._local_init_op = first(local_init_op, GraphKeys.LOCAL_INIT_OP, lambda: group(
                variables.local_variables_initializer(), tables_initializer()))
            self._saver = first(saver, GraphKeys.SAVERS, lambda: Saver() if variables.global_variables() else None)
            self._summary_op = first(summary_op, GraphKeys.SUMMARY_OP, summary.merge_all)
            self._global_step = get_global_step() if global_step is Supervisor.USE_DEFAULT else global_step
        self._init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self._is_chief, self._coord = is_chief, Coordinator()
        self._recovery_wait_secs, self._stop_grace_secs = recovery_wait_secs, stop_grace_secs
        self._logdir = self._save_path = self._summary_writer = None
        self._save_model_secs = self._save_summaries_secs = None
        if is_chief:
            self._logdir, self._save_model_secs, self._save_summaries_secs = logdir, save_model_secs, save_summaries_secs
            if logdir:
                self._save_path = os.path.join(logdir, checkpoint_basename)
                os.makedirs(logdir, exist_ok=True)
            if summary_writer is Supervisor.USE_DEFAULT:
                self._summary_writer = summary.FileWriter(logdir) if logdir else None
            else:
                self._summary_writer = summary_writer
        self._session_manager = session_manager or SessionManager(
            self._local_init_op, self._ready_op, self._ready_for_local_init_op, self._graph, recovery_wait_secs,
            local_init_run_options)
        self._graph_was_finalized = self._graph.finalized
        self._graph.finalize()

    def _first(self, given, key, make):
        if given is not Supervisor.USE_DEFAULT:
            return given
        found = self._graph.get_collection(key)
        value = found[0] if found else make()
        if not found and value is not None:
            self._graph.add_to_collection(key, value)
        return value

    session_manager = property(lambda self: self._session_manager)
    is_chief = property(lambda self: self._is_chief)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    summary_op = property(lambda self: self._summary_op)
    summary_writer = property(lambda self: self._summary_writer)
    saver = property(lambda self: self._saver)
    save_path = property(lambda self: self._save_path)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200,
                                    start_standard_services=True):
        """The session, ready: made here by the chief, waited for by others."""
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    PrepareSession = prepare_or_wait_for_session

    def _write_graph(self):
        if not self._logdir:
            return
        from .files import write_graph
        write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer:
            self._summary_writer.add_graph(self._graph)

    def start_standard_services(self, sess):
        """The threads that save and write summaries."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write "
                               "events.")
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return []
        threads = []
        if self._global_step is not None and self._summary_writer:
            self._summary_writer.add_session_log(messages.SessionLog(status=messages.SessionLog.START),
                                                 int(sess.run(self._global_step)))
        if self._save_summaries_secs and self._summary_writer and self._summary_op is not None:
            threads.append(LooperThread.loop(self._coord, self._save_summaries_secs, self._write_summary, (sess,)))
        if self._saver and self._save_model_secs:
            threads.append(LooperThread.loop(self._coord, self._save_model_secs, self._save, (sess,)))
        return threads

    StartStandardServices = start_standard_services

    def _write_summary(self, sess):
        step = None if self._global_step is None else int(sess.run(self._global_step))
        self._summary_writer.add_summary(sess.run(self._summary_op), step)

    def _save(self, sess):
        self._saver.save(sess, self._save_path, global_step=self._global_step)

    def start_queue_runners(self, sess, queue_runners=None):
        if queue_runners is None:
            return start_queue_runners(sess, self._coord)
        return [t for qr in queue_runners for t in qr.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    StartQueueRunners = start_queue_runners

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        thread.start()
        return thread

    Loop = loop

    def should_stop(self):
        return self._coord.should_stop()

    ShouldStop = should_stop

    def request_stop(self, ex=None):
        self._coord.request_stop(ex=ex)

    RequestStop = request_stop

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    WaitForStop = wait_for_stop

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    StopOnException = stop_on_exception

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary that the caller has run."""
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = int(sess.run(self._global_step))
        self._summary_writer.add_summary(summary, global_step)

    SummaryComputed = summary_computed

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Ends the threads; raises what one of them has met."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs,
                             ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(messages.SessionLog(status=messages.SessionLog.STOP))
                self._summary_writer.close()
            if not self._graph_was_finalized:
                self._graph._unsafe_unfinalize()

    Stop = stop

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """The session as a context, which ends with the first error of any thread."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master=master, config=config,
                                                    start_standard_services=start_standard_services)
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=sess is None)
            finally:
                if sess is not None:
                    try:
                        sess.close()
                    except errors.OpError:  # the step's own error counts
                        pass



