// Metadata — see metadata.h.
#include "rpc/metadata.h"

#include "base/vec.h"
#include "rpc/wire.h"

bool metadata_add(Metadata *metadata, Str name, Str value) {
    text_add(&metadata->bytes, name);
    text_add(&metadata->bytes, value);
    return !metadata->bytes.failed && vec_push(metadata, (struct MetadataPlace){name.n, value.n});
}

bool metadata_next(const Metadata *metadata, size_t *i, size_t *at, Str *name, Str *value) {
    if (*i >= metadata->n)
        return false;
    struct MetadataPlace place = metadata->p[(*i)++];
    *name = (Str){metadata->bytes.p + *at, place.name};
    *value = (Str){metadata->bytes.p + *at + place.name, place.value};
    *at += place.name + place.value;
    return true;
}

bool metadata_find(const Metadata *metadata, Str name, Str *out_value) {
    size_t i = 0, at = 0;
    Str each, value;
    while (metadata_next(metadata, &i, &at, &each, &value)) {
        if (str_equal(each, name)) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

static bool is_binary(Str name) {
    return name.n > 4 && !memcmp(name.p + name.n - 4, "-bin", 4);
}

bool metadata_add_coded(Metadata *metadata, Str name, Str value) {
    if (!is_binary(name))
        return metadata_add(metadata, name, value);
    Text text = {0};
    wire_base64(value, &text);
    bool added = !text.failed && metadata_add(metadata, name, text_str(&text));
    text_clear(&text);
    return added;
}

bool metadata_add_all_coded(Metadata *metadata, const Metadata *from) {
    size_t i = 0, at = 0;
    Str name, value;
    while (from && metadata_next(from, &i, &at, &name, &value))
        if (!metadata_add_coded(metadata, name, value))
            return false;
    return true;
}

bool metadata_add_decoded(Metadata *metadata, Str name, Str value) {
    if (!is_binary(name))
        return metadata_add(metadata, name, value);
    Text bytes = {0};
    bool read = wire_base64_read(value, &bytes);
    bool added = metadata_add(metadata, name, read ? text_str(&bytes) : value);
    text_clear(&bytes);
    return added;
}

void metadata_clear(Metadata *metadata) {
    text_clear(&metadata->bytes);
    vec_clear(metadata);
}
