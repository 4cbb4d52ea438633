// Stress — see stress.h: rare orders made common, for tests.
//
// Read once from the environment; in production each question is one relaxed load and a branch.
#include "run/stress.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tensor/buffer.h"

static _Atomic uint32_t switches = UINT32_MAX;  // UINT32_MAX: not read yet
static _Atomic uint32_t sequence = 1;

// In the order of the switches' bits; what remains is alloc's, which is no switch.
const EnvVar stress_variable = {"MILLRACE_STRESS", "order yield dynamic alloc:N", true, NULL};

static uint32_t read_switches(void) {
    uint32_t every = 0, found = (uint32_t)env_var_read(&stress_variable, &every);
    if (every)
        buffer_fail_every(every);
    atomic_store_explicit(&switches, found, memory_order_relaxed);
    return found;
}

bool stress_is_on(uint32_t what) {
    uint32_t on = atomic_load_explicit(&switches, memory_order_relaxed);
    if (on == UINT32_MAX)
        on = read_switches();
    return (on & what) != 0;
}

// A counter through a finaliser (MurmurHash3's): every thread draws from one sequence, so a run with one thread
// repeats.
uint32_t stress_random(void) {
    uint32_t x = atomic_fetch_add_explicit(&sequence, 0x9e3779b9u, memory_order_relaxed);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

// Mostly a yield; now and then long enough that another thread surely runs.
void stress_yield(void) {
    if (__builtin_expect(!stress_is_on(STRESS_YIELD), 1))
        return;
    if (stress_random() % 16)
        sched_yield();
    else
        usleep(50);
}
