"""logging — tf.logging over Python's: the logger is called "tensorflow"."""
import logging as _logging
import sys as _sys

DEBUG, INFO, WARN, WARNING = _logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.WARNING
ERROR, FATAL = _logging.ERROR, _logging.FATAL
_logger = _logging.getLogger("tensorflow")
if not _logger.handlers and not _logging.getLogger().handlers:
    _handler = _logging.StreamHandler(_sys.stderr)
    _handler.setFormatter(_logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
    _logger.addHandler(_handler)
    _logger.propagate = False
if _logger.level == _logging.NOTSET:
    _logger.setLevel(_logging.WARNING)
_counts = {}


def log(level, msg, *args, **kwargs):
    _logger.log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    _logger.debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    _logger.info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs):
    _logger.warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    _logger.error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    _logger.fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
    _logger.log(level, msg, *args, **kwargs)


def _count(kind):
    frame = _sys._getframe(2)
    key = kind, frame.f_code.co_filename, frame.f_lineno
    _counts[key] = _counts.get(key, -1) + 1
    return _counts[key]


def log_every_n(level, msg, n, *args):
    if _count("every") % n == 0:
        log(level, msg, *args)


def log_first_n(level, msg, n, *args):
    if _count("first") < n:
        log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def TaskLevelStatusMessage(msg):
    error(msg)


def flush():
    for handler in _logger.handlers:
        handler.flush()


def get_verbosity():
    return _logger.getEffectiveLevel()


def set_verbosity(v):
    _logger.setLevel(v if not isinstance(v, str) else v.upper())


def get_logger():
    return _logger
