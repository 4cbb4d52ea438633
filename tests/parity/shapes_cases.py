# shapes_cases — what is asked of shape inference, and TensorFlow's answers: see shapes_parity.py. Needs TensorFlow.
#
# Two sources. The cases of ops_parity give valid inputs: each comes with its inputs as constants, as placeholders of known
# and of partly known sizes, of unknown rank, and with one input in turn that doesn't fit. And a search, for every
# operation: from inputs of unknown rank it refines one input at a time, at random but repeatably, and goes on from what
# TensorFlow accepts; refusals are answers as well.
import importlib
import os
import pickle
import random
import re
import subprocess
import sys
import zlib

import numpy as np
import oracle
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry

import capi
import cases
from shapes_probe import Asker

STEPS, RESTARTS = 18, 1    # refinements of the search, from the start so many times
SMALL = 24                 # elements that a constant may have
DTYPES = {tf.as_dtype(name).as_datatype_enum: number for number, name in
          ((n, np.dtype(k).name) for n, k in capi.NUMPY.items())}
TYPES = [capi.FLOAT, capi.INT32, capi.INT64, capi.STRING]
FLAT = {"strides": [1, 2, 2, 1], "ksize": [1, 2, 2, 1], "ksizes": [1, 2, 2, 1], "rates": [1, 2, 2, 1], "padding": "SAME"}
DEEP = {"strides": [1, 2, 2, 2, 1], "ksize": [1, 2, 2, 2, 1]}
CHOICES = {  # attributes without a default, some others by operation: several values are tried in turn
    "padding": ["SAME", "VALID"], "N": [2, 1], "num_split": [2, 3], "num": [2, 3], "k": [2, 0], "block_size": [2, 3], "num_sampled": [4],
    "num_true": [2, 1], "equation": ["ab,bc->ac", "a...,b->...b"], "range_max": [10], "merge_op": ["Add"], "final_op": ["Id"],
    "reduction": ["sum"], "mode": ["REFLECT"], "interpolation": ["BILINEAR"], "input_encoding": ["UTF-8"],
    "output_encoding": ["UTF-8"], "pattern": ["a"], "serialized_options": [""], "field_names": [["a", "b"]], "top_paths": [2],
    "dense_shapes": [[[2], []]], "pooling_ratio": [[1.0, 1.5, 1.5, 1.0]], "boundaries": [[1.0, 2.0]], "ngram_widths": [[2]],
    "key": [[1, 2]], "vocab_count": [[1, 2]], "num_splits": [[2, 1]], "subdiv_offsets": [[0]], "row_partition_types": [["ROW_SPLITS"]],
    "message": ["m"], "filename": ["f"], "frame_name": ["f"], "num_partitions": [2, 1], "seq_dim": [1, 0], "value": [np.float32(1)],
    "RAGGED_RANK": [1, 2], "PARAMS_RAGGED_RANK": [1, 2], "OUTPUT_RAGGED_RANK": [1, 2], "input_ragged_rank": [-1, 1],
    "output_ragged_rank": [1, 2], "num_row_partition_tensors": [1], "input_order": ["RD"], "devices": [["/cpu:0"]],
    "sparse_keys": [["a", "b"]], "dense_keys": [["c", "d"]], "Ndense": [2], "Nsparse": [2], "num_sparse": [2], "concat_dim": [0, 1], "shape": [[2, 3], None, [-1, 2], []],
    "record_bytes": [8], "window_size": [4], "stride": [2], "num_devices": [1], "limit": [5], "output_shapes": [[[2, -1], None]],
    "context_dense_keys": [[]], "context_sparse_keys": [[]], "feature_list_dense_keys": [[]],
    "feature_list_sparse_keys": [[]], "feature_list_dense_missing_assumed_empty": [[]], "shapes": [[[2], []]],
}
OPTIONS = {  # attributes with a default that shapes depend on: other values are tried, too
    "transpose_a": [True], "transpose_b": [True], "adj_x": [True], "adj_y": [True], "keep_dims": [True], "axis": [1, -1], "data_format": ["NCHW", "NCDHW"],
    "squeeze_dims": [[0], [-1]], "begin_mask": [1], "end_mask": [1], "ellipsis_mask": [1], "new_axis_mask": [1], "shrink_axis_mask": [1],
    "channels": [3], "full_matrices": [True], "compute_uv": [False], "validate_shape": [False], "batch_dims": [1], "align": ["LEFT_LEFT"],
    "batch_dim": [1], "adjoint": [True], "expand_animations": [False], "time_major": [False], "compute_v": [False],
    "use_inner_shape": [True], "element_shape": [[2], None], "crop_pad": [True], "pad_to_max_output_size": [True], "pad_per_class": [True],
    "return_max_output_size": [True], "include_batch_in_index": [True], "binary_output": [True], "is_training": [False], "sorted": [False],
    "shapes": [[[2], []]], "dilations": [[1, 2, 2, 1]], "explicit_paddings": [[0, 0, 1, 1, 1, 1, 0, 0]],
}
ONLY = {"MaxPool3D": DEEP, "MaxPool3DGrad": DEEP, "AvgPool3D": DEEP, "AvgPool3DGrad": DEEP, "Conv3D": DEEP, "Conv3DBackpropInputV2": DEEP,
        "Conv3DBackpropFilterV2": DEEP}
