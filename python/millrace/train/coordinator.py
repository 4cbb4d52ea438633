"""coordinator — Coordinator: threads that end together, with the first error of any of them."""
import contextlib
import sys
import threading
import time

import millrace.errors as errors


class Coordinator:
    """`should_stop`, `request_stop`, `join`: raises in join what a thread has reported."""

    def __init__(self, clean_stop_exception_types=None):
        self._clean = tuple(clean_stop_exception_types or (errors.OutOfRangeError,))
        self._lock, self._stop_event = threading.Lock(), threading.Event()
        self._error, self._joined, self._threads = None, False, set()

    joined = property(lambda self: self._joined)

    def request_stop(self, ex=None):
        with self._lock:
            if isinstance(ex, tuple):
                ex = ex[1]
            if self._stop_event.is_set():
                return
            if self._joined:
                if ex is not None:
                    raise ex
                return
            if ex is not None and not isinstance(ex, self._clean):
                self._error = ex
            self._stop_event.set()

    def clear_stop(self):
        with self._lock:
            self._joined, self._error = False, None
            self._stop_event.clear()

    def should_stop(self):
        return self._stop_event.is_set()

    def wait_for_stop(self, timeout=None):
        return self._stop_event.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self):
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def register_thread(self, thread):
        with self._lock:
            self._threads.add(thread)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for all threads to end, once a stop is requested; raises the error reported."""
        threads = list(self._threads.union(threads or ()))
        while any(t.is_alive() for t in threads) and not self.wait_for_stop(0.1):
            pass
        until = time.time() + stop_grace_period_secs
        while any(t.is_alive() for t in threads) and time.time() < until:
            time.sleep(0.01)
        stragglers = [t.name for t in threads if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._error is not None:
                raise self._error
            if stragglers and not ignore_live_threads:
                raise RuntimeError("Coordinator stopped with threads still running: %s" % " ".join(stragglers))

    def raise_requested_exception(self):
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """Calls a function again and again until its coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._target_function, self._args_, self._kwargs_ = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_time = time.time()
                while not self._coord.wait_for_stop(max(0, next_time - time.time())):
                    next_time += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self):
        pass

    def stop_loop(self):
        pass

    def run_loop(self):
        if self._target_function:
            self._target_function(*self._args_, **self._kwargs_)
