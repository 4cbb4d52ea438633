"""_c — the C ABI: the library, its structs, and what turns statuses into exceptions and buffers into bytes.

Everything else in the package goes through here; nothing else loads the library. ctypes releases the GIL while C runs.
"""
import ctypes
import os
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_ubyte, c_uint64, c_void_p)


def _library_path():
    here = os.path.dirname(os.path.abspath(__file__))
    asked = os.environ.get("MILLRACE_LIBRARY")
    inside = os.path.join(here, "lib", "libmillrace.so.0")
    in_tree = os.path.join(here, "..", "..", "build", "lib", "libmillrace.so.0")
    for path in (asked, inside, in_tree):
        if path and os.path.exists(path):
            return path
    raise ImportError("libmillrace.so.0 is not in the package (%s); MILLRACE_LIBRARY may name it" % inside)


path = _library_path()
lib = ctypes.CDLL(path)


class Output(Structure):
    """TF_Output: one output of an operation."""
    _fields_ = [("oper", c_void_p), ("index", c_int)]


class Input(Structure):
    _fields_ = [("oper", c_void_p), ("index", c_int)]


class Buffer(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p)]


class AttrMetadata(Structure):
    _fields_ = [("is_list", c_ubyte), ("list_size", c_int64), ("type", c_int), ("total_size", c_int64)]


class Gradients(Structure):
    """mr_gradients"""
    CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Output), POINTER(Output), c_void_p)
    _fields_ = [("struct_size", c_size_t), ("prefix", c_char_p), ("ys", POINTER(Output)), ("xs", POINTER(Output)),
                ("num_ys", c_int), ("num_xs", c_int), ("dys", POINTER(Output)), ("stops", POINTER(c_void_p)),
                ("num_stops", c_int), ("own", POINTER(c_void_p)), ("num_own", c_int), ("gradient", CALLBACK),
                ("arg", c_void_p), ("values", POINTER(Output)), ("indices", POINTER(Output)),
                ("shapes", POINTER(Output))]


class FieldInfo(Structure):
    """mr_field"""
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("number", c_int), ("kind", c_int),
                ("is_repeated", c_int), ("is_map", c_int), ("is_in_oneof", c_int), ("type", c_char_p)]


class OpInfo(Structure):
    """mr_op_info"""
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("doc", c_char_p), ("has_kernel", c_int),
                ("is_stateful", c_int), ("is_composed", c_int), ("gradient", c_int), ("dtypes", c_void_p),
                ("num_dtypes", c_int)]


