"""api — the public names, looked up in the tables of names.py when they are first asked for.

A namespace is a module made on first use; a name in it is looked up in its table when it is first asked for, then among
the ops. So importing costs nothing for what a program does not touch. `contrib` answers for everything: what is not there
fails when it is called, by its name.
"""
import importlib
import sys
import types

from .names import ABSENT, OP_NAMES, TABLE, WITH_OPS

# Words of paths inside of contrib's parts, below which names are those of the part.
_INNER = {"python", "ops", "layers", "framework", "slim", "training", "learn", "tpu", "tfe", "keras", "metrics", "data", "nets"}


class Missing:
    """A name that programs may touch but not call: what it stands for is not there.

    `space`, where it is given, is the part of contrib that answers for names further down: contrib.layers.python.layers.x.
    """

    def __init__(self, name, space=None):
        self.__dict__["_name"], self.__dict__["_space"] = name, space

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._space is not None:
            found = getattr(namespace(self._space), name)
            if not isinstance(found, Missing):
                return found
        return Missing("%s.%s" % (self._name, name), self._space)

    def __call__(self, *args, **kwargs):
        raise NotImplementedError("tf.%s is not part of Millrace" % self._name)

    def __mro_entries__(self, bases):
        return (type(self._name.rpartition(".")[2], (), {"__init__": self.__call__}),)

    def __repr__(self):
        return "<missing tf.%s>" % self._name


def absent(space, name):
    """What answers for a public name of 1.15 that is not here; AttributeError for any other."""
    if name in ABSENT.get(space, "").split():
        return Missing(space + "." + name if space else name)
    raise AttributeError("module 'tensorflow%s' has no attribute %r" % ("." + space if space else "", name))


def _own(module, name):
    return getattr(importlib.import_module("millrace." + module), name)


def _prune():
    """Drops what the table names of modules that this package does not have."""
    import os
    here = os.path.dirname(os.path.abspath(__file__))
    for modules in TABLE.values():
        for module in list(modules):
            path = os.path.join(here, *module.split("."))
            if not os.path.exists(path + ".py") and not os.path.isdir(path):
                del modules[module]


def _table(space):
    """{public name: (module, name in it)} of a namespace, and the modules it takes whole."""
    found, whole = {}, []
    for module, names in TABLE.get(space, {}).items():
        if names == "*":
            whole.append(module)
            continue
        for word in names.split():
            new, _, old = word.partition("=")
            found[new] = module, old or new
    return found, whole


class Namespace(types.ModuleType):
    """tf.train and its like: a module whose names are looked up when they are used."""

    def __init__(self, space, module_name):
        super().__init__(module_name)
        self.__dict__["__path__"] = []
        self.__dict__["_space"] = space
        self.__dict__["_names"], self.__dict__["_whole"] = _table(space)

    def __getattr__(self, name):
        if name.startswith("__") and name not in self._names:
            raise AttributeError(name)
        value = self._find(name)
        if not isinstance(value, Missing):
            self.__dict__[name] = value
        return value

    def _find(self, name):
        space = self._space
        if name in self._names:
            return _own(*self._names[name])
        inner = space + "." + name if space else name
        if inner in TABLE or any(key.startswith(inner + ".") for key in TABLE):
            return namespace(inner)
        for module in self._whole:
            try:
                found = importlib.import_module("millrace." + module)
            except ModuleNotFoundError:
                continue
            if name in getattr(found, "__all__", ()) or not name.startswith("_") and hasattr(found, name):
                return getattr(found, name)
        if space in WITH_OPS:
            value = op_function(name)
            if value is not None:
                return value
        if space == "raw_ops":
            from . import op_table
            if name in op_table.names():
                return op_table.function(name, True)
        if space == "keras" or space.startswith("keras."):
            return Missing(inner)
        if space.startswith("contrib"):
            top = ".".join(space.split(".")[:2])
            return Missing(inner, top if name in _INNER and top != "contrib" else None)
        return absent(space, name)

    def __dir__(self):
        names = set(self.__dict__) | set(self._names)
        for module in self._whole:
            try:
                names |= {n for n in vars(importlib.import_module("millrace." + module)) if not n.startswith("_")}
            except ImportError:
                pass
        prefix = self._space + "." if self._space else ""
        names |= {k[len(prefix):].partition(".")[0] for k in TABLE if k.startswith(prefix) and k != self._space}
        return sorted(n for n in names if n)


def op_function(name):
    """The function of an op by its public name, or None."""
    from . import op_table
    op = OP_NAMES.get(name) or op_table.by_snake_name().get(name)
    if op is None:
        return None
    found = op_table.find(op)
    return op_table.function(op) if found is not None else None


_prune()
_made = {}


def namespace(space):
    if space not in _made:
        _made[space] = Namespace(space, "millrace.compat.v1" + ("." + space if space else ""))
        if space:
            sys.modules.setdefault("millrace.compat.v1." + space, _made[space])
    return _made[space]