SKIPPED = {"OneShotIterator", "SymbolicGradient"}  # they want a function of the graph's library


def operations():
    """Tiers 1 and 2, and what the tables of ops_parity have besides."""
    with open(__file__.replace("shapes_cases.py", "shapes_ops.txt")) as f:
        return f.read().split()


# ---- attributes

def shape_proto(dims, out):
    if dims is None:
        out.unknown_rank = True
    else:
        out.unknown_rank = False
        for d in dims:
            out.dim.add().size = d


def attr_bytes(kind, value):
    """The AttrValue of a Python value, of the type that the operation's definition names."""
    out = attr_value_pb2.AttrValue()
    if kind.startswith("list("):
        kind, found = kind[5:-1], out.list
        found.SetInParent()
        for v in value:
            if kind == "shape":
                shape_proto(v, found.shape.add())
            elif kind == "func":
                found.func.add().name = v
            else:
                getattr(found, dict(int="i", float="f", bool="b", string="s", type="type")[kind]).append(v.encode() if kind == "string" else v)
    elif kind == "shape":
        shape_proto(value, out.shape)
    elif kind == "func":
        out.func.name = value
    elif kind == "tensor":
        out.tensor.CopyFrom(tf.make_tensor_proto(value))
    else:
        setattr(out, dict(int="i", float="f", bool="b", string="s", type="type")[kind], value.encode() if kind == "string" else value)
    return out.SerializeToString()


def choices(op_def, attr):
    """The values that are tried of an attribute, the usual first."""
    own = ONLY.get(op_def.name, {})
    if attr.name in own:
        return [own[attr.name]]
    allowed = attr.allowed_values.list
    if attr.type == "type":
        if attr.HasField("default_value"):
            return [attr.default_value.type]
        types = list(allowed.type) or [1, 3]
        return [1] if 1 in types else [3] if 3 in types else types[:1]
    given = CHOICES.get(attr.name, FLAT.get(attr.name))
    if attr.name in FLAT and attr.name != "padding" and given is not None:
        given = [given]
    if given is not None and (not attr.HasField("default_value") or attr.name in ("shape", "shapes")) and not (attr.type.startswith("list(") and not isinstance(given[0], list)):
        if allowed.s:
            given = [v for v in given if v.encode() in allowed.s] or [allowed.s[0].decode()]
        return given
    if attr.HasField("default_value"):
        return None
    basic = {"int": 2, "float": 0.5, "bool": False, "string": "a", "func": "none", "shape": [2, 3], "tensor": np.float32(1)}
    if attr.type == "list(type)":
        types = list(allowed.type)
        return [[1 if not types or 1 in types else types[0], 9 if not types or 9 in types else types[-1]]]
    if attr.type.startswith("list("):
        return [[basic[attr.type[5:-1]]] * max(attr.minimum if attr.has_minimum else 1, 1)]
    if allowed.s:
        return [allowed.s[0].decode()]
    return [max(basic[attr.type], attr.minimum) if attr.type == "int" and attr.has_minimum else basic[attr.type]]


def chosen(op_def, pick):
    """{name: Python value} of one choice of attributes."""
    out = {}
    for attr in op_def.attr:
        values = choices(op_def, attr)
        if values is not None:
            out[attr.name] = values[0] if len(values) == 1 else pick.choice(values)
            continue
        options = OPTIONS.get(attr.name)
        if options and pick.random() < 0.35:
            options = [o for o in options if not attr.allowed_values.list.s or o.encode() in attr.allowed_values.list.s]
            if options and attr.type.startswith("list(") == isinstance(options[0], list) or attr.type == "shape":
                out[attr.name] = pick.choice(options)
    return out


def value_of(op_def, attrs, name):
    if name in attrs:
        return attrs[name]
    return next(getattr(a.default_value, "i" if a.type == "int" else "type") if a.type in ("int", "type") else
                list(a.default_value.list.type) for a in op_def.attr if a.name == name)


