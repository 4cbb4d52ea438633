# capi — the TensorFlow C interface over ctypes: graphs from bytes, sessions, values as numpy arrays. Knows no TensorFlow.
import ctypes as c
import os

import numpy as np

try:
    import ml_dtypes
except ImportError:  # without it the cases of these types are left out
    ml_dtypes = None

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL = range(7, 14)
CODES = ("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
         "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
         "UNAUTHENTICATED").split()

FLOAT, DOUBLE, INT32, UINT8, INT16, INT8, STRING, COMPLEX64, INT64, BOOL = range(1, 11)
BFLOAT16, UINT16, COMPLEX128, HALF, RESOURCE, VARIANT, UINT32, UINT64 = 14, 17, 18, 19, 20, 21, 22, 23
NUMPY = {FLOAT: np.float32, DOUBLE: np.float64, INT32: np.int32, UINT8: np.uint8, INT16: np.int16, INT8: np.int8,
         COMPLEX64: np.complex64, INT64: np.int64, BOOL: np.bool_, UINT16: np.uint16, COMPLEX128: np.complex128,
         HALF: np.float16, UINT32: np.uint32, UINT64: np.uint64}
if ml_dtypes:
    NUMPY[BFLOAT16] = ml_dtypes.bfloat16
NUMBER = {np.dtype(kind): number for number, kind in NUMPY.items()}


def dtype_number(array):
    return STRING if array.dtype == object else NUMBER[array.dtype]


class Error(Exception):
    """A status that is not OK."""

    def __init__(self, code, message):
        super().__init__("%s: %s" % (CODES[code] if code < len(CODES) else code, message))
        self.code, self.message = code, message


class Output(c.Structure):
    _fields_ = [("oper", c.c_void_p), ("index", c.c_int)]


class Buffer(c.Structure):
    _fields_ = [("data", c.c_void_p), ("length", c.c_size_t), ("free", c.c_void_p)]


P, I, L, S, N = c.c_void_p, c.c_int, c.c_int64, c.c_char_p, c.c_size_t
FUNCTIONS = {  # name: (result, arguments)
    "TF_Version": (S, []), "TF_NewStatus": (P, []), "TF_DeleteStatus": (None, [P]), "TF_GetCode": (I, [P]),
    "TF_Message": (S, [P]), "TF_NewBufferFromString": (P, [S, N]), "TF_NewBuffer": (P, []),
    "TF_DeleteBuffer": (None, [P]), "TF_AllocateTensor": (P, [I, P, I, N]), "TF_DeleteTensor": (None, [P]),
    "TF_TensorType": (I, [P]), "TF_NumDims": (I, [P]), "TF_Dim": (L, [P, I]), "TF_TensorData": (P, [P]),
    "TF_TensorByteSize": (N, [P]), "TF_NewGraph": (P, []), "TF_DeleteGraph": (None, [P]),
    "TF_NewImportGraphDefOptions": (P, []), "TF_DeleteImportGraphDefOptions": (None, [P]),
    "TF_GraphImportGraphDef": (None, [P, P, P, P]), "TF_GraphOperationByName": (P, [P, S]),
    "TF_GraphToGraphDef": (None, [P, P, P]), "TF_NewSessionOptions": (P, []), "TF_DeleteSessionOptions": (None, [P]),
    "TF_SetConfig": (None, [P, S, N, P]), "TF_NewSession": (P, [P, P, P]), "TF_CloseSession": (None, [P, P]),
    "TF_DeleteSession": (None, [P, P]), "TF_SessionRun": (None, [P, P, P, P, I, P, P, I, P, I, P, P]),
    "TF_SessionPRunSetup": (None, [P, P, I, P, I, P, I, P, P]),
    "TF_SessionPRun": (None, [P, S, P, P, I, P, P, I, P, I, P]), "TF_DeletePRunHandle": (None, [P]),
    "TF_GraphGetTensorNumDims": (I, [P, Output, P]),
    "TF_GraphGetTensorShape": (None, [P, Output, P, I, P]), "TF_AddGradients": (None, [P, P, I, P, I, P, P, P]), "TF_GetAllRegisteredKernels": (P, [P]),
    "TF_LoadSessionFromSavedModel": (P, [P, P, S, P, I, P, P, P]),
    "TF_LoadLibrary": (P, [S, P]), "TF_DeleteLibraryHandle": (None, [P]),
    "TF_StringInit": (None, [P]), "TF_StringCopy": (None, [P, S, N]), "TF_StringDealloc": (None, [P]),
    "TF_StringGetDataPointer": (P, [P]), "TF_StringGetSize": (N, [P]), "TF_OperationNumOutputs": (I, [P]),
    "TF_OperationName": (S, [P]), "TFE_NewContextOptions": (P, []), "TFE_DeleteContextOptions": (None, [P]),
    "TFE_NewContext": (P, [P, P]), "TFE_DeleteContext": (None, [P]), "TFE_NewOp": (P, [P, S, P]),
    "TFE_DeleteOp": (None, [P]), "TFE_OpAddInput": (None, [P, P, P]), "TFE_OpSetAttrType": (None, [P, S, I]),
    "TFE_OpSetAttrBool": (None, [P, S, c.c_ubyte]), "TFE_OpSetAttrInt": (None, [P, S, L]),
    "TFE_NewTensorHandle": (P, [P, P]), "TFE_DeleteTensorHandle": (None, [P]),
    "TFE_TensorHandleResolve": (P, [P, P]), "TFE_Execute": (None, [P, P, P, P]),
}
TSTRING = 24  # bytes of a TF_TString


