# shapes_probe — single operations added to graphs over the C interface, and what the library infers of their outputs.
#
# A probe is (op, inputs, attrs): attrs {name: serialized AttrValue}, inputs a list of specs, or of lists of specs where the
# operation takes a list. A spec is one of
#   ("?", dtype)            a placeholder of unknown rank        ("p", dtype, dims)   of these sizes, -1 where unknown
#   ("c", array)            a constant                           ("v", dtype, items)  a vector packed of known and unknown scalars
#   ("r", dtype, dims)      a reference (dims None: unknown)     ("h", dtype, dims)   a variable's handle
# The answer is a list of shapes (None: unknown rank), or the code of the refusal. Knows no TensorFlow.
import ctypes as c
import os
import pickle
import subprocess
import sys

import capi

RESOURCE, INT32 = capi.RESOURCE, capi.INT32
EXTRA = {
    "TF_NewOperation": (capi.P, [capi.P, capi.S, capi.S]), "TF_AddInput": (None, [capi.P, capi.Output]),
    "TF_AddInputList": (None, [capi.P, capi.P, capi.I]), "TF_SetAttrType": (None, [capi.P, capi.S, capi.I]),
    "TF_SetAttrShape": (None, [capi.P, capi.S, capi.P, capi.I]), "TF_SetAttrTensor": (None, [capi.P, capi.S, capi.P, capi.P]),
    "TF_SetAttrValueProto": (None, [capi.P, capi.S, capi.S, capi.N, capi.P]),
    "TF_GraphNextOperation": (capi.P, [capi.P, capi.P]),
    "TF_FinishOperation": (capi.P, [capi.P, capi.P]), "TF_OperationOutputType": (capi.I, [capi.Output]),
}
capi.FUNCTIONS.update(EXTRA)


class Prober:
    def __init__(self, library):
        self.library, self.status = library, library.TF_NewStatus()
        self.graph, self.made, self.n = None, {}, 0
        self.fresh()

    def fresh(self):
        """A new graph: one would grow without end."""
        if self.graph:
            self.library.TF_DeleteGraph(self.graph)
        self.graph, self.made = self.library.TF_NewGraph(), {}

    def begin(self, op):
        self.n += 1
        return self.library.TF_NewOperation(self.graph, op.encode(), b"n%d" % self.n)

    def finish(self, description):
        made = self.library.TF_FinishOperation(description, self.status)
        return None if self.library.TF_GetCode(self.status) else made

    def shape_attr(self, description, name, dims):
        values = (capi.L * max(len(dims or ()), 1))(*(dims or ()))
        self.library.TF_SetAttrShape(description, name, values, -1 if dims is None else len(dims))

    def placeholder(self, dtype, dims):
        d = self.begin("Placeholder")
        self.library.TF_SetAttrType(d, b"dtype", dtype)
        self.shape_attr(d, b"shape", dims)
        return self.finish(d)

    def constant(self, array):
        d = self.begin("Const")
        tensor = self.library.tensor(array)
        self.library.TF_SetAttrType(d, b"dtype", capi.dtype_number(array))
        self.library.TF_SetAttrTensor(d, b"value", tensor, self.status)
        self.library.delete_tensor(tensor)
        return self.finish(d)

    def variable(self, op, dtype, dims):
        d = self.begin(op)
        self.library.TF_SetAttrType(d, b"dtype", dtype)
        self.shape_attr(d, b"shape", dims)
        return self.finish(d)

    def packed(self, dtype, items):
        scalars = []
        for item in items:
            kind = capi.NUMPY[dtype]
            made = self.placeholder(dtype, ()) if item is None else self.constant(capi.np.array(item, kind))
            scalars.append(capi.Output(made, 0))
        d = self.begin("Pack")
        self.library.TF_AddInputList(d, (capi.Output * len(scalars))(*scalars), len(scalars))
        return self.finish(d)

    def input(self, spec):
        key = repr(spec)
        if key not in self.made:
            kind = spec[0]
            if kind == "?":
                made = self.placeholder(spec[1], None)
            elif kind == "p":
                made = self.placeholder(spec[1], spec[2])
            elif kind == "c":
                made = self.constant(spec[1])
            elif kind == "v":
                made = self.packed(spec[1], spec[2])
            else:
                made = self.variable("VarHandleOp" if kind == "h" else "VariableV2", spec[1], spec[2])
            if not made:
                raise RuntimeError("no input %r: %s" % (spec, self.library.TF_Message(self.status)))
            self.made[key] = capi.Output(made, 0)
        return self.made[key]

    def __call__(self, op, inputs, attrs):
        if len(self.made) > 500 or self.n > 3000:
            self.fresh()
            self.n = 0
        found = [[self.input(s) for s in spec] if isinstance(spec, list) else self.input(spec) for spec in inputs]
        d = self.begin(op)
        for x in found:
            if isinstance(x, list):
                self.library.TF_AddInputList(d, (capi.Output * max(len(x), 1))(*x), len(x))
            else:
                self.library.TF_AddInput(d, x)
        for name, value in attrs.items():
            self.library.TF_SetAttrValueProto(d, name.encode(), value, len(value), self.status)
        made = self.finish(d)
        if not made:
            self.message = self.library.TF_Message(self.status).decode(errors="replace")
            return self.library.TF_GetCode(self.status)
        return [self.shape(capi.Output(made, i)) for i in range(self.library.TF_OperationNumOutputs(made))]

    def shape(self, output):
        rank = self.library.checked("TF_GraphGetTensorNumDims", self.graph, output)
        if rank < 0:
            return None
        dims = (capi.L * max(rank, 1))()
        self.library.checked("TF_GraphGetTensorShape", self.graph, output, dims, rank)
        return list(dims[:rank])


def serve(path):
    """Answers what comes in, one probe or a list of them at a time, until the end of input."""
    prober = Prober(capi.Library(path))
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            probe = pickle.load(source)
        except EOFError:
            return
        prober.message = ""
        try:
            answer = prober(*probe)
        except (capi.Error, RuntimeError, KeyError) as error:
            answer = str(error)
        pickle.dump((answer, prober.message), sink)
        sink.flush()


class Asker:
    """A library in a process of its own: one that dies is started again, and the probe has no answer (None)."""

    def __init__(self, path):
        self.path, self.process, self.message, self.deaths = path, None, "", 0

    def __call__(self, op, inputs, attrs):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.path], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            pickle.dump((op, inputs, attrs), self.process.stdin)
            self.process.stdin.flush()
            answer, self.message = pickle.load(self.process.stdout)
            return answer
        except (EOFError, BrokenPipeError, ConnectionError):
            self.process.wait()
            self.process, self.message = None, "the process died"
            self.deaths += 1
            return None


if __name__ == "__main__":
    serve(sys.argv[1])
