// Prepared eager calls — see millrace/eager.h: TFE_Execute without finding out which call it is.
#include <stdlib.h>

#include "api/tf/eager.h"
#include "millrace/eager.h"

enum { FEW = 8 };  // inputs and results of most ops

struct mr_call {
    EagerContext *eager;
    const KnownCall *known;
};

static Status *find(const TFE_Op *op, mr_call *out) {
    AUTO(arena) Arena arena = {0};
    if (op->attrs.error)
        return status_copy(op->attrs.error);
    const Tensor **inputs = ARENA_ARRAY(&arena, const Tensor *, op->inputs.n);
    NEED_MEMORY(inputs);
    EagerCall call = eager_op_call(op, inputs);
    out->eager = op->context->eager;
    return eager_find_call(out->eager, &call, &out->known);
}

mr_call *mr_call_new(const TFE_Op *op, TF_Status *status) {
    mr_call *call = calloc(1, sizeof *call);
    if (api_failed(status, call ? find(op, call) : OUT_OF_MEMORY)) {
        free(call);
        return NULL;
    }
    return call;
}

void mr_call_delete(mr_call *call) {
    free(call);
}

int mr_call_num_outputs(const mr_call *call) {
    return call->known->n_fetches;
}

TF_DataType mr_call_output_type(const mr_call *call, int index) {
    bool good = index >= 0 && index < call->known->n_fetches;
    return good ? (TF_DataType)call->known->node->output_types[index] : 0;
}

// A handle is a tensor and nothing more, so results are written where they stay.
static Status *new_handles(TFE_TensorHandle **out, int n) {
    for (int i = 0; i < n; i++)
        out[i] = NULL;
    for (int i = 0; i < n; i++)
        NEED_MEMORY(out[i] = calloc(1, sizeof *out[i]));
    return OK;
}

static Status *run(const mr_call *call, TFE_TensorHandle *const *inputs, TFE_TensorHandle **outputs) {
    AUTO(arena) Arena arena = {0};
    int n_in = call->known->n_feeds, n_out = call->known->n_fetches;
    const Tensor *few_feeds[FEW];
    Tensor few_results[FEW];
    TFE_TensorHandle *few_handles[FEW];
    const Tensor **feeds = n_in <= FEW ? few_feeds : ARENA_ARRAY(&arena, const Tensor *, n_in);
    Tensor *results = n_out <= FEW ? few_results : ARENA_ARRAY(&arena, Tensor, n_out);
    TFE_TensorHandle **handles = n_out <= FEW ? few_handles : ARENA_ARRAY(&arena, TFE_TensorHandle *, n_out);
    NEED_MEMORY(feeds && results && handles);
    for (int i = 0; i < n_in; i++) {
        NEED(inputs[i], INVALID_ARGUMENT, "Invalid handle");
        feeds[i] = &inputs[i]->tensor;
    }
    Status *status = new_handles(handles, n_out);
    if (!status)
        status = eager_run_call(call->eager, call->known, feeds, results);
    for (int i = 0; i < n_out; i++) {
        if (status) {
            free(handles[i]);
        } else {
            handles[i]->tensor = results[i];
            outputs[i] = handles[i];
        }
    }
    return status;
}

void mr_call_run(const mr_call *call, TFE_TensorHandle *const *inputs, TFE_TensorHandle **outputs, TF_Status *status) {
    api_set(status, run(call, inputs, outputs));
}

TFE_TensorHandle *mr_call_one(const mr_call *call, TFE_TensorHandle *a, TFE_TensorHandle *b, TF_Status *status) {
    TFE_TensorHandle *result = NULL;
    Status *error = call->known->n_feeds == 2 && call->known->n_fetches == 1
                        ? run(call, (TFE_TensorHandle *[]){a, b}, &result)
                        : API_ERROR(INVALID_ARGUMENT, "the call has %d inputs and %d results, not 2 and 1",
                                    call->known->n_feeds, call->known->n_fetches);
    if (error)
        api_set(status, error);
    return result;
}
