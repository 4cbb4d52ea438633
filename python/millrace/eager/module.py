"""module — Module: an object that finds the variables and modules among its attributes."""
from ..graph import name_scope
from ..variables import Variable


class Module:
    """A base class for what has variables.

    >>> import millrace as tf
    >>> class Linear(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = tf.Variable([1.0])
    >>> len(Linear().trainable_variables)
    1
    """

    def __init__(self, name=None):
        self._module_name = name or type(self).__name__.lower()

    name = property(lambda self: self._module_name)
    name_scope = property(lambda self: name_scope(self._module_name))

    def _within(self, kind):
        found, seen = [], set()

        def visit(value):
            if isinstance(value, (list, tuple)):
                for one in value:
                    visit(one)
            elif isinstance(value, dict):
                for key in sorted(value, key=str):
                    visit(value[key])
            elif id(value) not in seen and (isinstance(value, (Variable, Module)) or hasattr(value, "trainable_variables")):
                seen.add(id(value))
                if isinstance(value, kind):
                    found.append(value)
                if isinstance(value, Module):
                    for key in sorted(vars(value)):
                        visit(vars(value)[key])
                elif not isinstance(value, Variable) and kind is Variable:
                    found.extend(v for v in value.variables if id(v) not in seen)
                    seen.update(id(v) for v in value.variables)
        for key in sorted(vars(self)):
            visit(vars(self)[key])
        return tuple(found)

    variables = property(lambda self: self._within(Variable))
    trainable_variables = property(lambda self: tuple(v for v in self.variables if v.trainable))
    non_trainable_variables = property(lambda self: tuple(v for v in self.variables if not v.trainable))
    submodules = property(lambda self: self._within(Module))