class Library:
    """One library opened by path. A function that it lacks fails when it is called, not before."""

    def __init__(self, path):
        # DEEPBIND: each library calls its own TF_*, even where two of them are in one process.
        self.handle = c.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)

    def __getattr__(self, name):
        function = getattr(self.handle, name)
        function.restype, function.argtypes = FUNCTIONS[name]
        setattr(self, name, function)
        return function

    def checked(self, function, *arguments):
        """Calls with a status as the last argument; raises Error if it is not OK."""
        status = self.TF_NewStatus()
        try:
            result = getattr(self, function)(*arguments, status)
            code = self.TF_GetCode(status)
            if code:
                raise Error(code, self.TF_Message(status).decode(errors="replace"))
            return result
        finally:
            self.TF_DeleteStatus(status)

    def buffer(self, data):
        return self.TF_NewBufferFromString(data, len(data))

    def take_buffer(self, buffer):
        head = Buffer.from_address(buffer)
        data = c.string_at(head.data, head.length) if head.length else b""
        self.TF_DeleteBuffer(buffer)
        return data

    def tensor(self, array):
        """A TF_Tensor with the array's values; the caller deletes it."""
        array = np.asarray(array)
        dims = (c.c_int64 * max(array.ndim, 1))(*array.shape)
        number = dtype_number(array)
        size = array.size * TSTRING if number == STRING else array.nbytes
        tensor = self.TF_AllocateTensor(number, dims, array.ndim, size)
        data = self.TF_TensorData(tensor)
        if number == STRING:
            for i, value in enumerate(array.reshape(-1)):
                at = data + i * TSTRING
                self.TF_StringInit(at)
                self.TF_StringCopy(at, value, len(value))
        elif array.nbytes:
            c.memmove(data, np.ascontiguousarray(array).ctypes.data, array.nbytes)
        return tensor

    def delete_tensor(self, tensor):
        self.TF_DeleteTensor(tensor)

    def array(self, tensor):
        """The values of a TF_Tensor."""
        number = self.TF_TensorType(tensor)
        shape = [self.TF_Dim(tensor, i) for i in range(self.TF_NumDims(tensor))]
        data, size = self.TF_TensorData(tensor), self.TF_TensorByteSize(tensor)
        if number == STRING:
            out = np.empty(shape, object)
            flat = out.reshape(-1)
            for i in range(flat.size):
                at = data + i * TSTRING
                flat[i] = c.string_at(self.TF_StringGetDataPointer(at), self.TF_StringGetSize(at))
            return flat.reshape(shape)
        return np.frombuffer(bytearray(c.string_at(data, size) if size else b""), NUMPY[number]).reshape(shape)

    def kernels(self):
        """The names of the operations that have a kernel, from the serialised KernelList."""
        return kernel_names(self.take_buffer(self.checked("TF_GetAllRegisteredKernels")))


