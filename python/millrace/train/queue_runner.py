"""queue_runner — QueueRunner: threads that fill a queue."""
import threading

from .. import messages
import millrace.errors as errors
from ..graph import GraphKeys, add_to_collection, get_default_graph, prepend_name_scope, strip_name_scope
from ..session import get_default_session


class QueueRunner:
    """Runs enqueue operations in threads, and closes the queue at the end."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None,
                 queue_runner_def=None, import_scope=None):
        if queue_runner_def is not None:
            find = lambda n: get_default_graph().as_graph_element(prepend_name_scope(n, import_scope))
            self._queue = find(queue_runner_def.queue_name)
            self._enqueue_ops = [find(n) for n in queue_runner_def.enqueue_op_name]
            self._close_op = find(queue_runner_def.close_op_name)
            self._cancel_op = find(queue_runner_def.cancel_op_name)
            self._ends = (errors.OutOfRangeError,)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue, self._enqueue_ops = queue, list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            self._ends = tuple(queue_closed_exception_types or (errors.OutOfRangeError,))
        self._lock, self._runs, self.exceptions_raised = threading.Lock(), {}, []

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    queue_closed_exception_types = property(lambda self: self._ends)
    name = property(lambda self: self._queue.name)

    def _run(self, sess, enqueue_op, coord=None):
        ended = False
        try:
            function = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    function()
                except self._ends:
                    with self._lock:
                        self._runs[sess] -= 1
                        ended = True
                        if self._runs[sess] == 0:
                            try:
                                sess.run(self._close_op)
                            except Exception:  # closed by somebody else
                                pass
                    return
        except Exception as error:
            if coord:
                coord.request_stop(error)
            else:
                with self._lock:
                    self.exceptions_raised.append(error)
                raise
        finally:
            if not ended:
                with self._lock:
                    self._runs[sess] -= 1

    def _close_on_stop(self, sess, cancel_op, coord):
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception:  # the session is gone
            pass

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self.exceptions_raised = []
        threads = [threading.Thread(target=self._run, args=(sess, op, coord)) for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, self._cancel_op, coord)))
        for t in threads:
            if coord:
                coord.register_thread(t)
            t.daemon = daemon
            if start:
                t.start()
        return threads

    def to_proto(self, export_scope=None):
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None
        strip = lambda n: strip_name_scope(n, export_scope)
        return messages.QueueRunnerDef(queue_name=strip(self.queue.name),
                                       enqueue_op_name=[strip(o.name) for o in self._enqueue_ops],
                                       close_op_name=strip(self._close_op.name),
                                       cancel_op_name=strip(self._cancel_op.name))

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS):
    """Starts the threads of all queue runners of a collection."""
    sess = sess or get_default_session()
    if sess is None:
        raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                         "pass an explicit session to tf.start_queue_runners(sess=sess)")
    return [t for qr in sess.graph.get_collection(collection) for t in qr.create_threads(sess, coord, daemon, start)]
