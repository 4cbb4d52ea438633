# pjrt_client — runs StableHLO text on a PJRT plug-in: the few calls that hlo_parity.py needs, over ctypes.
#
# Every argument struct begins with its size and a pointer to extensions; the table of functions is in the order of
# pjrt_c_api.h. What a call answers is NULL or an error that is ours to free.
import ctypes as c
import os

import ml_dtypes
import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FUNCTIONS = dict(Error_Destroy=0, Error_Message=1, Plugin_Initialize=3, Event_Destroy=5, Event_Await=8, Client_Create=10,
                 Client_AddressableDevices=16, Client_Compile=20, Client_BufferFromHostBuffer=22, Executable_Destroy=40,
                 Executable_NumOutputs=44, LoadedExecutable_Destroy=50, LoadedExecutable_GetExecutable=51,
                 LoadedExecutable_Execute=55, Buffer_Destroy=58, Buffer_ElementType=59, Buffer_Dimensions=60,
                 Buffer_ToHostBuffer=70)
TYPES = dict(bool=1, int8=2, int16=3, int32=4, int64=5, uint8=6, uint16=7, uint32=8, uint64=9, float16=10, float32=11,
             float64=12, bfloat16=13, complex64=14, complex128=15)
DTYPES = {number: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name, number in TYPES.items()}
P, N = c.c_void_p, c.c_size_t
# Compile options: one replica, one partition, no device named, for any one device, minima and maxima that keep NaN.
OPTIONS = (b"\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01" + b"\x3a\x21\x0a\x1b"
           + b"xla_cpu_enable_fast_min_max" + b"\x12\x02\x10\x00")


def args(**fields):
    kinds = [("size", N), ("ext", P)] + [(name, kind) for name, (kind, _) in fields.items()]
    made = type("Args", (c.Structure,), {"_fields_": kinds})(0, None, *[value for _, value in fields.values()])
    made.size = c.sizeof(made)
    return made


class Refused(Exception):
    pass


class Plugin:
    def __init__(self, path):
        library = c.CDLL(path)
        library.GetPjrtApi.restype = P
        self.table = library.GetPjrtApi() + 40
        self.call("Plugin_Initialize")
        create = args(options=(P, None), n=(N, 0), get=(P, None), get_arg=(P, None), put=(P, None), put_arg=(P, None),
                      client=(P, None), try_get=(P, None), try_arg=(P, None))
        self.call("Client_Create", create)
        self.client = create.client
        devices = args(client=(P, self.client), devices=(c.POINTER(P), None), n=(N, 0))
        self.call("Client_AddressableDevices", devices)
        self.device = devices.devices[0]

    def call(self, name, a=None):
        fn = c.cast(self.table, c.POINTER(P))[FUNCTIONS[name]]
        a = a if a is not None else args()
        error = c.CFUNCTYPE(P, P)(fn)(c.addressof(a))
        if error and name != "Error_Message":
            message = args(error=(P, error), text=(P, None), n=(N, 0))
            self.call("Error_Message", message)
            text = c.string_at(message.text, message.n).decode(errors="replace")
            c.CFUNCTYPE(None, P)(c.cast(self.table, c.POINTER(P))[0])(c.addressof(args(error=(P, error))))
            raise Refused(text)

    def wait(self, event):
        if event:
            self.call("Event_Await", args(event=(P, event)))
            self.call("Event_Destroy", args(event=(P, event)))

    def put(self, array):
        array = np.require(array, requirements="C")
        dims = (c.c_int64 * max(1, array.ndim))(*array.shape)
        a = args(client=(P, self.client), data=(P, array.ctypes.data), type=(c.c_int, TYPES[array.dtype.name]),
                 dims=(P, c.addressof(dims)), rank=(N, array.ndim), strides=(P, None), n_strides=(N, 0),
                 semantics=(c.c_int, 0), device=(P, self.device), memory=(P, None), layout=(P, None), free=(P, None),
                 buffer=(P, None))
        self.call("Client_BufferFromHostBuffer", a)
        self.wait(a.free)
        return a.buffer

    def get(self, buffer):
        kind, dims = args(buffer=(P, buffer), type=(c.c_int, 0)), args(buffer=(P, buffer), dims=(c.POINTER(c.c_int64), None), n=(N, 0))
        self.call("Buffer_ElementType", kind)
        self.call("Buffer_Dimensions", dims)
        out = np.empty([dims.dims[i] for i in range(dims.n)], DTYPES[kind.type])
        room = np.empty(max(1, out.nbytes), np.uint8) if not out.nbytes else out
        a = args(src=(P, buffer), layout=(P, None), dst=(P, room.ctypes.data), n=(N, out.nbytes), event=(P, None))
        if out.nbytes:
            self.call("Buffer_ToHostBuffer", a)
            self.wait(a.event)
        return out

    def run(self, text, arrays):
        """The results of the module's @main."""
        code = text.encode() if isinstance(text, str) else text
        program = args(code=(c.c_char_p, code), n=(N, len(code)), format=(c.c_char_p, b"mlir"), format_n=(N, 4))
        a = args(client=(P, self.client), program=(P, c.addressof(program)), options=(c.c_char_p, OPTIONS),
                 n=(N, len(OPTIONS)), loaded=(P, None))
        self.call("Client_Compile", a)
        loaded = a.loaded
        try:
            return self.execute(loaded, arrays)
        finally:
            self.call("LoadedExecutable_Destroy", args(loaded=(P, loaded)))

    def execute(self, loaded, arrays):
        executable = args(loaded=(P, loaded), executable=(P, None))
        self.call("LoadedExecutable_GetExecutable", executable)
        outputs = args(executable=(P, executable.executable), n=(N, 0))
        self.call("Executable_NumOutputs", outputs)
        self.call("Executable_Destroy", args(executable=(P, executable.executable)))
        given = [self.put(x) for x in arrays]
        inputs, results = (P * max(1, len(given)))(*given), (P * max(1, outputs.n))()
        input_lists, result_lists = (P * 1)(c.addressof(inputs)), (P * 1)(c.addressof(results))
        options = args(send=(P, None), recv=(P, None), n_send=(N, 0), n_recv=(N, 0), launch=(c.c_int, 0), keep=(P, None),
                       n_keep=(N, 0), context=(P, None), location=(P, None), n_tasks=(N, 0), tasks=(P, None),
                       incarnations=(P, None))
        done = (P * 1)()
        a = args(loaded=(P, loaded), options=(P, c.addressof(options)), arguments=(P, c.addressof(input_lists)),
                 n_devices=(N, 1), n_arguments=(N, len(given)), outputs=(P, c.addressof(result_lists)),
                 done=(P, c.addressof(done)), device=(P, self.device))
        try:
            self.call("LoadedExecutable_Execute", a)
            self.wait(done[0])
            found = [self.get(results[i]) for i in range(outputs.n)]
            for i in range(outputs.n):
                self.call("Buffer_Destroy", args(buffer=(P, results[i])))
            return found
        finally:
            for buffer in given:
                self.call("Buffer_Destroy", args(buffer=(P, buffer)))