def arguments(op_def, attrs):
    """Per input its type, or the list of types where it takes a list; and whether it is a reference."""
    for arg in op_def.input_arg:
        if arg.type_list_attr:
            yield list(value_of(op_def, attrs, arg.type_list_attr)), arg.is_ref
            continue
        dtype = value_of(op_def, attrs, arg.type_attr) if arg.type_attr else arg.type
        yield ([dtype] * value_of(op_def, attrs, arg.number_attr) if arg.number_attr else dtype), arg.is_ref


# ---- the search

def start(dtype, ref):
    if ref:
        return ("r", dtype, None)
    return ("?", dtype)


def refined(spec, pick, usual, variables):
    """Something else for one input."""
    kind, dtype = spec[0], capi.dtype_number(spec[1]) if spec[0] == "c" else spec[1]
    rank = min(max(int(pick.gauss(usual, 0.8) + 0.5), 0), 6)
    dims = [pick.choice([2, 2, 2, 3, 4, 1, -1]) for _ in range(rank)]
    draw = pick.random()
    if kind == "h" and draw < 0.3:
        return ("p", capi.RESOURCE, dims)
    if kind in "rh":
        return (kind, dtype, dims)
    if dtype == capi.RESOURCE and variables and draw < 0.5:
        return ("h", capi.FLOAT, dims)
    if draw < 0.08:
        return ("?", dtype)
    if dtype in (capi.INT32, capi.INT64) and draw < 0.6:
        if draw < 0.15:
            return ("v", dtype, [pick.choice([1, 2, 3, None]) for _ in range(max(usual, 1))])
        shape = [max(d, 1) for d in dims][:1] if pick.random() < 0.6 else []
        return ("c", np.array(np.reshape([pick.choice([0, 1, 2, 1, 2, 3, 4, -1]) for _ in range(int(np.prod(shape)))], shape), capi.NUMPY[dtype]))
    if dtype in capi.NUMPY and dtype != capi.STRING and draw < 0.14:
        return ("c", np.ones([max(d, 1) for d in dims], capi.NUMPY[dtype]))
    if dtype == capi.STRING and draw < 0.14:
        return ("c", np.full([max(d, 1) for d in dims], b"a", object))
    return ("p", dtype, dims)


