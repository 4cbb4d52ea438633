// TF_DeviceList — see c_api.h.
#include "api/tf/device_list.h"

#include <stdlib.h>

#include "api/tf/session.h"

struct TF_DeviceList {
    Arena arena;
    SessionDevice *rows;
    int n;
};

TF_DeviceList *device_list_new(Session *session, TF_Status *status) {
    TF_DeviceList *list = calloc(1, sizeof *list);
    Status *error = list ? session_list_devices(session, &list->arena, &list->rows, &list->n) : OUT_OF_MEMORY;
    if (!api_failed(status, error))
        return list;
    TF_DeleteDeviceList(list);
    return NULL;
}

TF_DeviceList *TF_SessionListDevices(TF_Session *session, TF_Status *status) {
    return device_list_new(session->session, status);
}

void TF_DeleteDeviceList(TF_DeviceList *list) {
    if (!list)
        return;
    arena_clear(&list->arena);
    free(list);
}

int TF_DeviceListCount(const TF_DeviceList *list) {
    return list->n;
}

static const SessionDevice *row(const TF_DeviceList *list, int index, TF_Status *status) {
    bool good = list && index >= 0 && index < list->n;
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "Index out of bounds: %d of %d", index,
                                          list ? list->n : 0));
    return good ? &list->rows[index] : NULL;
}

const char *TF_DeviceListName(const TF_DeviceList *list, int index, TF_Status *status) {
    const SessionDevice *found = row(list, index, status);
    return found ? found->name.p : NULL;
}

const char *TF_DeviceListType(const TF_DeviceList *list, int index, TF_Status *status) {
    const SessionDevice *found = row(list, index, status);
    return found ? found->type.p : NULL;
}

int64_t TF_DeviceListMemoryBytes(const TF_DeviceList *list, int index, TF_Status *status) {
    const SessionDevice *found = row(list, index, status);
    return found ? found->memory : -1;
}

uint64_t TF_DeviceListIncarnation(const TF_DeviceList *list, int index, TF_Status *status) {
    const SessionDevice *found = row(list, index, status);
    return found ? found->incarnation : 0;
}
