"""nest — structures of lists, tuples, named tuples, dicts and attrs objects, flattened, packed and mapped.

Dicts are walked in the order of their sorted keys. Strings are leaves.
"""
import collections.abc as abc


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_attrs(value):
    return hasattr(type(value), "__attrs_attrs__")


def is_sequence(value):
    """Whether the value is a structure: anything but a leaf."""
    return isinstance(value, (list, tuple, abc.Mapping)) and not isinstance(value, (str, bytes)) or _is_attrs(value)


is_nested = is_nested_or_composite = is_sequence_or_composite = is_sequence


def _sorted(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def _yield_value(value):
    if isinstance(value, abc.Mapping):
        return [value[k] for k in _sorted(value)]
    if _is_attrs(value):
        return [getattr(value, a.name) for a in type(value).__attrs_attrs__]
    return list(value)


def _keys(value):
    if isinstance(value, abc.Mapping):
        return _sorted(value)
    if _is_namedtuple(value):
        return list(value._fields)
    if _is_attrs(value):
        return [a.name for a in type(value).__attrs_attrs__]
    return list(range(len(value)))


def _like(structure, values):
    """The values in a structure of the same type, one level deep."""
    values = list(values)
    if isinstance(structure, abc.Mapping):
        found = dict(zip(_sorted(structure), values))
        if type(structure).__name__ == "defaultdict":
            result = type(structure)(structure.default_factory)
            result.update((k, found[k]) for k in structure)
            return result
        return type(structure)((k, found[k]) for k in structure)
    if _is_namedtuple(structure) or _is_attrs(structure):
        return type(structure)(*values)
    return type(structure)(values) if isinstance(structure, (list, tuple)) else values


def flatten(structure, expand_composites=False):
    """The leaves, as a list; of a leaf, the leaf alone."""
    if not is_sequence(structure):
        return [structure]
    out = []
    stack = [iter(_yield_value(structure))]
    while stack:
        for value in stack[-1]:
            if is_sequence(value):
                stack.append(iter(_yield_value(value)))
                break
            out.append(value)
        else:
            stack.pop()
    return out


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """ValueError or TypeError unless both have the same structure."""
    try:
        _assert_same(nest1, nest2, check_types)
    except (ValueError, TypeError) as error:
        raise type(error)("The two structures don't have the same nested structure.\n\nFirst structure: %s\n\n"
                          "Second structure: %s\n\nMore specifically: %s" % (nest1, nest2, error)) from None


def _assert_same(a, b, check_types):
    if is_sequence(a) != is_sequence(b):
        raise ValueError("Substructure \"%s\" is a sequence, while substructure \"%s\" is not" % (
            (a, b) if is_sequence(a) else (b, a)))
    if not is_sequence(a):
        return
    if check_types and type(a) is not type(b):
        if not (isinstance(a, abc.Mapping) and isinstance(b, abc.Mapping)) and not (
                _is_namedtuple(a) and _is_namedtuple(b) and a._fields == b._fields and
                type(a).__name__ == type(b).__name__):
            raise TypeError("The two structures don't have the same sequence type. First structure has type %s, while "
                            "second structure has type %s." % (type(a), type(b)))
    if isinstance(a, abc.Mapping) and isinstance(b, abc.Mapping) and set(a) != set(b):
        raise ValueError("The two dictionaries don't have the same set of keys. First structure has keys %s, while "
                         "second structure has keys %s." % (list(a), list(b)))
    x, y = _yield_value(a), _yield_value(b)
    if len(x) != len(y):
        raise ValueError("The two structures don't have the same number of elements. First structure: %s. Second "
                         "structure: %s" % (a, b))
    for i, j in zip(x, y):
        _assert_same(i, j, check_types)


def _pack(structure, flat, at):
    values = []
    for value in _yield_value(structure):
        if is_sequence(value):
            at, child = _pack(value, flat, at)
            values.append(child)
        else:
            values.append(flat[at])
            at += 1
    return at, _like(structure, values)


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """The flat values in the structure. ValueError where there are more or fewer than leaves."""
    if not is_sequence(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    flat_sequence = list(flat_sequence)
    if not is_sequence(structure):
        if len(flat_sequence) != 1:
            raise ValueError("Structure is a scalar but len(flat_sequence) == %d > 1" % len(flat_sequence))
        return flat_sequence[0]
    leaves = len(flatten(structure))
    if leaves != len(flat_sequence):
        raise ValueError("Could not pack sequence. Structure had %d elements, but flat_sequence had %d elements.  "
                         "Structure: %s, flat_sequence: %s." % (leaves, len(flat_sequence), structure, flat_sequence))
    return _pack(structure, flat_sequence, 0)[1]


def map_structure(func, *structure, **kwargs):
    """func of the leaves, in the structure of the first."""
    if not callable(func):
        raise TypeError("func must be callable, got: %s" % func)
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=kwargs.get("check_types", True))
    return pack_sequence_as(structure[0], [func(*x) for x in zip(*[flatten(s) for s in structure])])


def _paths(structure, prefix=()):
    if not is_sequence(structure):
        return [(prefix, structure)]
    out = []
    for key, value in zip(_keys(structure), _yield_value(structure)):
        out += _paths(value, prefix + (key,))
    return out


def flatten_with_tuple_paths(structure, expand_composites=False):
    return _paths(structure)


def flatten_with_joined_string_paths(structure, separator="/", expand_composites=False):
    return [(separator.join(str(k) for k in path), value) for path, value in _paths(structure)]


def yield_flattened_paths(structure, expand_composites=False):
    return iter(path for path, _ in _paths(structure))


def map_structure_with_paths(func, *structure, **kwargs):
    paths = ["/".join(str(k) for k in path) for path, _ in _paths(structure[0])]
    return pack_sequence_as(structure[0], [func(p, *x) for p, *x in zip(paths, *[flatten(s) for s in structure])])


def map_structure_with_tuple_paths(func, *structure, **kwargs):
    paths = [path for path, _ in _paths(structure[0])]
    return pack_sequence_as(structure[0], [func(p, *x) for p, *x in zip(paths, *[flatten(s) for s in structure])])


def flatten_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """The parts of input_tree that stand where shallow_tree has leaves."""
    if not is_sequence(shallow_tree):
        return [input_tree]
    if not is_sequence(input_tree):
        raise TypeError("If shallow structure is a sequence, input must also be a sequence. Input has type: %s."
                        % type(input_tree))
    if len(shallow_tree) != len(input_tree) and not _is_attrs(shallow_tree):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length %d, while "
                         "shallow structure has length %d." % (len(input_tree), len(shallow_tree)))
    out = []
    if isinstance(shallow_tree, abc.Mapping):
        pairs = [(shallow_tree[k], input_tree[k]) for k in _sorted(shallow_tree)]
    else:
        pairs = list(zip(_yield_value(shallow_tree), _yield_value(input_tree)))
    for shallow, deep in pairs:
        out += flatten_up_to(shallow, deep)
    return out


def assert_shallow_structure(shallow_tree, input_tree, check_types=True, expand_composites=False):
    flatten_up_to(shallow_tree, input_tree)


def map_structure_up_to(shallow_tree, func, *inputs, **kwargs):
    flat = [flatten_up_to(shallow_tree, tree) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*x) for x in zip(*flat)])


def flatten_dict_items(dictionary):
    """{(4, 5): (6, 7)} becomes {4: 6, 5: 7}."""
    out = {}
    for key, value in dictionary.items():
        if not is_sequence(key):
            if key in out:
                raise ValueError("Could not flatten dictionary: key %s is not unique." % key)
            out[key] = value
        else:
            assert_same_structure(key, value, check_types=False)
            for k, v in zip(flatten(key), flatten(value)):
                if k in out:
                    raise ValueError("Could not flatten dictionary: key %s is not unique." % (k,))
                out[k] = v
    return out


def get_traverse_shallow_structure(traverse_fn, structure):
    to_traverse = traverse_fn(structure)
    if not is_sequence(structure) or to_traverse is False:
        return False if not is_sequence(structure) else to_traverse
    return _like(structure, [get_traverse_shallow_structure(traverse_fn, v) if is_sequence(v) else traverse_fn(v)
                             for v in _yield_value(structure)])
