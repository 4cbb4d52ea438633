"""meta_graph — graphs with their collections and savers, out to MetaGraphDefs and in again; import_graph_def."""
import ctypes
import re

from .. import _c, messages, text_format, variables
from ..graph import (GraphKeys, Operation, Tensor, get_default_graph, prepend_name_scope, strip_name_scope)


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds a GraphDef's nodes below `name` ("import"); gives the elements asked for. ValueError."""
    graph = get_default_graph()
    graph._check_not_finalized()
    if not hasattr(graph_def, "SerializeToString") and not isinstance(graph_def, bytes):
        raise TypeError("graph_def must be a GraphDef proto.")
    data = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    input_map = input_map or {}
    if not isinstance(input_map, dict) or not all(isinstance(k, (str, bytes)) for k in input_map):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    with graph.name_scope(name if name is not None else "import") if name != "" else _Nothing() as scope:
        return _import(graph, data, input_map, return_elements, (scope or "")[:-1] if name != "" else "")


class _Nothing:
    def __enter__(self):
        return ""

    def __exit__(self, *exc):
        return False


def _parse(name):
    if name.startswith("^"):
        return name[1:], -1
    op, _, index = name.partition(":")
    return op, int(index) if index else 0


def _import(graph, data, input_map, return_elements, prefix):
    import millrace.errors as errors
    from ..convert import convert_to_tensor
    options = _c.TF_NewImportGraphDefOptions()
    results = None
    buffer = _c.TF_NewBufferFromString(data, len(data))
    try:
        _c.TF_ImportGraphDefOptionsSetPrefix(options, prefix.encode())
        _c.TF_ImportGraphDefOptionsSetUniquifyNames(options, True)
        for source, target in input_map.items():
            op, index = _parse(source.decode() if isinstance(source, bytes) else source)
            if index < 0:
                target = target.op if isinstance(target, Tensor) else target
                _c.TF_ImportGraphDefOptionsRemapControlDependency(options, op.encode(), target._c)
            else:
                _c.TF_ImportGraphDefOptionsAddInputMapping(options, op.encode(), index,
                                                           convert_to_tensor(target)._as_tf_output())
        wanted = [e.decode() if isinstance(e, bytes) else e for e in return_elements or ()]
        for element in wanted:
            op, index = _parse(element)
            if ":" in element:
                _c.TF_ImportGraphDefOptionsAddReturnOutput(options, op.encode(), index)
            else:
                _c.TF_ImportGraphDefOptionsAddReturnOperation(options, op.encode())
        device, _ = graph._device_for_strings()
        if device:
            _c.TF_ImportGraphDefOptionsSetDefaultDevice(options, device.encode())
        for op in graph._current_control_dependencies():
            _c.TF_ImportGraphDefOptionsAddControlDependency(options, op._c)
        try:
            results = _c.call("TF_GraphImportGraphDefWithResults", graph._c, buffer, options)
        except errors.OpError as error:
            raise ValueError(error.message) from None
        new = graph._sync()
        functions = [op for op in new if any(callable(d) for d in graph._device_stack)]
        for op in functions:
            graph._apply_device_functions(op)
        context = graph._get_control_flow_context()
        for op in new:
            op._control_flow_context = context
        _check_mappings(results)
        return _elements(graph, results, wanted) if return_elements is not None else None
    finally:
        if results:
            _c.TF_DeleteImportGraphDefResults(results)
        _c.TF_DeleteBuffer(buffer)
        _c.TF_DeleteImportGraphDefOptions(options)


def _check_mappings(results):
    n, names, indexes = ctypes.c_int(), ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_int)()
    _c.TF_ImportGraphDefResultsMissingUnusedInputMappings(results, ctypes.byref(n), ctypes.byref(names),
                                                          ctypes.byref(indexes))
    if n.value:
        missing = ["^" + names[i].decode() if indexes[i] < 0 else "%s:%d" % (names[i].decode(), indexes[i])
                   for i in range(n.value)]
        raise ValueError("Attempted to map inputs that were not found in graph_def: [%s]" % ", ".join(missing))


