// Step — what the benches feed and fetch; see harness.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static void complain(Run *run, const char *what, const char *detail) {
    if (!*run->error)
        snprintf(run->error, sizeof run->error, "%s: %s", what, detail);
    for (char *p = run->error; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

static TF_Output find(Run *run, const char *name) {
    char operation[128];
    snprintf(operation, sizeof operation, "%s", name);
    char *colon = strchr(operation, ':');
    int index = colon ? atoi(colon + 1) : 0;
    if (colon)
        *colon = 0;
    TF_Output output = {run->api->TF_GraphOperationByName(run->graph, operation), index};
    if (!output.oper)
        complain(run, "no operation", name);
    return output;
}

void step_feed(Run *run, Step *step, const char *name, TF_Tensor *value) {
    step->feeds[step->feed_count] = find(run, name);
    step->values[step->feed_count++] = value;
}

void step_fetch(Run *run, Step *step, const char *name) {
    step->fetches[step->fetch_count++] = find(run, name);
}

void step_target(Run *run, Step *step, const char *name) {
    step->targets[step->target_count++] = find(run, name).oper;
}

bool step_run(Run *run, const Step *step, TF_Status *status, double *out_first) {
    const Api *api = run->api;
    TF_Tensor *fetched[STEP_MAX] = {NULL};
    if (*run->error)
        return false;
    api->TF_SessionRun(run->session, NULL, step->feeds, step->values, step->feed_count, step->fetches, fetched,
                       step->fetch_count, step->targets, step->target_count, NULL, status);
    if (api->TF_GetCode(status)) {
        complain(run, "TF_SessionRun", api->TF_Message(status));
        return false;
    }
    if (out_first && fetched[0] && api->TF_TensorByteSize(fetched[0]) >= sizeof(float))
        *out_first = *(const float *)api->TF_TensorData(fetched[0]);
    for (int i = 0; i < step->fetch_count; i++)
        api->TF_DeleteTensor(fetched[i]);
    return true;
}

void step_release(Run *run, Step *step) {
    for (int i = 0; i < step->feed_count; i++)
        run->api->TF_DeleteTensor(step->values[i]);
    *step = (Step){0};
}

TF_Tensor *tensor_new(Run *run, int dtype, int rank, const int64_t *dims, const void *data) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    size_t bytes = count * (dtype == TF_INT64 ? 8 : 4);
    TF_Tensor *tensor = run->api->TF_AllocateTensor(dtype, dims, rank, bytes);
    if (!tensor) {
        complain(run, "TF_AllocateTensor", "no tensor");
        return NULL;
    }
    void *to = run->api->TF_TensorData(tensor);
    if (data)
        memcpy(to, data, bytes);
    for (size_t i = 0; !data && i < count; i++)
        ((float *)to)[i] = (float)(i * 7919 % 251) / 251.0f;
    return tensor;
}

TF_Tensor *tensor_float(Run *run, float value) {
    return tensor_new(run, TF_FLOAT, 0, NULL, &value);
}
