// ABI — the part of the PJRT C API that is called: names, order and layouts, written from the published ABI.
//
// A call takes one struct that begins with its size and a chain of extensions and holds what it gives back behind what
// it takes ("out"). Structs grow at their end only; what the size doesn't cover is not read. Interface 0.90 to 0.106.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PjError PjError;
typedef struct PjEvent PjEvent;
typedef struct PjClient PjClient;
typedef struct PjDevice PjDevice;
typedef struct PjMemory PjMemory;
typedef struct PjDescription PjDescription;
typedef struct PjExecutable PjExecutable;
typedef struct PjLoaded PjLoaded;
typedef struct PjBuffer PjBuffer;

#define PJ_HEAD  \
    size_t size; \
    void *extensions

// The table's functions in its order, without "PJRT_", up to the last that is called.
#define PJ_FUNCTIONS(X)                                                                                                \
    X(Error_Destroy) X(Error_Message) X(Error_GetCode) X(Plugin_Initialize) X(Plugin_Attributes) X(Event_Destroy)      \
    X(Event_IsReady) X(Event_Error) X(Event_Await) X(Event_OnReady) X(Client_Create) X(Client_Destroy)                 \
    X(Client_PlatformName) X(Client_ProcessIndex) X(Client_PlatformVersion) X(Client_Devices)                          \
    X(Client_AddressableDevices) X(Client_LookupDevice) X(Client_LookupAddressableDevice)                              \
    X(Client_AddressableMemories) X(Client_Compile) X(Client_DefaultDeviceAssignment) X(Client_BufferFromHostBuffer)   \
    X(DeviceDescription_Id) X(DeviceDescription_ProcessIndex) X(DeviceDescription_Attributes)                          \
    X(DeviceDescription_Kind) X(DeviceDescription_DebugString) X(DeviceDescription_ToString)                           \
    X(Device_GetDescription) X(Device_IsAddressable) X(Device_LocalHardwareId) X(Device_AddressableMemories)           \
    X(Device_DefaultMemory) X(Device_MemoryStats) X(Memory_Id) X(Memory_Kind) X(Memory_DebugString)                    \
    X(Memory_ToString) X(Memory_AddressableByDevices) X(Executable_Destroy) X(Executable_Name)                         \
    X(Executable_NumReplicas) X(Executable_NumPartitions) X(Executable_NumOutputs)                                     \
    X(Executable_SizeOfGeneratedCodeInBytes) X(Executable_GetCostAnalysis) X(Executable_OutputMemoryKinds)             \
    X(Executable_OptimizedProgram) X(Executable_Serialize) X(LoadedExecutable_Destroy)                                 \
    X(LoadedExecutable_GetExecutable) X(LoadedExecutable_AddressableDevices) X(LoadedExecutable_Delete)                \
    X(LoadedExecutable_IsDeleted) X(LoadedExecutable_Execute) X(Executable_DeserializeAndLoad)                         \
    X(LoadedExecutable_Fingerprint) X(Buffer_Destroy) X(Buffer_ElementType) X(Buffer_Dimensions)                       \
    X(Buffer_UnpaddedDimensions) X(Buffer_DynamicDimensionIndices) X(Buffer_GetMemoryLayout)                           \
    X(Buffer_OnDeviceSizeInBytes) X(Buffer_Device) X(Buffer_Memory) X(Buffer_Delete) X(Buffer_IsDeleted)               \
    X(Buffer_CopyToDevice) X(Buffer_ToHostBuffer) X(Buffer_IsOnCpu) X(Buffer_ReadyEvent)

enum {
#define PJ_INDEX(name) Pj_##name,
    PJ_FUNCTIONS(PJ_INDEX)
#undef PJ_INDEX
    PJ_CALLED
};

typedef PjError *PjFn(void *args);  // NULL: good. Error_Destroy and Error_Message give nothing back

typedef struct {
    PJ_HEAD;
    struct {
        PJ_HEAD;
        int major, minor;
    } version;
    PjFn *fn[];                     // as many as `size` covers
} PjApi;

