"""interrupt — Ctrl-C ends the step that the main thread runs: Python's own handler waits until C returns."""
import os
import signal
import threading

from . import _c

_asked = None   # the process that asked for it


def listen():
    """Has the library told of signals, once in a process; nothing where another part of the program listens already."""
    global _asked
    if _asked == os.getpid() or threading.current_thread() is not threading.main_thread():
        return
    _asked = os.getpid()
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL, None):
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)
        return
    _c.call("mr_interrupt_from", reading)
    os.register_at_fork(after_in_child=lambda: _leave(writing))


def _leave(writing):
    """A child's signals are not its parent's: it asks for itself when it makes a session."""
    if threading.current_thread() is threading.main_thread():
        before = signal.set_wakeup_fd(-1)
        if before != writing:
            signal.set_wakeup_fd(before)


def pending():
    """Lets a handler that waits run: it raises KeyboardInterrupt."""
