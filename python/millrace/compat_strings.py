"""compat_strings — tf.compat: text and bytes, and which Python this is."""
import numbers as _numbers

import numpy as _np

from .api import namespace as _namespace


def as_bytes(bytes_or_text, encoding="utf-8"):
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


def as_text(bytes_or_text, encoding="utf-8"):
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


as_str = as_text


def as_str_any(value):
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path):
    import os
    return as_text(os.fspath(path)) if hasattr(path, "__fspath__") else path


def forward_compatible(year, month, day):
    return False


integral_types = (_numbers.Integral, _np.integer)
real_types = (_numbers.Real, _np.integer, _np.floating)
complex_types = (_numbers.Complex, _np.number)
bytes_or_text_types = (bytes, str)


def __getattr__(name):
    if name == "v1":
        return _namespace("")
    if name == "v2":
        from .compat import v2
        return v2
    raise AttributeError(name)
