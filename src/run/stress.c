// Stress — see stress.h.
#include "run/stress.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/buffer.h"

static _Atomic uint32_t switches = UINT32_MAX;  // UINT32_MAX: not read yet
static _Atomic uint32_t sequence = 1;

static uint32_t read_switches(void) {
    const char *text = getenv("MILLRACE_STRESS");
    uint32_t found = 0;
    if (text) {
        found |= strstr(text, "order") ? STRESS_ORDER : 0;
        found |= strstr(text, "yield") ? STRESS_YIELD : 0;
        found |= strstr(text, "late") ? STRESS_LATE : 0;
        const char *alloc = strstr(text, "alloc:");
        if (alloc)
            buffer_fail_every((uint32_t)strtoul(alloc + strlen("alloc:"), NULL, 10));
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