def _elements(graph, results, wanted):
    n, outputs = ctypes.c_int(), ctypes.POINTER(_c.Output)()
    _c.TF_ImportGraphDefResultsReturnOutputs(results, ctypes.byref(n), ctypes.byref(outputs))
    tensors = [graph._operation(outputs[i].oper)._outputs[outputs[i].index] for i in range(n.value)]
    ops = ctypes.POINTER(ctypes.c_void_p)()
    _c.TF_ImportGraphDefResultsReturnOperations(results, ctypes.byref(n), ctypes.byref(ops))
    operations = [graph._operation(ops[i]) for i in range(n.value)]
    return [tensors.pop(0) if ":" in e else operations.pop(0) for e in wanted]


# ---------------------------------------- collections

_to_proto, _from_proto = {}, {}


def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
    if to_proto:
        _to_proto[collection_name] = to_proto
    if from_proto:
        _from_proto[collection_name] = from_proto


_VARIABLES = set(GraphKeys._VARIABLE_COLLECTIONS) | {GraphKeys.GLOBAL_STEP}
# What only Python understands: contexts of control flow are found again from the nodes.
_SKIPPED = {GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT}


def _add_collection(meta, key, items, export_scope):
    collection = messages.CollectionDef()
    for item in items:
        if key in _to_proto:
            proto = _to_proto[key](item, export_scope=export_scope)
            if proto is not None:
                collection.bytes_list.value.append(proto.SerializeToString())
        elif isinstance(item, variables.Variable) and key in _VARIABLES or isinstance(item, variables.Variable):
            proto = item.to_proto(export_scope)
            if proto is not None:
                collection.bytes_list.value.append(proto.SerializeToString())
        elif hasattr(item, "to_proto") and callable(item.to_proto):
            proto = item.to_proto(export_scope=export_scope)
            if proto is not None:
                collection.bytes_list.value.append(proto.SerializeToString())
        elif isinstance(item, (Tensor, Operation)):
            if export_scope is None or item.name.startswith(export_scope):
                collection.node_list.value.append(strip_name_scope(item.name, export_scope))
        elif isinstance(item, (str, bytes)):
            collection.bytes_list.value.append(_c.encode(item))
        elif isinstance(item, bool) or isinstance(item, int):
            collection.int64_list.value.append(item)
        elif isinstance(item, float):
            collection.float_list.value.append(item)
        else:
            return
    if collection.WhichOneof("kind") is not None:
        meta.collection_def[key].CopyFrom(collection)


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None,
                      as_text=False, graph=None, export_scope=None, clear_devices=False, **unused):
    """(MetaGraphDef of the graph, {}), written to a file where one is named."""
    graph = graph or get_default_graph()
    meta = messages.MetaGraphDef()
    if meta_info_def is not None:
        meta.meta_info_def.CopyFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version = _c.TF_Version().decode()
    graph_def = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
    if export_scope is not None:
        graph_def = _scoped(graph_def, export_scope)
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    meta.graph_def.CopyFrom(graph_def)
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    for key in collection_list if collection_list is not None else graph.get_all_collection_keys():
        if key not in _SKIPPED:
            _add_collection(meta, key, graph.get_collection(key), export_scope)
    if filename:
        with open(filename, "w" if as_text else "wb") as f:
            f.write(text_format.MessageToString(meta) if as_text else meta.SerializeToString())
    return meta, {}


def export_scoped_meta_graph(filename=None, graph_def=None, graph=None, export_scope=None, as_text=False, **kwargs):
    meta, _ = export_meta_graph(filename, graph_def=graph_def, graph=graph, export_scope=export_scope, as_text=as_text)
    return meta, {strip_name_scope(v.name, export_scope): v for v in
                  (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_VARIABLES, export_scope)}


