// Trim — see trim.h.
#include "base/trim.h"

#include <malloc.h>

void trim_heap(size_t freed) {
#ifdef __GLIBC__
    if (freed >= TRIM_LEAST)
        malloc_trim(0);
#else
    (void)freed;
#endif
}