// Element types: PJRT_Buffer_Type.
enum {
    PJ_NONE, PJ_PRED, PJ_S8, PJ_S16, PJ_S32, PJ_S64, PJ_U8, PJ_U16, PJ_U32, PJ_U64, PJ_F16, PJ_F32, PJ_F64, PJ_BF16, PJ_C64,
    PJ_C128, PJ_F8E5M2, PJ_F8E4M3FN,
};

// What the host promises of the bytes of an upload.
enum {
    PJ_DURING_CALL,           // they may change when the call returns
    PJ_UNTIL_DONE,            // ... when host_free fires
};

enum { PJ_STRING, PJ_INT64, PJ_INT64_LIST, PJ_FLOAT, PJ_BOOL };

typedef struct {
    PJ_HEAD;
    const char *name;
    size_t name_size;
    int type;                 // PJ_STRING ...
    union {
        const char *string;
        int64_t int64;
        const int64_t *int64s;
        float real;
        bool yes;
    };
    size_t n;                 // characters, elements, or 1
} PjNamed;

// ---- errors and events

typedef struct { PJ_HEAD; PjError *error; } PjErrorDestroyArgs;
typedef struct { PJ_HEAD; const PjError *error; const char *text; size_t n; } PjErrorMessageArgs;  // out: text
typedef struct { PJ_HEAD; const PjError *error; int code; } PjErrorCodeArgs;                       // out: code
typedef struct { PJ_HEAD; } PjInitializeArgs;
typedef struct { PJ_HEAD; PjEvent *event; } PjEventArgs;                    // Destroy, Await
typedef void PjCallback(PjError *error, void *arg);                         // owns `error`
typedef struct { PJ_HEAD; PjEvent *event; PjCallback *callback; void *arg; } PjOnReadyArgs;

// ---- client and devices

typedef struct {
    PJ_HEAD;
    const PjNamed *options;
    size_t n_options;
    void *kv_get, *kv_get_arg, *kv_put, *kv_put_arg;  // a store that several processes share; NULL: one process
    PjClient *client;                                 // out
    void *kv_try_get, *kv_try_get_arg;
} PjClientCreateArgs;
typedef struct { PJ_HEAD; PjClient *client; const char *text; size_t n; } PjClientTextArgs;       // out: text
typedef struct { PJ_HEAD; PjClient *client; PjDevice *const *devices; size_t n; } PjDevicesArgs;  // out: devices
typedef struct { PJ_HEAD; PjDevice *device; PjDescription *description; } PjDescriptionArgs;      // out: description
typedef struct { PJ_HEAD; PjDescription *description; const char *text; size_t n; } PjDescriptionTextArgs;
typedef struct { int64_t value; bool set; } PjMaybe;
typedef struct {
    PJ_HEAD;
    PjDevice *device;
    int64_t in_use;                                   // out, as all that follow
    PjMaybe peak, n_allocations, largest, limit, reserved, peak_reserved, reservable, largest_free, pool, peak_pool;
} PjMemoryStatsArgs;

// ---- programs

