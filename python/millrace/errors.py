"""errors — TensorFlow's exception classes, one for each code of a status."""

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = range(8)
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = range(8, 15)
DATA_LOSS, UNAUTHENTICATED = 15, 16


class OperatorNotAllowedInGraphError(TypeError):
    """Python asked a tensor of a graph for its value."""


class OpError(Exception):
    """An error of a graph's operation: `op` (or None), `node_def`, `message`, `error_code`."""

    def __init__(self, node_def, op, message, error_code=UNKNOWN):
        super().__init__(node_def, op, message)
        self._node_def, self._op, self._message, self._error_code = node_def, op, message, error_code

    message = property(lambda self: self._message)
    op = property(lambda self: self._op)
    error_code = property(lambda self: self._error_code)

    @property
    def node_def(self):
        return self._op.node_def if self._node_def is None and self._op is not None else self._node_def

    def __str__(self):
        if self._op is None:
            return self._message
        lines = [self._message, "", "Errors may have originated from an input operation.", "",
                 "Original stack trace for %r:" % self._op.name]
        for frame in self._op.traceback:
            lines.append('  File "%s", line %s, in %s' % tuple(frame)[:3])
        return "\n".join(lines)

    def __reduce__(self):
        return type(self), (None, None, self._message)


_by_code = {}


def _make(name, code):
    def __init__(self, node_def=None, op=None, message="", *unused):
        OpError.__init__(self, node_def, op, message, code)
    cls = type(name, (OpError,), {"__init__": __init__, "__module__": __name__,
                                  "__doc__": "The error of status code %d." % code})
    _by_code[code] = cls
    return cls


CancelledError = _make("CancelledError", CANCELLED)
InvalidArgumentError = _make("InvalidArgumentError", INVALID_ARGUMENT)
DeadlineExceededError = _make("DeadlineExceededError", DEADLINE_EXCEEDED)
NotFoundError = _make("NotFoundError", NOT_FOUND)
AlreadyExistsError = _make("AlreadyExistsError", ALREADY_EXISTS)
PermissionDeniedError = _make("PermissionDeniedError", PERMISSION_DENIED)
ResourceExhaustedError = _make("ResourceExhaustedError", RESOURCE_EXHAUSTED)
FailedPreconditionError = _make("FailedPreconditionError", FAILED_PRECONDITION)
AbortedError = _make("AbortedError", ABORTED)
OutOfRangeError = _make("OutOfRangeError", OUT_OF_RANGE)
UnimplementedError = _make("UnimplementedError", UNIMPLEMENTED)
InternalError = _make("InternalError", INTERNAL)
UnavailableError = _make("UnavailableError", UNAVAILABLE)
DataLossError = _make("DataLossError", DATA_LOSS)
UnauthenticatedError = _make("UnauthenticatedError", UNAUTHENTICATED)


class UnknownError(OpError):
    """The error of status code 2."""

    def __init__(self, node_def=None, op=None, message="", error_code=UNKNOWN):
        OpError.__init__(self, node_def, op, message, error_code)


_by_code[UNKNOWN] = UnknownError


def exception_type_from_error_code(code):
    return _by_code[code]


def error_code_from_exception_type(cls):
    return next((code for code, c in _by_code.items() if c is cls), UNKNOWN)


def exception_for(code, message, op=None):
    """The exception of a status; `op` is the Operation that its message names, or None."""
    return _by_code.get(code, UnknownError)(None, op, message)


class raise_exception_on_not_ok_status:
    """Kept for programs that use it around calls of the C API, which here raise by themselves."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False
