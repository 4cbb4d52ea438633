"""frozen — tf.graph_util: GraphDefs without what inference doesn't need: subgraphs, variables as constants."""
from . import messages
from .constant import make_tensor_proto
from .dtypes import as_dtype


def _node_name(name):
    name = name[1:] if name.startswith("^") else name
    return name.split(":")[0]


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    node_def = node if hasattr(node, "op") and isinstance(node.op, str) else node.node_def
    if pin_variables_on_cpu and node_def.op in ("Variable", "VariableV2"):
        return True
    if node_def.op == "Const":
        return node_def.attr["dtype"].type == as_dtype("string").as_datatype_enum
    return node_def.op in ("DynamicStitch",) and node_def.attr["T"].type == as_dtype("int32").as_datatype_enum


def extract_sub_graph(graph_def, dest_nodes):
    """The part of a GraphDef that some nodes need."""
    if not hasattr(graph_def, "node"):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    by_name = {n.name: n for n in graph_def.node}
    for name in dest_nodes:
        if name not in by_name:
            raise AssertionError("%s is not in graph" % name)
    needed, todo = set(), list(dest_nodes)
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [_node_name(i) for i in by_name[name].input]
    out = messages.GraphDef()
    for node in graph_def.node:
        if node.name in needed:
            out.node.add().CopyFrom(node)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None):
    """The subgraph of the outputs, with variables replaced by their values in the session."""
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    variables, reads = {}, {}
    by_name = {n.name: n for n in graph_def.node}
    for node in graph_def.node:
        if node.op in ("Variable", "VariableV2"):
            variables[node.name] = node.name + ":0"
        elif node.op in ("ReadVariableOp", "ResourceGather"):
            handle = node.input[0]
            while by_name[_node_name(handle)].op in ("Identity", "Switch", "Enter"):
                handle = by_name[_node_name(handle)].input[0]
            name = _node_name(handle)
            variables[name] = name + "/Read/ReadVariableOp:0"
            reads[node.name] = name
    wanted = [n for n in variables if (variable_names_whitelist is None or n in variable_names_whitelist) and
              n not in (variable_names_blacklist or ())]
    values = dict(zip(wanted, sess.run([_readable(sess.graph, n, variables[n]) for n in wanted]))) if wanted else {}
    out = messages.GraphDef()
    for node in graph_def.node:
        new = out.node.add()
        if node.name in values:
            new.op, new.name = "Const", node.name
            value = values[node.name]
            proto = make_tensor_proto(value)
            new.attr["dtype"].type = proto.dtype
            new.attr["value"].tensor.CopyFrom(proto)
        elif reads.get(node.name) in values:
            _read_of_constant(new, node, values[reads[node.name]])
            if node.op == "ResourceGather":
                axis = out.node.add(op="Const", name=node.name + "/axis")
                axis.attr["dtype"].type = as_dtype("int32").as_datatype_enum
                axis.attr["value"].tensor.CopyFrom(make_tensor_proto(0))
        else:
            new.CopyFrom(node)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


def _readable(graph, name, fallback):
    for read in (name + "/Read/ReadVariableOp:0", name + "/read:0", fallback):
        try:
            return graph.get_tensor_by_name(read)
        except (KeyError, ValueError):
            continue
    for op in graph.get_operations():
        if op.type == "ReadVariableOp" and op.inputs[0].op.name == name:
            return op.outputs[0]
    raise ValueError("no reading of variable %s" % name)


def _read_of_constant(new, node, value):
    """A read becomes Identity, a gather of a variable a gather."""
    proto = make_tensor_proto(value)
    new.name, new.device = node.name, node.device
    if node.op == "ReadVariableOp":
        new.op = "Identity"
        new.input.extend(list(node.input))
        new.attr["T"].type = proto.dtype
        return
    new.op = "GatherV2"
    new.input.extend(list(node.input) + [node.name + "/axis"])
    new.attr["Tparams"].type, new.attr["Tindices"].type = proto.dtype, node.attr["Tindices"].type
    new.attr["Taxis"].type = as_dtype("int32").as_datatype_enum


def remove_training_nodes(input_graph, protected_nodes=None):
    """A GraphDef without Identity and CheckNumerics nodes that nothing needs."""
    protected = set(protected_nodes or ())
    controls = {i[1:] for n in input_graph.node for i in n.input if i.startswith("^")}
    spliced = {}
    for node in input_graph.node:
        if node.op in ("CheckNumerics", "Identity") and node.name not in protected | controls and len(node.input) == 1:
            spliced[node.name] = node.input[0]

    def final(name):
        while not name.startswith("^") and _node_name(name) in spliced:
            name = spliced[_node_name(name)]
        return name
    out = messages.GraphDef()
    for node in input_graph.node:
        if node.name in spliced:
            continue
        new = out.node.add()
        new.CopyFrom(node)
        for i, one in enumerate(node.input):
            new.input[i] = final(one)
    out.library.CopyFrom(input_graph.library)
    out.versions.CopyFrom(input_graph.versions)
    return out


def tensor_shape_from_node_def_name(graph, input_name):
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).get_shape()
