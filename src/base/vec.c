// Vec — see vec.h.
#include "base/vec.h"

bool vec_grow(void **p, size_t *room, size_t need, size_t size) {
    size_t wanted = *room * 2 > need ? *room * 2 : need < 8 ? 8 : need;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return false;
    void *grown = realloc(*p, bytes);
    if (!grown)
        return false;
    *p = grown;
    *room = wanted;
    return true;
}
