// Moving — see moving.h.
#include "ops/array/moving.h"

#include <stdlib.h>

Status *element_copy(const Tensor *from, int64_t j, const Tensor *to, int64_t i) {
    size_t size = dtype_size(to->dtype);
    if ((const char *)from->data + (size_t)j * size == (const char *)to->data + (size_t)i * size)
        return OK;  // in place
    if (to->dtype == DT_string) {
        TString *s = (TString *)to->data + i;
        NEED_MEMORY(tstring_assign(s, tstring_str((const TString *)from->data + j)));
    } else if (!dtype_is_plain(to->dtype)) {
        Object **object = (Object **)to->data + i;
        Object *old = *object;
        *object = object_retain(((Object **)from->data)[j]);
        object_release(old);
    } else {
        memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)j * size, size);
    }
    return OK;
}

// ---------------------------------------- strings and objects

static Status *pointers_of(const Tensor *t, void **out) {
    size_t n = (size_t)tensor_count(t), size = dtype_size(t->dtype);
    const char **pointers = calloc(n + 1, sizeof *pointers);
    NEED_MEMORY(pointers);
    for (size_t i = 0; i < n; i++)
        pointers[i] = (const char *)t->data + i * size;
    *out = pointers;
    return OK;
}

static Status *arrive(void *const *pointers, const Tensor *out) {
    int64_t n = tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        if (!pointers[i])
            continue;
        Tensor from = {.data = pointers[i], .dtype = out->dtype};
        TRY(element_copy(&from, 0, out, i));
    }
    return OK;
}

static Status *move_pointers(Kernel *k, MoveFn *mover, const void **in, void **out) {
    DType dtype = k->out[0]->dtype;
    Status *status = OK;
    void *pointers = NULL;
    for (int i = 0; i < k->n_in && !status; i++)
        if (k->in[i]->dtype == dtype) {
            status = pointers_of(k->in[i], &pointers);
            in[i] = status ? NULL : pointers;
        }
    for (int i = 0; i < k->n_out && !status; i++)
        if (k->out[i]->dtype == dtype) {
            out[i] = calloc((size_t)tensor_count(k->out[i]) + 1, sizeof(void *));
            if (!out[i])
                status = OUT_OF_MEMORY;
        }
    if (!status)
        status = mover(k, in, out);
    for (int i = 0; i < k->n_out; i++)
        if (k->out[i]->dtype == dtype) {
            if (!status)
                status = arrive(out[i], k->out[i]);
            free(out[i]);
        }
    for (int i = 0; i < k->n_in; i++)
        if (k->in[i]->dtype == dtype)
            free((void *)(uintptr_t)in[i]);
    return status;
}

enum { FEW = 16 };

Status *move_elements(Kernel *k, MoveFn *mover) {
    const void *few_in[FEW];
    void *few_out[FEW];
    const void **in = k->n_in > FEW ? calloc((size_t)k->n_in, sizeof *in) : few_in;
    void **out = k->n_out > FEW ? calloc((size_t)k->n_out, sizeof *out) : few_out;
    Status *status = in && out ? OK : OUT_OF_MEMORY;
    if (!status) {
        bool plain = k->n_out == 0 || dtype_is_plain(k->out[0]->dtype);
        for (int i = 0; i < k->n_in; i++)
            in[i] = plain || k->in[i]->dtype != k->out[0]->dtype ? k->in[i]->data : NULL;
        for (int i = 0; i < k->n_out; i++)
            out[i] = plain || k->out[i]->dtype != k->out[0]->dtype ? k->out[i]->data : NULL;
        status = plain ? mover(k, in, out) : move_pointers(k, mover, in, out);
    }
    if (in != few_in)
        free(in);
    if (out != few_out)
        free(out);
    return status;
}

// ---------------------------------------- one view to another

typedef struct {
    const Move *move;
    const void *in;
    void *out;
} Moving;

static void move_range(void *arg, int64_t first, int64_t last) {
    const Moving *m = arg;
    copy_run(&m->move->copy, m->in, m->out, first, last);
}

void move_parallel(Kernel *k, const Move *move, const void *in, void *out) {
    Moving m = {move, in, out};
    if (move->copy.units)
        kernel_share(k, move->copy.units, move->cost, move_range, &m);
}

static Status *move_view(Kernel *k, const void *const *in, void *const *out) {
    const Move *move = k->own;
    move_parallel(k, move, in[move->source], out[0]);
    return OK;
}

Status *move_run(Kernel *k) {
    return move_elements(k, move_view);
}

// All of the output is a piece of the input, in its order: whole rows of a matrix, where they begin as memory does.
static bool is_piece(const CopyPlan *copy, const Tensor *in, const Tensor *out) {
    if (copy->rank > 1 || copy->offset_to || in->dtype != out->dtype ||
        (size_t)copy->offset_from * copy->size % BUFFER_ALIGNMENT)
        return false;
    int64_t n = copy->rank ? copy->dims[0] : 1;
    bool straight = n == 1 || (copy->from[0] == 1 && copy->to[0] == 1);
    return straight && n == shape_count(&out->shape) && copy->offset_from + n <= shape_count(&in->shape);
}

void move_ready(Prepare *p, Move *move, int source) {
    int64_t count = 1;
    if (p->n_out && is_piece(&move->copy, p->in[source], p->out[0])) {
        p->equal_input = source + 1;
        p->equal_at = (size_t)move->copy.offset_from * move->copy.size;
    }
    for (int i = 0; i < move->copy.rank; i++)
        count *= move->copy.dims[i];
    move->source = source;
    p->cost = move->cost = move->copy.units ? kernel_cost(1, copy_picoseconds(&move->copy),
                                                          2 * count * (int64_t)move->copy.size) : 0;
}

// ---------------------------------------- host integers

int64_t host_int(const Tensor *tensor, int64_t i) {
    switch (tensor->dtype) {
    case DT_int8: return ((const int8_t *)tensor->data)[i];
    case DT_int16: return ((const int16_t *)tensor->data)[i];
    default: return tensor_int(tensor, i);
    }
}

Status *axes_to_bits(const Tensor *axes, int rank, const char *what, uint32_t *out) {
    uint32_t bits = 0;
    int64_t n = tensor_count(axes);
    for (int64_t i = 0; i < n; i++) {
        int axis;
        int64_t asked = host_int(axes, i);
        NEED(asked >= -rank && asked < rank, INVALID_ARGUMENT, "%s %lld is not in [-%d, %d)", what, (long long)asked,
             rank, rank);
        TRY(shape_axis(asked, rank, &axis));
        NEED(!(bits & BIT(axis)), INVALID_ARGUMENT, "%s %lld is named twice", what, (long long)asked);
        bits |= BIT(axis);
    }
    *out = bits;
    return OK;
}
