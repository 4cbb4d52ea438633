"""arg_scope — default arguments of functions for all calls inside of a block."""
import contextlib
import functools
import inspect
import threading

__all__ = ["arg_scope", "add_arg_scope", "current_arg_scope", "has_arg_scope", "arg_scoped_arguments",
           "arg_scope_func_key"]


class _Stack(threading.local):
    def __init__(self):
        self.scopes = [{}]


_stack = _Stack()
_decorated = {}


def arg_scope_func_key(op):
    return getattr(op, "_key_op", str(op))


def current_arg_scope():
    return _stack.scopes[-1]


def _name(op):
    return op.__module__, op.__name__


def _add_op(op):
    _decorated[arg_scope_func_key(op)] = _kwarg_names(op)


def _kwarg_names(func):
    """The names of the arguments that have defaults."""
    parameters = inspect.signature(func).parameters.values()
    return tuple(p.name for p in parameters if p.default is not p.empty)


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """`with arg_scope([f, g], x=1):` calls f and g with x=1 unless they are given another; a scope may be used again."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        _stack.scopes.append(list_ops_or_scope.copy())
        try:
            yield list_ops_or_scope
        finally:
            _stack.scopes.pop()
        return
    if not isinstance(list_ops_or_scope, (list, tuple)):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    current = current_arg_scope().copy()
    for op in list_ops_or_scope:
        key = arg_scope_func_key(op)
        if not has_arg_scope(op):
            raise ValueError("%s is not decorated with @add_arg_scope" % (_name(op) if hasattr(op, "__name__") else (op,)),)
        if key in current:
            merged = current[key].copy()
            merged.update(kwargs)
            current[key] = merged
        else:
            current[key] = kwargs.copy()
    _stack.scopes.append(current)
    try:
        yield current
    finally:
        _stack.scopes.pop()


def add_arg_scope(func):
    """A decorator: the function takes defaults from arg_scope."""
    @functools.wraps(func)
    def func_with_args(*args, **kwargs):
        scope = current_arg_scope()
        key = func_with_args._key_op
        if key in scope:
            merged = scope[key].copy()
            merged.update(kwargs)
            kwargs = merged
        return func(*args, **kwargs)
    func_with_args._key_op = getattr(func, "_key_op", str(func))
    _add_op(func)
    _decorated[func_with_args._key_op] = _kwarg_names(func)
    return func_with_args


def has_arg_scope(func):
    return arg_scope_func_key(func) in _decorated


def arg_scoped_arguments(func):
    return _decorated[arg_scope_func_key(func)]
