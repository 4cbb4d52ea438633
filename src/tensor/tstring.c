// TString — see tstring.h: TensorFlow's string of 24 bytes, as its C interface lays it out: short ones lie inside,
// others are on the heap, a view's are somebody else's.
#include "tensor/tstring.h"

#include <stdlib.h>

_Static_assert(sizeof(TString) == 24, "TF_TString is 24 bytes");

Str tstring_str(const TString *s) {
    switch (s->small.size_kind & 3) {
    case TSTRING_SMALL: return (Str){s->small.text, s->small.size_kind >> 2};
    case TSTRING_LARGE: return (Str){s->large.p, (size_t)(s->large.size_kind >> 2)};
    case TSTRING_OFFSET: return (Str){(const char *)s + s->offset.offset, s->offset.size_kind >> 2};
    default: return (Str){s->view.p, (size_t)(s->view.size_kind >> 2)};
    }
}

void tstring_clear(TString *s) {
    if ((s->small.size_kind & 3) == TSTRING_LARGE)
        free(s->large.p);
    memset(s, 0, sizeof *s);
}

bool tstring_assign(TString *s, Str text) {
    TString fresh = {0};
    if (text.n <= TSTRING_INSIDE) {
        fresh.small.size_kind = (uint8_t)(text.n << 2);
        if (text.n)
            memcpy(fresh.small.text, text.p, text.n);
    } else {
        size_t room = ((text.n + 1 + 15) & ~(size_t)15) - 1;  // TensorFlow keeps room + 1 a multiple of 16
        char *p = malloc(room + 1);
        if (!p)
            return false;
        memcpy(p, text.p, text.n);
        p[text.n] = 0;
        fresh.large.size_kind = (uint64_t)text.n << 2 | TSTRING_LARGE;
        fresh.large.room = room;
        fresh.large.p = p;
    }
    tstring_clear(s);
    *s = fresh;
    return true;
}
