// Header fields — a list of headers as nghttp2 takes them: views, sixteen of them without an allocation.
#pragma once
#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "rpc/metadata.h"

// Zero-initialised is empty. When memory is out `failed` stays set.
typedef struct {
    nghttp2_nv own[16], *more;  // more: instead of `own`, once these are full
    size_t n, room;
    bool failed;
} HeaderFields;

static inline const nghttp2_nv *header_fields_all(const HeaderFields *fields) {
    return fields->more ? fields->more : fields->own;
}

static inline void header_fields_grow(HeaderFields *fields) {
    size_t own = sizeof fields->own / sizeof *fields->own, room = fields->more ? fields->room * 2 : own * 2;
    nghttp2_nv *more = fields->more || fields->n == own ? realloc(fields->more, room * sizeof *more) : NULL;
    if (!more) {
        fields->failed = true;
        return;
    }
    if (!fields->more)
        memcpy(more, fields->own, sizeof fields->own);
    fields->more = more;
    fields->room = room;
}

static inline void header_fields_add(HeaderFields *fields, Str name, Str value) {
    size_t room = fields->more ? fields->room : sizeof fields->own / sizeof *fields->own;
    if (fields->n == room)
        header_fields_grow(fields);
    if (fields->failed)
        return;
    nghttp2_nv *at = (fields->more ? fields->more : fields->own) + fields->n++;
    bool secret = str_equal(name, STR("authorization"));  // in no table that others' guesses could be compared with
    *at = (nghttp2_nv){(uint8_t *)name.p, (uint8_t *)value.p, name.n, value.n,
                       secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

static inline void header_fields_add_all(HeaderFields *fields, const Metadata *metadata) {
    size_t i = 0, at = 0;
    Str name, value;
    while (metadata_next(metadata, &i, &at, &name, &value))
        header_fields_add(fields, name, value);
}

static inline void header_fields_clear(HeaderFields *fields) {
    free(fields->more);
}
