// TF_Buffer — see tf_buffer.h.
#include <stdlib.h>

#include "api/api.h"

static void free_data(void *data, size_t length) {
    (void)length;
    free(data);
}

TF_Buffer *TF_NewBuffer(void) {
    return calloc(1, sizeof(TF_Buffer));
}

TF_Buffer *TF_NewBufferFromString(const void *proto, size_t proto_len) {
    TF_Buffer *buffer = TF_NewBuffer();
    char *copy = malloc(proto_len + 1);
    if (!buffer || !copy) {
        free(buffer);
        free(copy);
        return NULL;
    }
    if (proto_len)
        memcpy(copy, proto, proto_len);
    *buffer = (TF_Buffer){copy, proto_len, free_data};
    return buffer;
}

void TF_DeleteBuffer(TF_Buffer *buffer) {
    if (!buffer)
        return;
    if (buffer->data_deallocator)
        buffer->data_deallocator((void *)buffer->data, buffer->length);
    free(buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer *buffer) {
    return *buffer;
}

Status *buffer_fill(TF_Buffer *out, Text *text) {
    NEED(out && !out->data, INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
    NEED_MEMORY(!text->failed);
    char *data = text->p ? text->p : calloc(1, 1);
    NEED_MEMORY(data);
    *out = (TF_Buffer){data, text->n, free_data};
    *text = (Text){0};
    return OK;
}

Status *buffer_fill_message(TF_Buffer *out, const MessageType *type, const void *message) {
    AUTO(text) Text text = {0};
    TRY(proto_encode(type, message, &text));
    return buffer_fill(out, &text);
}
