// Strings — what the ops on strings share.
#pragma once
#include "ops/op.h"

static inline Str string_at(const Tensor *strings, int64_t i) {
    return tstring_str((const TString *)strings->data + i);
}
FALLIBLE static inline Status *string_put(const Tensor *strings, int64_t i, Str text) {
    NEED_MEMORY(tstring_assign((TString *)strings->data + i, text));
    return OK;
}
// What was written to `text`, which is emptied.
FALLIBLE static inline Status *string_put_text(const Tensor *strings, int64_t i, Text *text) {
    NEED_MEMORY(!text->failed);
    TRY(string_put(strings, i, text_str(text)));
    text->n = 0;
    return OK;
}

// Bytes of the character that begins there: 1 where it is no good UTF-8.
size_t utf8_length(const char *p, size_t left);

uint64_t farm_hash(Str text);      // FarmHash's 64-bit fingerprint