def _scoped(graph_def, scope):
    out = messages.GraphDef()
    out.versions.CopyFrom(graph_def.versions)
    prefix = scope.rstrip("/") + "/"
    for node in graph_def.node:
        if not node.name.startswith(prefix):
            continue
        new = out.node.add()
        new.CopyFrom(node)
        new.name = strip_name_scope(node.name, scope)
        for i, one in enumerate(new.input):
            new.input[i] = strip_name_scope(one, scope)
        if "_class" in new.attr:
            values = [strip_name_scope(v.decode(), scope).encode() for v in node.attr["_class"].list.s]
            del new.attr["_class"].list.s[:]
            new.attr["_class"].list.s.extend(values)
    return out


def read_meta_graph_file(filename):
    """The MetaGraphDef of a file, binary or text. OSError."""
    import os
    if not os.path.exists(filename):
        raise IOError("File %s does not exist." % filename)
    with open(filename, "rb") as f:
        data = f.read()
    try:
        return messages.MetaGraphDef.FromString(data)
    except messages.DecodeError:
        return text_format.Parse(data.decode("utf-8"), messages.MetaGraphDef())


def import_scoped_meta_graph(meta_graph_or_file, clear_devices=False, graph=None, import_scope=None, input_map=None,
                             **unused):
    _import_meta(meta_graph_or_file, clear_devices, import_scope, input_map, graph)
    return {v.name: v for v in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, import_scope)}


def _import_meta(meta_graph_or_file, clear_devices, import_scope, input_map=None, graph=None, return_elements=None):
    meta = meta_graph_or_file if hasattr(meta_graph_or_file, "SerializeToString") else \
        read_meta_graph_file(meta_graph_or_file)
    if not isinstance(meta, messages.MetaGraphDef):
        meta = messages.MetaGraphDef.FromString(meta.SerializeToString())
    graph = graph or get_default_graph()
    graph_def = messages.GraphDef.FromString(meta.graph_def.SerializeToString())
    for node in graph_def.node:
        if clear_devices:
            node.device = ""
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
    with graph.as_default():
        found = import_graph_def(graph_def, input_map, return_elements, name=import_scope or "")
        made = {}
        for key in sorted(meta.collection_def):
            _restore_collection(graph, key, meta.collection_def[key], import_scope, made)
    return meta, found


def _restore_collection(graph, key, collection, import_scope, made):
    kind = collection.WhichOneof("kind")
    if kind is None or key in _SKIPPED:
        return
    values = getattr(collection, kind).value
    if kind == "node_list":
        for value in values:
            graph.add_to_collection(key, graph.as_graph_element(prepend_name_scope(value, import_scope)))
    elif kind == "bytes_list":
        for value in values:
            graph.add_to_collection(key, _restored(graph, key, value, import_scope, made))
    else:
        for value in values:
            graph.add_to_collection(key, value)


def _restored(graph, key, value, import_scope, made):
    if key in _VARIABLES:
        if value not in made:
            made[value] = variables.Variable.from_proto(messages.VariableDef.FromString(value), import_scope)
        return made[value]
    if key == GraphKeys.SAVERS:
        from .saver import Saver
        return Saver.from_proto(messages.SaverDef.FromString(value), import_scope)
    if key == GraphKeys.QUEUE_RUNNERS:
        from .queue_runner import QueueRunner
        return QueueRunner.from_proto(messages.QueueRunnerDef.FromString(value), import_scope)
    if key in _from_proto:
        return _from_proto[key](value, import_scope=import_scope)
    return value


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, return_elements=None, **kwargs):
    """Adds a meta graph to the default graph; gives its Saver, or one over the variables imported, or None."""
    from .saver import Saver
    meta, found = _import_meta(meta_graph_or_file, clear_devices, import_scope, kwargs.get("input_map"),
                               return_elements=return_elements)
    if meta.HasField("saver_def"):
        saver = Saver.from_proto(meta.saver_def, import_scope)
    elif variables._all_saveable_objects(import_scope):
        saver = Saver()
    else:
        saver = None
    return (saver, found) if return_elements is not None else saver
