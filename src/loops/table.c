// LoopTable — the choice of a CPU level, once.
//
// Levels are those of the x86-64 psABI (v1, v3, v4). A level counts only if the CPU has all that the compiler may use
// for it; MILLRACE_CPU asks for a lower one, to compare or to get the same bits on different machines.
#include <stdatomic.h>

#include "loops/level/table.h"

static _Atomic(const LoopTable *) chosen;

#if defined(__x86_64__)
static bool cpu_has(int level) {
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("bmi");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    return level == 1 || (level == 3 && v3) || (level == 4 && v4);
}
static const LoopTable *table_of(int level) {
    return level == 4 ? &loops_v4 : level == 3 ? &loops_v3 : &loops_v1;
}
#else
static bool cpu_has(int level) {
    return level == 1;
}
static const LoopTable *table_of(int level) {
    (void)level;
    return &loops_v1;
}
#endif

const EnvVar loops_variable = {"MILLRACE_CPU", "v1 v3 v4", false, NULL};

static const LoopTable *choose(void) {
    static const int LEVELS[] = {1, 3, 4};
    uint64_t word = env_var_read(&loops_variable, NULL);
    int most = word ? LEVELS[__builtin_ctzll(word)] : 4;
    while (!cpu_has(most))
        most--;
    return table_of(most);
}

const LoopTable *loops_table(void) {
    const LoopTable *table = atomic_load_explicit(&chosen, memory_order_acquire);
    if (__builtin_expect(table != NULL, 1))
        return table;
    table = choose();
    atomic_store_explicit(&chosen, table, memory_order_release);  // every thread chooses the same
    return table;
}

bool loops_choose_level(int level) {
    if (!cpu_has(level))
        return false;
    atomic_store_explicit(&chosen, table_of(level), memory_order_release);
    return true;
}
