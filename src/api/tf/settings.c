// Serialized ConfigProto and RunOptions for clients that have no protobuf; other small services.
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"

static TF_Buffer *buffer_of(const MessageType *type, const void *message) {
    TF_Buffer *out = TF_NewBuffer();
    Status *status = out ? buffer_fill_message(out, type, message) : OK;
    if (!status)
        return out;
    status_free(status);
    TF_DeleteBuffer(out);
    return NULL;
}

TF_Buffer *TF_CreateConfig(unsigned char enable_xla_compilation, unsigned char gpu_memory_allow_growth,
                           unsigned int num_cpu_devices) {
    (void)enable_xla_compilation;
    Int32Entry count = {.key = STR("CPU"), .value = (int32_t)num_cpu_devices};
    GPUOptionsProto gpu = {.allow_growth = gpu_memory_allow_growth != 0};
    ConfigProto config = {.gpu_options = &gpu};
    config.device_count.p = &count;
    config.device_count.n = 1;
    return buffer_of(&message_ConfigProto, &config);
}

TF_Buffer *TF_CreateRunOptions(unsigned char enable_full_trace) {
    RunOptionsProto options = {.trace_level = enable_full_trace ? RunOptions_TraceLevel_FULL_TRACE
                                                                : RunOptions_TraceLevel_NO_TRACE};
    return buffer_of(&message_RunOptionsProto, &options);
}

void TF_InitMain(const char *usage, int *argc, char ***argv) {
    (void)usage, (void)argc, (void)argv;
}

// 0 where the system gives none: we never die.
int TF_PickUnusedPortOrDie(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

// ---------------------------------------- shapes with types

TF_ShapeAndTypeList *TF_NewShapeAndTypeList(int num_shapes) {
    TF_ShapeAndTypeList *list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    list->items = calloc(num_shapes > 0 ? (size_t)num_shapes : 1, sizeof *list->items);
    list->num_items = list->items && num_shapes > 0 ? num_shapes : 0;
    for (int i = 0; i < list->num_items; i++)
        list->items[i].num_dims = -1;
    return list;
}

void TF_ShapeAndTypeListSetShape(TF_ShapeAndTypeList *shape_list, int index, const int64_t *dims, int num_dims) {
    TF_ShapeAndTypeListSetUnknownShape(shape_list, index);
    if (index < 0 || index >= shape_list->num_items || num_dims < 0)
        return;
    TF_ShapeAndType *item = &shape_list->items[index];
    item->dims = calloc((size_t)num_dims + 1, sizeof *item->dims);
    if (!item->dims)
        return;
    if (num_dims)
        memcpy(item->dims, dims, (size_t)num_dims * sizeof *dims);
    item->num_dims = num_dims;
}

void TF_ShapeAndTypeListSetUnknownShape(TF_ShapeAndTypeList *shape_list, int index) {
    if (index < 0 || index >= shape_list->num_items)
        return;
    free(shape_list->items[index].dims);
    shape_list->items[index].dims = NULL;
    shape_list->items[index].num_dims = -1;
}

void TF_ShapeAndTypeListSetDtype(TF_ShapeAndTypeList *shape_list, int index, TF_DataType dtype) {
    if (index >= 0 && index < shape_list->num_items)
        shape_list->items[index].dtype = dtype;
}

void TF_DeleteShapeAndTypeList(TF_ShapeAndTypeList *shape_list) {
    if (!shape_list)
        return;
    for (int i = 0; i < shape_list->num_items; i++)
        free(shape_list->items[i].dims);
    free(shape_list->items);
    free(shape_list);
}

void TF_DeleteShapeAndTypeListArray(TF_ShapeAndTypeList **shape_list_array, int num_items) {
    for (int i = 0; shape_list_array && i < num_items; i++)
        TF_DeleteShapeAndTypeList(shape_list_array[i]);
    free(shape_list_array);
}