def fields(data):
    """The (number, value) pairs of a protobuf message; lengths as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            n = {1: 8, 5: 4}.get(tag & 7) or (varint() if tag & 7 == 2 else 0)
            yield tag >> 3, data[at:at + n]
            at += n


def kernel_names(kernel_list):
    return {value.decode() for number, kernel in fields(kernel_list) if number == 1
            for field, value in fields(kernel) if field == 1}


class Graph:
    def __init__(self, library, graphdef=b""):
        self.library = library
        self.graph = library.TF_NewGraph()
        if graphdef:
            self.add(graphdef)

    def __del__(self):
        if self.graph:
            self.library.TF_DeleteGraph(self.graph)

    def add(self, graphdef):
        options, buffer = self.library.TF_NewImportGraphDefOptions(), self.library.buffer(graphdef)
        try:
            self.library.checked("TF_GraphImportGraphDef", self.graph, buffer, options)
        finally:
            self.library.TF_DeleteImportGraphDefOptions(options)
            self.library.TF_DeleteBuffer(buffer)

    def output(self, name):
        operation, _, index = name.lstrip("^").partition(":")
        found = self.library.TF_GraphOperationByName(self.graph, operation.encode())
        if not found:
            raise KeyError("no operation %s in the graph" % operation)
        return Output(found, int(index or 0))

    def outputs(self, names):
        return (Output * max(len(names), 1))(*[self.output(name) for name in names])

    def shape(self, name):
        """The shape that the graph knows of an output: None, or a list with -1 where a size is unknown."""
        output = self.output(name)
        rank = self.library.checked("TF_GraphGetTensorNumDims", self.graph, output)
        if rank < 0:
            return None
        dims = (L * max(rank, 1))()
        self.library.checked("TF_GraphGetTensorShape", self.graph, output, dims, rank)
        return list(dims[:rank])

    def gradients(self, ys, xs, dys):
        """Names of the gradients of ys by xs; None where y does not depend on x."""
        found = (Output * max(len(xs), 1))()
        start = self.outputs(dys) if dys else None
        self._gradients(ys, xs, start, found)
        return [None if not o.oper else "%s:%d" % (self.library.TF_OperationName(o.oper).decode(), o.index)
                for o in found[:len(xs)]]

    def _gradients(self, ys, xs, start, found):
        status = self.library.TF_NewStatus()
        try:
            self.library.TF_AddGradients(self.graph, self.outputs(ys), len(ys), self.outputs(xs), len(xs), start, status,
                                         found)
            if self.library.TF_GetCode(status):
                raise Error(self.library.TF_GetCode(status), self.library.TF_Message(status).decode(errors="replace"))
        finally:
            self.library.TF_DeleteStatus(status)

    def bytes(self):
        buffer = self.library.TF_NewBuffer()
        self.library.checked("TF_GraphToGraphDef", self.graph, buffer)
        return self.library.take_buffer(buffer)


class Session:
    def __init__(self, graph, config=b""):
        self.graph, self.library, self.session = graph, graph.library, None
        options = self.library.TF_NewSessionOptions()
        try:
            if config:
                self.library.checked("TF_SetConfig", options, config, len(config))
            self.session = self.library.checked("TF_NewSession", graph.graph, options)
        finally:
            self.library.TF_DeleteSessionOptions(options)

    def close(self):
        if self.session:
            session, self.session = self.session, None
            self.library.checked("TF_CloseSession", session)
            self.library.checked("TF_DeleteSession", session)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _arrays(self, feeds, fetches, targets):
        values = (P * max(len(feeds), 1))(*[self.library.tensor(v) for v in feeds.values()])
        fetched = (P * max(len(fetches), 1))()
        operations = (P * max(len(targets), 1))(*[self.graph.output(name).oper for name in targets])
        return self.graph.outputs(list(feeds)), values, self.graph.outputs(fetches), fetched, operations

    def _take(self, feeds, values, fetches, fetched):
        for i in range(len(feeds)):
            self.library.delete_tensor(values[i])
        out = []
        for i in range(len(fetches)):
            if fetched[i]:
                out.append(self.library.array(fetched[i]))
                self.library.delete_tensor(fetched[i])
        return out

    def run(self, fetches=(), feeds=None, targets=(), options=b""):
        """The values of `fetches`, a list of names, given `feeds`, {name: array}; runs `targets` too."""
        feeds, fetches = feeds or {}, list(fetches)
        inputs, values, outputs, fetched, operations = self._arrays(feeds, fetches, targets)
        buffer = self.library.buffer(options) if options else None
        try:
            self.library.checked("TF_SessionRun", self.session, buffer, inputs, values, len(feeds), outputs, fetched,
                                 len(fetches), operations, len(targets), None)
        finally:
            out = self._take(feeds, values, fetches, fetched)
            if buffer:
                self.library.TF_DeleteBuffer(buffer)
        return out

    def partial_setup(self, feeds, fetches, targets=()):
        handle = P()
        operations = (P * max(len(targets), 1))(*[self.graph.output(name).oper for name in targets])
        self.library.checked("TF_SessionPRunSetup", self.session, self.graph.outputs(feeds), len(feeds),
                             self.graph.outputs(fetches), len(fetches), operations, len(targets), c.byref(handle))
        return handle

    def partial_run(self, handle, fetches, feeds):
        inputs, values, outputs, fetched, operations = self._arrays(feeds, fetches, ())
        try:
            self.library.checked("TF_SessionPRun", self.session, c.cast(handle, S), inputs, values, len(feeds), outputs,
                                 fetched, len(fetches), operations, 0)
        finally:
            out = self._take(feeds, values, fetches, fetched)
        return out