_P, _S, _I, _L, _Z = c_void_p, c_char_p, c_int, c_int64, c_size_t
_PROTOTYPES = {
    "TF_Version": (_S,), "TF_NewStatus": (_P,), "TF_DeleteStatus": (None, _P), "TF_GetCode": (_I, _P),
    "TF_Message": (_S, _P), "TF_SetStatus": (None, _P, _I, _S),
    "TF_NewBuffer": (POINTER(Buffer),), "TF_NewBufferFromString": (POINTER(Buffer), _S, _Z),
    "TF_DeleteBuffer": (None, POINTER(Buffer)),
    "TF_AllocateTensor": (_P, _I, _P, _I, _Z),
    "TF_NewTensor": (_P, _I, _P, _I, _P, _Z, _P, _P), "TF_DeleteTensor": (None, _P), "TF_TensorType": (_I, _P),
    "TF_NumDims": (_I, _P), "TF_Dim": (_L, _P, _I), "TF_TensorByteSize": (_Z, _P), "TF_TensorData": (_P, _P),
    "TF_StringInit": (None, _P), "TF_StringCopy": (None, _P, _S, _Z), "TF_StringGetDataPointer": (_P, _P),
    "TF_StringGetSize": (_Z, _P),
    "TF_NewSessionOptions": (_P,), "TF_SetTarget": (None, _P, _S), "TF_SetConfig": (None, _P, _S, _Z, _P),
    "TF_DeleteSessionOptions": (None, _P), "TF_NewGraph": (_P,), "TF_DeleteGraph": (None, _P),
    "TF_GraphSetTensorShape": (None, _P, Output, POINTER(_L), _I, _P),
    "TF_GraphGetTensorNumDims": (_I, _P, Output, _P),
    "TF_GraphGetTensorShape": (None, _P, Output, POINTER(_L), _I, _P),
    "TF_NewOperation": (_P, _P, _S, _S), "TF_SetDevice": (None, _P, _S), "TF_AddInput": (None, _P, Output),
    "TF_AddInputList": (None, _P, POINTER(Output), _I), "TF_AddControlInput": (None, _P, _P),
    "TF_ColocateWith": (None, _P, _P), "TF_FinishOperation": (_P, _P, _P),
    "TF_SetAttrString": (None, _P, _S, _S, _Z), "TF_SetAttrStringList": (None, _P, _S, POINTER(_S), POINTER(_Z), _I),
    "TF_SetAttrInt": (None, _P, _S, _L), "TF_SetAttrIntList": (None, _P, _S, POINTER(_L), _I),
    "TF_SetAttrFloat": (None, _P, _S, c_float), "TF_SetAttrFloatList": (None, _P, _S, POINTER(c_float), _I),
    "TF_SetAttrBool": (None, _P, _S, c_ubyte), "TF_SetAttrBoolList": (None, _P, _S, POINTER(c_ubyte), _I),
    "TF_SetAttrType": (None, _P, _S, _I), "TF_SetAttrTypeList": (None, _P, _S, POINTER(_I), _I),
    "TF_SetAttrFuncName": (None, _P, _S, _S, _Z), "TF_SetAttrShape": (None, _P, _S, POINTER(_L), _I),
    "TF_SetAttrTensor": (None, _P, _S, _P, _P), "TF_SetAttrValueProto": (None, _P, _S, _S, _Z, _P),
    "TF_OperationName": (_S, _P), "TF_OperationOpType": (_S, _P), "TF_OperationDevice": (_S, _P),
    "TF_OperationNumOutputs": (_I, _P), "TF_OperationOutputType": (_I, Output),
    "TF_OperationOutputListLength": (_I, _P, _S, _P), "TF_OperationNumInputs": (_I, _P),
    "TF_OperationInputType": (_I, Input),
    "TF_OperationInputListLength": (_I, _P, _S, _P), "TF_OperationInput": (Output, Input),
    "TF_OperationAllInputs": (None, _P, POINTER(Output), _I), "TF_OperationOutputNumConsumers": (_I, Output),
    "TF_OperationOutputConsumers": (_I, Output, POINTER(Input), _I),
    "TF_OperationNumControlInputs": (_I, _P), "TF_OperationGetControlInputs": (_I, _P, POINTER(_P), _I),
    "TF_OperationToNodeDef": (None, _P, POINTER(Buffer), _P),
    "TF_OperationGetAttrMetadata": (AttrMetadata, _P, _S, _P),
    "TF_OperationGetAttrTensor": (None, _P, _S, POINTER(_P), _P),
    "TF_OperationGetAttrValueProto": (None, _P, _S, POINTER(Buffer), _P),
    "TF_GraphOperationByName": (_P, _P, _S), "TF_GraphNextOperation": (_P, _P, POINTER(_Z)),
    "TF_GraphToGraphDef": (None, _P, POINTER(Buffer), _P),
    "TF_GraphGetOpDef": (None, _P, _S, POINTER(Buffer), _P), "TF_GraphVersions": (None, _P, POINTER(Buffer), _P),
    "TF_NewImportGraphDefOptions": (_P,), "TF_DeleteImportGraphDefOptions": (None, _P),
    "TF_ImportGraphDefOptionsSetPrefix": (None, _P, _S),
    "TF_ImportGraphDefOptionsSetDefaultDevice": (None, _P, _S),
    "TF_ImportGraphDefOptionsSetUniquifyNames": (None, _P, c_ubyte),
    "TF_ImportGraphDefOptionsSetUniquifyPrefix": (None, _P, c_ubyte),
    "TF_ImportGraphDefOptionsAddInputMapping": (None, _P, _S, _I, Output),
    "TF_ImportGraphDefOptionsRemapControlDependency": (None, _P, _S, _P),
    "TF_ImportGraphDefOptionsAddReturnOutput": (None, _P, _S, _I),
    "TF_ImportGraphDefOptionsAddReturnOperation": (None, _P, _S),
    "TF_ImportGraphDefOptionsAddControlDependency": (None, _P, _P),
    "TF_ImportGraphDefResultsReturnOutputs": (None, _P, POINTER(_I), POINTER(POINTER(Output))),
    "TF_ImportGraphDefResultsReturnOperations": (None, _P, POINTER(_I), POINTER(POINTER(_P))),
    "TF_ImportGraphDefResultsMissingUnusedInputMappings": (None, _P, POINTER(_I), POINTER(POINTER(_S)),
                                                           POINTER(POINTER(_I))),
    "TF_DeleteImportGraphDefResults": (None, _P),
    "TF_GraphImportGraphDefWithResults": (_P, _P, POINTER(Buffer), _P, _P),
    "TF_GraphCopyFunction": (None, _P, _P, _P, _P), "TF_GraphNumFunctions": (_I, _P),
    "TF_GraphGetFunctions": (_I, _P, POINTER(_P), _I, _P),
    "TF_GraphToFunction": (_P, _P, _S, c_ubyte, _I, POINTER(_P), _I, POINTER(Output), _I, POINTER(Output), POINTER(_S),
                           _P, _S, _P),
    "TF_FunctionName": (_S, _P), "TF_FunctionToFunctionDef": (None, _P, POINTER(Buffer), _P),
    "TF_FunctionImportFunctionDef": (_P, _S, _Z, _P), "TF_DeleteFunction": (None, _P),
    "TF_TryEvaluateConstant": (c_ubyte, _P, Output, POINTER(_P), _P),
    "TF_NewSession": (_P, _P, _P, _P), "TF_CloseSession": (None, _P, _P), "TF_DeleteSession": (None, _P, _P),
    "TF_SessionRun": (None, _P, _P, _P, _P, _I, _P, _P, _I, _P, _I, _P, _P),
    "TF_SessionPRunSetup": (None, _P, _P, _I, _P, _I, _P, _I, POINTER(_P), _P),
    "TF_SessionPRun": (None, _P, _P, _P, _P, _I, _P, _P, _I, _P, _I, _P), "TF_DeletePRunHandle": (None, _P),
    "TF_SessionListDevices": (_P, _P, _P), "TF_DeleteDeviceList": (None, _P), "TF_DeviceListCount": (_I, _P),
    "TF_DeviceListName": (_S, _P, _I, _P), "TF_DeviceListType": (_S, _P, _I, _P),
    "TF_DeviceListMemoryBytes": (_L, _P, _I, _P), "TF_DeviceListIncarnation": (c_uint64, _P, _I, _P),
    "TF_LoadLibrary": (_P, _S, _P), "TF_GetOpList": (Buffer, _P),
    "TF_NewServer": (_P, _S, _Z, _P), "TF_ServerStart": (None, _P, _P), "TF_ServerStop": (None, _P, _P),
    "TF_ServerJoin": (None, _P, _P), "TF_ServerTarget": (_S, _P), "TF_DeleteServer": (None, _P),
    "TF_UpdateEdge": (None, _P, Output, Input, _P), "TF_AddOperationControlInput": (None, _P, _P, _P),
    "TF_SetAttr": (None, _P, _P, _S, POINTER(Buffer), _P), "TF_SetRequestedDevice": (None, _P, _P, _S),
    "TF_ClearAttr": (None, _P, _P, _S, _P), "TF_RemoveAllControlInputs": (None, _P, _P),
    "TF_Reset": (None, _P, POINTER(_S), _I, _P),
    "TF_NewCheckpointReader": (_P, _S, _P), "TF_DeleteCheckpointReader": (None, _P),
    "TF_CheckpointReaderHasTensor": (_I, _P, _S), "TF_CheckpointReaderGetVariable": (_S, _P, _I),
    "TF_CheckpointReaderSize": (_I, _P), "TF_CheckpointReaderGetVariableDataType": (_I, _P, _S),
    "TF_CheckpointReaderGetVariableShape": (None, _P, _S, POINTER(_L), _I, _P),
    "TF_CheckpointReaderGetVariableNumDims": (_I, _P, _S), "TF_CheckpointReaderGetTensor": (_P, _P, _S, _P),
    "TF_NewKernelBuilder": (_P, _S, _S, _P, _P, _P), "TF_RegisterKernelBuilder": (None, _S, _P, _P),
    "TF_NumInputs": (_I, _P), "TF_NumOutputs": (_I, _P), "TF_GetInput": (None, _P, _I, POINTER(_P), _P),
    "TF_SetOutput": (None, _P, _I, _P, _P), "TF_ExpectedOutputDataType": (_I, _P, _I),
    "TF_OpKernelConstruction_GetAttrSize": (None, _P, _S, POINTER(c_int32), POINTER(c_int32), _P),
    "TF_OpKernelConstruction_GetAttrString": (None, _P, _S, _P, _Z, _P),
    "TF_OpKernelConstruction_Failure": (None, _P, _P), "TF_OpKernelContext_Failure": (None, _P, _P),
    "TFE_NewContextOptions": (_P,), "TFE_DeleteContextOptions": (None, _P), "TFE_NewContext": (_P, _P, _P),
    "TFE_NewOp": (_P, _P, _S, _P), "TFE_DeleteOp": (None, _P), "TFE_OpAddInput": (None, _P, _P, _P),
    "TFE_OpAddInputList": (None, _P, _P, _I, _P), "TFE_OpSetAttrValueProto": (None, _P, _S, _S, _Z, _P),
    "TFE_NewTensorHandle": (_P, _P, _P), "TFE_DeleteTensorHandle": (None, _P),
    "TFE_TensorHandleResolve": (_P, _P, _P), "TFE_TensorHandleDataType": (_I, _P),
    "TFE_TensorHandleNumDims": (_I, _P, _P), "TFE_TensorHandleDim": (_L, _P, _I, _P),
    "TFE_TensorHandleDevicePointer": (_P, _P, _P),
    "TFE_ContextAddFunction": (None, _P, _P, _P), "TFE_ContextRemoveFunction": (None, _P, _S, _P),
    "mr_call_new": (_P, _P, _P), "mr_call_delete": (None, _P), "mr_call_num_outputs": (_I, _P),
    "mr_call_output_type": (_I, _P, _I), "mr_call_run": (None, _P, _P, _P, _P), "mr_call_one": (_P, _P, _P, _P),
    "mr_version": (_S,), "mr_add_gradients": (None, _P, POINTER(Gradients), _P),
    "mr_message_at": (_S, _Z), "mr_message_field": (_I, _S, _Z, POINTER(FieldInfo)),
    "mr_enum_value": (_S, _S, _Z, POINTER(_I)), "mr_op_at": (_I, _Z, POINTER(OpInfo)), "mr_interrupt_from": (None, _I, _P),
    "mr_op_find": (_I, _S, POINTER(OpInfo)), "mr_dtype_name": (_S, _I),
    "mr_message_parse": (None, _S, _S, _Z, POINTER(Buffer), _P),
    "mr_saved_model_write": (None, _P, _S, _P, _P), "mr_freeze": (None, _P, POINTER(Output), _I, POINTER(Buffer), _P),
}