typedef struct { PJ_HEAD; const char *code; size_t code_size; const char *format; size_t format_size; } PjProgram;
typedef struct {
    PJ_HEAD;
    PjClient *client;
    const PjProgram *program;
    const char *options;      // a serialized CompileOptionsProto; an empty one aborts the process
    size_t options_size;
    PjLoaded *loaded;         // out
} PjCompileArgs;
typedef struct { PJ_HEAD; PjLoaded *loaded; PjExecutable *executable; } PjGetExecutableArgs;      // out: executable
typedef struct { PJ_HEAD; PjLoaded *loaded; } PjLoadedArgs;                                       // Destroy
typedef struct { PJ_HEAD; PjExecutable *executable; } PjExecutableArgs;                           // Destroy
typedef struct { PJ_HEAD; PjExecutable *executable; size_t n; } PjNumOutputsArgs;                 // out: n
typedef struct {
    PJ_HEAD;
    PjExecutable *executable;
    const char *bytes;        // out
    size_t n;                 // out
    void *backing;            // out: what `bytes` lies in
    void (*drop)(void *backing);  // out
} PjSerializeArgs;
typedef struct {
    PJ_HEAD;
    PjClient *client;
    const char *bytes;
    size_t n;
    PjLoaded *loaded;         // out
    const char *options;      // NULL: those it was compiled with
    size_t options_size;
} PjDeserializeArgs;
typedef struct {
    PJ_HEAD;
    void *send, *recv;
    size_t n_send, n_recv;
    int launch_id;
    const int64_t *keep;      // arguments that are not donated in this call
    size_t n_keep;
    void *context;
    const char *call_location;
    size_t n_tasks;
    int *task_ids;
    int64_t *incarnations;
} PjExecuteOptions;
typedef struct {
    PJ_HEAD;
    PjLoaded *loaded;
    PjExecuteOptions *options;
    PjBuffer *const *const *arguments;  // [device][argument]
    size_t n_devices, n_arguments;
    PjBuffer **const *outputs;          // [device][output]: the arrays are the caller's
    PjEvent **done;                     // [device]
    PjDevice *device;                   // that a portable program runs on
} PjExecuteArgs;

// ---- buffers

typedef struct {
    PJ_HEAD;
    union {
        struct {
            PJ_HEAD;
            const int64_t *minor_to_major;
            size_t n;
            const int64_t *tiles;
            const size_t *tile_sizes;
            size_t n_tiles;
        } tiled;
        struct {
            PJ_HEAD;
            const int64_t *bytes;
            size_t n;
        } strides;
    };
    int type;                 // 0: tiled, 1: strides
} PjLayout;
typedef struct {
    PJ_HEAD;
    PjClient *client;
    const void *data;
    int type;
    const int64_t *dims;
    size_t rank;
    const int64_t *strides;   // bytes; NULL: row major
    size_t n_strides;
    int promise;              // PJ_DURING_CALL ...
    PjDevice *device;
    PjMemory *memory;
    PjLayout *layout;         // on the device; NULL: its own choice
    PjEvent *host_free;       // out: to be destroyed
    PjBuffer *buffer;         // out: to be destroyed
} PjFromHostArgs;
typedef struct {
    PJ_HEAD;
    PjBuffer *from;
    PjLayout *host_layout;
    void *to;
    size_t n;
    PjEvent *event;           // out: to be destroyed
} PjToHostArgs;
typedef struct { PJ_HEAD; PjBuffer *buffer; } PjBufferArgs;                 // Destroy

// The layouts, as 0.90 publishes them for 64-bit machines.
_Static_assert(offsetof(PjApi, fn) == 40, "PJRT_Api");
_Static_assert(sizeof(PjNamed) == 56, "PJRT_NamedValue");
_Static_assert(sizeof(PjOnReadyArgs) == 40, "PJRT_Event_OnReady_Args");
_Static_assert(sizeof(PjClientCreateArgs) == 88, "PJRT_Client_Create_Args");
_Static_assert(sizeof(PjProgram) == 48, "PJRT_Program");
_Static_assert(sizeof(PjCompileArgs) == 56, "PJRT_Client_Compile_Args");
_Static_assert(sizeof(PjSerializeArgs) == 56, "PJRT_Executable_Serialize_Args");
_Static_assert(sizeof(PjDeserializeArgs) == 64, "PJRT_Executable_DeserializeAndLoad_Args");
_Static_assert(sizeof(PjExecuteOptions) == 112, "PJRT_ExecuteOptions");
_Static_assert(sizeof(PjExecuteArgs) == 80, "PJRT_LoadedExecutable_Execute_Args");
_Static_assert(offsetof(PjLayout, type) == 72, "PJRT_Buffer_MemoryLayout");
_Static_assert(sizeof(PjFromHostArgs) == 120, "PJRT_Client_BufferFromHostBuffer_Args");
_Static_assert(sizeof(PjToHostArgs) == 56, "PJRT_Buffer_ToHostBuffer_Args");
_Static_assert(offsetof(PjMemoryStatsArgs, peak_pool.set) == 184, "PJRT_Device_MemoryStats_Args");
