// TF_DeviceList — see c_api.h.
#include "api/tf/device_list.h"

#include <stdlib.h>

#include "api/tf/session.h"

typedef struct {
    char name[96];
    const char *type;
    int64_t memory;
    uint64_t incarnation;
} Row;

struct TF_DeviceList {
    int n;
    Row rows[];
};

TF_DeviceList *device_list_new(const DeviceSet *devices, TF_Status *status) {
    TF_DeviceList *list = calloc(1, sizeof *list + (size_t)devices->n * sizeof(Row));
    if (!list) {
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    for (int i = 0; i < devices->n; i++) {
        const Device *device = devices->devices[i];
        memcpy(list->rows[i].name, device->name, sizeof list->rows[i].name);
        list->rows[i].type = device->type->name;
        list->rows[i].memory = device->memory_limit;
        list->rows[i].incarnation = device->incarnation;
    }
    list->n = devices->n;
    api_ok(status);
    return list;
}

TF_DeviceList *TF_SessionListDevices(TF_Session *session, TF_Status *status) {
    return device_list_new(session_devices(session->session), status);
}

void TF_DeleteDeviceList(TF_DeviceList *list) {
    free(list);
}

int TF_DeviceListCount(const TF_DeviceList *list) {
    return list->n;
}

static const Row *row(const TF_DeviceList *list, int index, TF_Status *status) {
    bool good = list && index >= 0 && index < list->n;
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "Index out of bounds: %d of %d", index,
                                          list ? list->n : 0));
    return good ? &list->rows[index] : NULL;
}

const char *TF_DeviceListName(const TF_DeviceList *list, int index, TF_Status *status) {
    const Row *found = row(list, index, status);
    return found ? found->name : NULL;
}

const char *TF_DeviceListType(const TF_DeviceList *list, int index, TF_Status *status) {
    const Row *found = row(list, index, status);
    return found ? found->type : NULL;
}

int64_t TF_DeviceListMemoryBytes(const TF_DeviceList *list, int index, TF_Status *status) {
    const Row *found = row(list, index, status);
    return found ? found->memory : -1;
}

uint64_t TF_DeviceListIncarnation(const TF_DeviceList *list, int index, TF_Status *status) {
    const Row *found = row(list, index, status);
    return found ? found->incarnation : 0;
}