def __getattr__(name):
    """A C function with its types, on first use."""
    if name not in _PROTOTYPES:
        raise AttributeError(name)
    function = getattr(lib, name)
    row = _PROTOTYPES[name]
    function.restype, function.argtypes = row[0], row[1:]
    globals()[name] = function
    return function


class _Statuses(threading.local):
    def __init__(self):
        self.free = []


_statuses = _Statuses()


class Status:
    """A TF_Status for one call: `with Status() as s: f(..., s)` raises what s holds at the end.

    Statuses are kept by each thread and used again.
    """
    __slots__ = ("pointer",)

    def __enter__(self):
        free = _statuses.free
        self.pointer = free.pop() if free else lib_new_status()
        return self.pointer

    def __exit__(self, kind, value, trace):
        pointer = self.pointer
        code = lib_code(pointer)
        if not code:
            _statuses.free.append(pointer)
            return False
        message = lib_message(pointer).decode("utf-8", "replace")
        lib_set_status(pointer, 0, b"")
        _statuses.free.append(pointer)
        if kind is None:
            from . import errors
            raise errors.exception_for(code, message)
        return False


def _early(name):
    function = getattr(lib, name)
    row = _PROTOTYPES[name]
    function.restype, function.argtypes = row[0], row[1:]
    return function


lib_new_status, lib_code = _early("TF_NewStatus"), _early("TF_GetCode")
lib_message, lib_set_status = _early("TF_Message"), _early("TF_SetStatus")


def call(name, *args):
    """Calls a function whose last argument is a status; raises the error that it sets."""
    function = globals().get(name) or __getattr__(name)
    with Status() as status:
        return function(*args, status)


def filled(name, *args):
    """The bytes that a function puts into an empty TF_Buffer, its last argument but for the status."""
    buffer = __getattr__("TF_NewBuffer")()
    try:
        call(name, *args, buffer)
        return ctypes.string_at(buffer.contents.data, buffer.contents.length) if buffer.contents.length else b""
    finally:
        __getattr__("TF_DeleteBuffer")(buffer)


def output_array(outputs):
    return (Output * len(outputs))(*outputs)


def encode(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
