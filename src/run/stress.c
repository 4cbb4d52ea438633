// Stress — see stress.h.
#include "run/stress.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tensor/buffer.h"

static _Atomic uint32_t switches = UINT32_MAX;  // UINT32_MAX: not read yet
static _Atomic uint32_t sequence = 1;

static uint32_t read_switches(void) {
    const char *rest = getenv("MILLRACE_STRESS");
    uint32_t found = 0;
    Str word;
    while (rest && log_next_word(&rest, &word)) {
        Str alloc = STR("alloc:");
        int64_t every = 0;
        if (str_is(word, "order"))
            found |= STRESS_ORDER;
        else if (str_is(word, "yield"))
            found |= STRESS_YIELD;
        else if (str_is(word, "late"))
            found |= STRESS_LATE;
        else if (str_starts(word, alloc) && str_to_int((Str){word.p + alloc.n, word.n - alloc.n}, &every) &&
                 every >= 0 && every <= UINT32_MAX)
            buffer_fail_every((uint32_t)every);
        else
            log_bad_variable("MILLRACE_STRESS", word, "a list of order, yield, late and alloc:N, with commas between");
    }
    atomic_store_explicit(&switches, found, memory_order_relaxed);
    return found;
}

bool stress_is_on(uint32_t what) {
    uint32_t on = atomic_load_explicit(&switches, memory_order_relaxed);
    if (on == UINT32_MAX)
        on = read_switches();
    return (on & what) != 0;
}

uint32_t stress_random(void) {
    uint32_t x = atomic_fetch_add_explicit(&sequence, 0x9e3779b9u, memory_order_relaxed);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

void stress_yield(void) {
    if (__builtin_expect(!stress_is_on(STRESS_YIELD), 1))
        return;
    if (stress_random() % 16)
        sched_yield();
    else
        usleep(50);
}
