"""ready_session — SessionManager: a session whose variables have values, from a checkpoint or their initializers."""
import time

import millrace.errors as errors
import millrace.logging as logging
from ..graph import Operation, Tensor, get_default_graph
from ..session import Session
from .saver import checkpoint_exists, get_checkpoint_state


def _ready(op, sess, msg):
    """(whether nothing is reported as uninitialized, what is)."""
    if op is None:
        return True, None
    try:
        value = sess.run(op)
        if value is None or len(value) == 0:
            return True, None
        names = ", ".join(v.decode("utf-8") if isinstance(v, bytes) else str(v) for v in value)
        return False, "Variables not initialized: %s" % names
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logging.warning("%s : error [%s]", msg, error)
            raise
        return False, str(error)


class SessionManager:
    """Makes sessions for a chief (`prepare_session`) and waits for its variables (`wait_for_session`)."""

    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None,
                 recovery_wait_secs=30, local_init_run_options=None, local_init_feed_dict=None):
        self._graph = graph or get_default_graph()
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op, self._wait = ready_for_local_init_op, recovery_wait_secs
        self._options, self._feed = local_init_run_options, local_init_feed_dict
        self._target = None

    def _restore(self, master, saver, checkpoint_dir, filename, wait, max_wait_secs, config):
        self._target = master
        sess = Session(master, graph=self._graph, config=config)
        if checkpoint_dir and filename:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver or not (checkpoint_dir or filename):
            return sess, False
        if filename:
            saver.restore(sess, filename)
            return sess, True
        started, state = time.time(), get_checkpoint_state(checkpoint_dir)
        while not state or not state.model_checkpoint_path:
            if not wait or time.time() - started >= max_wait_secs:
                return sess, False
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._wait)
            state = get_checkpoint_state(checkpoint_dir)
        if not checkpoint_exists(state.model_checkpoint_path):
            return sess, False
        saver.restore(sess, state.model_checkpoint_path)
        if hasattr(saver, "recover_last_checkpoints"):
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def prepare_session(self, master, init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
        """A session that is ready: restored, else initialized. RuntimeError where it isn't ready then."""
        sess, loaded = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
                                     max_wait_secs, config)
        if not loaded:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        done, message = self._try_run_local_init_op(sess)
        if not done:
            raise RuntimeError("Init operations did not make model ready for local_init.  Init op: %s, init fn: %s, "
                               "local_init_op: %s, error: %s" % (_name(init_op), init_fn, self._local_init_op, message))
        ready, message = self._model_ready(sess)
        if not ready:
            raise RuntimeError("Init operations did not make model ready.  Init op: %s, init fn: %s, local_init_op: %s, "
                               "error: %s" % (_name(init_op), init_fn, self._local_init_op, message))
        return sess

    def recover_session(self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None):
        """(session, whether it is ready)."""
        sess, loaded = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
                                     max_wait_secs, config)
        done, message = self._try_run_local_init_op(sess)
        if not loaded:
            return sess, False
        if not done:
            logging.info("Restoring model did not make model ready for local init: %s", message)
            return sess, False
        ready, message = self._model_ready(sess)
        if not ready:
            logging.info("Restoring model did not make model ready: %s", message)
        return sess, ready

    def wait_for_session(self, master, config=None, max_wait_secs=float("inf")):
        """A session once another task has made the model ready. DeadlineExceededError."""
        self._target = master
        until = time.time() + max_wait_secs
        while True:
            sess = Session(master, graph=self._graph, config=config)
            message = None
            try:
                done, message = self._try_run_local_init_op(sess)
                if done:
                    ready, message = self._model_ready(sess)
                    if ready:
                        return sess
            except errors.AbortedError as error:
                message = str(error)
            sess.close()
            if time.time() + self._wait > until:
                raise errors.DeadlineExceededError(None, None, "Session was not ready after waiting %d secs." % (
                    max_wait_secs,))
            logging.info("Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                         message, _name(self._ready_op))
            time.sleep(self._wait)

    def _model_ready(self, sess):
        return _ready(self._ready_op, sess, "Model not ready")

    def _try_run_local_init_op(self, sess):
        if self._local_init_op is None:
            return True, None
        ready, message = _ready(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if not ready:
            return False, message
        logging.info("Running local_init_op.")
        sess.run(self._local_init_op, feed_dict=self._feed, options=self._options)
        logging.info("Done running local_init_op.")
        return True, None


def _name(op):
    return op.name if isinstance(op, (Operation, Tensor)) else op