class Asked:
    def __init__(self, prober):
        self.prober, self.probes, self.seen = prober, [], set()

    def ask(self, op, label, inputs, attrs):
        key = repr((op, inputs, sorted(attrs.items())))
        if key in self.seen:
            return None
        self.seen.add(key)
        answer = self.prober(op, inputs, attrs)
        if answer is None or isinstance(answer, str):
            return None
        self.probes.append(dict(op=op, label=label, inputs=inputs, attrs=attrs, expect=answer))
        return answer

    def search(self, name):
        op_def = op_def_registry.get(name)
        if op_def is None or name in SKIPPED:
            return
        pick = random.Random(zlib.crc32(name.encode()))
        kinds = {a.name: a.type for a in op_def.attr}
        stems = {}    # a rank per input that was accepted once
        for turn in range(2 * RESTARTS):
            attrs = chosen(op_def, pick)
            encoded = {k: attr_bytes(kinds[k], v) for k, v in attrs.items()}
            flat = [[start(t, ref) for t in types] if isinstance(types, list) else start(types, ref)
                    for types, ref in arguments(op_def, attrs)]
            answer = self.ask(name, "search", flat, encoded)
            if not isinstance(answer, list):
                if answer is not None and turn:
                    continue
            self.refine(name, flat, encoded, pick, stems)

    def refine(self, name, flat, encoded, pick, stems):
        places = [(i, j) for i, spec in enumerate(flat) for j in (range(len(spec)) if isinstance(spec, list) else [None])]
        if not places:
            return
        for step in range(STEPS if len(places) > 1 else STEPS // 2):
            i, j = places[step % len(places)] if step < len(places) else pick.choice(places)
            old = flat[i] if j is None else flat[i][j]
            if not isinstance(old, tuple):
                continue
            new = refined(old, pick, stems.get((i, j), pick.choice([1, 2, 4])), re.match("Resource|Variable|Read|VarIs|Assign|Disable", name))
            tried = list(flat)
            if j is None:
                tried[i] = new
            else:
                tried[i] = list(flat[i])
                tried[i][j] = new
            if isinstance(self.ask(name, "search", tried, encoded), list):
                flat = tried
                if new[0] in "prh" and new[2] is not None:
                    stems[(i, j)] = len(new[2])

    # ---- cases

    def case(self, case, encoded):
        def spec(x, how, host):
            number = capi.dtype_number(x)
            if how == "constants" and x.size <= SMALL or how != "unknown" and host and x.size <= SMALL:
                return ("c", x)
            if how == "unknown" or how == "ranks unknown":
                return ("?", number)
            dims = list(x.shape)
            if how == "sizes unknown":
                dims = [-1] * x.ndim
            elif how == "rows unknown" and x.ndim:
                dims[0] = -1
            elif how == "columns unknown" and x.ndim:
                dims[-1] = -1
            return ("p", number, dims)

        def specs(how):
            made = []
            op_def = op_def_registry.get(case.op)
            for i, (arg, x) in enumerate(zip(op_def.input_arg, case.inputs)):
                host = oracle.is_host(case, i, arg.name)
                made.append([spec(y, how, host) for y in x] if isinstance(x, list) else spec(x, how, host))
            return made

        for how in ("constants", "known", "rows unknown", "columns unknown", "sizes unknown", "ranks unknown", "unknown"):
            self.ask(case.op, how, specs(how), encoded)
        base = specs("known")
        for i, x in enumerate(base):
            if isinstance(x, list):
                continue
            for label, other in self.others(x):
                self.ask(case.op, label, base[:i] + [other] + base[i + 1:], encoded)

    @staticmethod
    def others(spec):
        """What doesn't fit, or tells less."""
        if spec[0] == "c":
            x = spec[1]
            yield "value unknown", ("p", capi.dtype_number(x), list(x.shape))
            if x.ndim == 0:
                yield "vector for a scalar", ("c", x.reshape(1))
                yield "two for one", ("p", capi.dtype_number(x), [2])
            elif x.ndim == 1:
                if x.size and x.dtype in (np.int32, np.int64) and x.size <= 8 and (x >= 0).all():
                    yield "partly known", ("v", capi.dtype_number(x), [None] + x.tolist()[1:])
                    yield "partly known", ("v", capi.dtype_number(x), x.tolist()[:-1] + [None])
                yield "matrix for a vector", ("c", x.reshape(1, -1))
                yield "longer", ("c", np.concatenate([x, x[-1:]]) if x.size else np.ones(1, x.dtype))
        else:
            yield "one more axis", ("p", spec[1], spec[2] + [1])
            if spec[2]:
                yield "one less axis", ("p", spec[1], spec[2][1:])
                yield "another size", ("p", spec[1], spec[2][:-1] + [spec[2][-1] + 1])
                yield "another size", ("p", spec[1], [spec[2][0] + 1] + spec[2][1:])
            yield "rank unknown", ("?", spec[1])


def table():
    """The cases of ops_parity with numbers for inputs, at most a few of each operation, as different as there are."""
    for family in ("math", "array", "nn", "random", "state", "flow", "train"):
        importlib.import_module("cases_" + family)
    found = {}
    for case in cases.TABLE:
        if not isinstance(case, cases.Case) or op_def_registry.get(case.op) is None:
            continue
        arrays = [y for x in case.inputs for y in (x if isinstance(x, list) else [x])]
        if any(y.dtype != object and y.dtype not in capi.NUMBER for y in arrays):
            continue
        key = (tuple(len(x) if isinstance(x, list) else x.ndim for x in case.inputs), tuple(sorted(case.attrs)))
        like = found.setdefault(case.op, {})
        if key not in like and len(like) < 3:
            like[key] = case
    return [case for like in found.values() for case in like.values()]


def answers(library):
    asked = Asked(Asker(library))
    known = set(operations())
    for case in table():
        known.add(case.op)
        try:
            node = oracle.Built(case, "late").graph.as_graph_def().node
        except (ValueError, TypeError, LookupError):
            try:
                node = oracle.Built(case, "fixed").graph.as_graph_def().node
            except (ValueError, TypeError, LookupError):
                continue
        made = next((n for n in node if n.name == "op"), None)
        if made is not None:
            asked.case(case, {k: v.SerializeToString() for k, v in made.attr.items() if not k.startswith("_")})
    for name in sorted(known):
        asked.search(name)
    return asked.probes


# ---- whole graphs

def whole_graphs():
    """{name: GraphDef} of the nets of nets_parity, which keeps them, and of Keras models."""
    import nets_parity
    with open(nets_parity.kept(False, False), "rb") as f:
        graphs = {name: record["graph"] for name, record in pickle.load(f).items()}
    models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes_models.py")
    graphs.update(pickle.loads(subprocess.run([sys.executable, models], check=True, stdout=subprocess.PIPE).stdout))
    return graphs
