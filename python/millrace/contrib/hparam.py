"""hparam — contrib.training.HParams: named numbers and texts, changed by "name=value,..." or JSON."""
import json
import re


def parse_values(values, type_map, ignore_unknown=False):
    """{name: value} of a text such as "a=1,b[2]=3,c=[1,2]". ValueError."""
    found = {}
    for match in re.finditer(r"(?:^|,)\s*([a-zA-Z_][\w.]*)\s*(?:\[(\d+)\])?\s*=\s*(\[[^\]]*\]|[^,\[]*)", values):
        name, index, text = match.groups()
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError("Unknown hyperparameter type for %s" % name)
        kind = type_map[name]
        if text.startswith("["):
            value = [_parse(name, kind, v) for v in text[1:-1].split(",") if v.strip()]
        else:
            value = _parse(name, kind, text)
        if index is not None:
            found.setdefault(name, {})[int(index)] = value
        elif name in found:
            raise ValueError("Multiple assignments to variable '%s' in %s" % (name, values))
        else:
            found[name] = value
    if values.strip() and not found and not ignore_unknown:
        raise ValueError("Malformed hyperparameter value: %s" % values)
    return found


def _parse(name, kind, text):
    text = text.strip()
    try:
        if kind is bool:
            if text in ("true", "True"):
                return True
            if text in ("false", "False"):
                return False
            return bool(int(text))
        return text if kind is str else kind(text)
    except (ValueError, TypeError):
        raise ValueError("Could not parse hparam of type '%s' named '%s' with value '%s'" % (
            kind.__name__, name, text)) from None


def _cast(name, kind, value):
    fail = lambda: ValueError("Could not cast hparam '%s' of type '%s' from value %r" % (name, kind, value))
    if kind is type(None) or value is None:
        return value
    if kind is str:
        if not isinstance(value, (str, bytes)):
            raise fail()
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise fail()
        return value
    if isinstance(value, bool) or isinstance(value, str) and kind in (int, float):
        raise fail()
    if kind is int and not float(value).is_integer() if kind in (int, float) else False:
        raise fail()
    return kind(value)


class HParams:
    """`HParams(rate=0.1, size=10)`: attributes that keep their types."""
    _HAS_DYNAMIC_ATTRIBUTES = True

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        self.__dict__["_hparam_types"] = {}
        self.__dict__["_model_structure"] = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        if getattr(self, name, None) is not None:
            raise ValueError("Hyperparameter name is reserved: %s" % name)
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError("Multi-valued hyperparameters cannot be empty: %s" % name)
            self._hparam_types[name] = type(value[0]), True
        else:
            self._hparam_types[name] = type(value), False
        self.__dict__[name] = value

    def set_hparam(self, name, value):
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError("Must not pass a list for single-valued parameter: %s" % name)
            self.__dict__[name] = [_cast(name, kind, v) for v in value]
        else:
            if is_list:
                raise ValueError("Must pass a list for multi-valued parameter: %s." % name)
            self.__dict__[name] = _cast(name, kind, value)

    def __setattr__(self, name, value):
        self.__dict__[name] = value

    def del_hparam(self, name):
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values):
        """Changes what a text such as "rate=0.2,size=20" names."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        for name, value in parse_values(values, kinds).items():
            if isinstance(value, dict):
                for index, one in value.items():
                    getattr(self, name)[index] = one
            else:
                self.set_hparam(name, value)
        return self

    def override_from_dict(self, values_dict):
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json):
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent=None, separators=None, sort_keys=False):
        plain = {k: v for k, v in self.values().items() if not callable(v)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self):
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key, default=None):
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None and not isinstance(default, (list, tuple) if is_list else kind) and not (
                kind is float and isinstance(default, int)):
            raise ValueError("The type of the default does not match hparam '%s'." % key)
        return getattr(self, key)

    def get_model_structure(self):
        return self._model_structure

    def set_model_structure(self, model_structure):
        self.__dict__["_model_structure"] = model_structure

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return str(sorted(self.values().items()))

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, self)
