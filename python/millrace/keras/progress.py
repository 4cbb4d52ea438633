"""progress — the bar that fit draws: on a terminal it grows in place, into a pipe goes a line per epoch."""
import sys
import time


class Progbar:
    """`update(n, [(name, value), ...])` while something of `target` steps goes on."""

    def __init__(self, target, width=20, verbose=1, stream=None, unit_name="step"):
        self.target, self.width, self.verbose, self.unit = target, width, verbose, unit_name
        self._stream = stream or sys.stdout
        self._in_place = bool(getattr(self._stream, "isatty", lambda: False)()) or "ipykernel" in sys.modules
        self._start = self._last = time.time()
        self._wide = 0

    def update(self, current, values=(), finalize=None):
        finalize = self.target is not None and current >= self.target if finalize is None else finalize
        now = time.time()
        if self.verbose != 1 and not finalize or self.verbose == 0:
            return
        if not finalize and (not self._in_place or now - self._last < 0.05):
            return
        self._last = now
        self._write(self._line(current, list(values), now, finalize), finalize)

    def _line(self, current, values, now, finalize):
        per_step = (now - self._start) / max(current, 1)
        digits = len(str(self.target)) if self.target else 0
        line = ("%" + str(digits) + "d/%d ") % (current, self.target) if self.target else "%d/Unknown " % current
        if self.verbose == 1 and self.target:
            full = int(self.width * min(1.0, current / self.target))
            line += "\u2501" * full + ("" if finalize else "\u2500" * (self.width - full)) + " "
        if finalize or not self.target:
            line += "%ds %s/%s" % (now - self._start, _duration(per_step), self.unit)
        else:
            line += "%ds %s/%s" % (per_step * (self.target - current), _duration(per_step), self.unit)
        for name, value in values:
            value = float(value)
            line += " - %s: %s" % (name, "%.4f" % value if abs(value) > 1e-3 or value == 0 else "%.4e" % value)
        return line

    def _write(self, line, finalize):
        if self._in_place and self.verbose == 1:
            padding = " " * max(0, self._wide - len(line))
            line = "\r" + line + padding
            self._wide = len(line)
        try:
            self._stream.write(line + ("\n" if finalize else ""))
            self._stream.flush()
        except UnicodeEncodeError:      # a terminal without such letters
            self._stream.write(line.replace("\u2501", "=").replace("\u2500", ".") + ("\n" if finalize else ""))


def _duration(seconds):
    if seconds >= 1:
        return "%.0fs" % seconds
    return "%.0fms" % (seconds * 1e3) if seconds >= 1e-3 else "%.0fus" % (seconds * 1e6)
