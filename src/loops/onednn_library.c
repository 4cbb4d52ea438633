// Opening oneDNN, and giving its OpenMP regions threads of our pool.
//
// The library calls six functions of libgomp through jump slots of its own (version 3 one more, from a part that we
// never enter). Once it is loaded and bound, these slots are pointed at the functions below: nothing is exported, and
// other users of OpenMP in the process never notice. Where the slots are not exactly these, or somebody else had opened
// the library before us, it stays on one thread instead, by OpenMP's own per-thread setting, which is restored after
// each call.
#define _GNU_SOURCE
#include "base/log.h"
#include "loops/onednn_internal.h"

#ifdef HAVE_ONEDNN
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- what stands in for libgomp ----

// What a parallel region shares: libgomp's team, as far as the library needs it.
typedef struct {
    int n;
    void (*fn)(void *);
    void *arg;
    _Atomic int arrived;
    _Atomic unsigned round;
} Team;

static _Thread_local int threads_here = 1;   // what the library may ask for
static _Thread_local Gang *gang_here;        // whom it gets
static _Thread_local Team *team_here;        // the region that this thread is in
static _Thread_local int id_here;

static void team_member(void *arg, int id, int n) {
    Team *team = arg;
    (void)n;
    if (id >= team->n)
        return;
    team_here = team, id_here = id;
    team->fn(team->arg);
    team_here = NULL, id_here = 0;
}

// Nested regions, and those wider than the gang, run on one thread: that is what OMP_NESTED=false does.
static void our_parallel(void (*fn)(void *), void *arg, unsigned n, unsigned flags) {
    (void)flags;
    int wanted = n ? (int)n : threads_here;
    if (team_here || !gang_here || wanted <= 1 || wanted > gang_here->n) {
        Team alone = {.n = 1}, *outer = team_here;
        int id = id_here;
        team_here = &alone, id_here = 0;
        fn(arg);
        team_here = outer, id_here = id;
        return;
    }
    Team team = {.n = wanted, .fn = fn, .arg = arg};
    gang_run(gang_here, team_member, &team);
}

// Spins first: threads of a region arrive within a microsecond of each other, unless one was taken off its CPU.
static void our_barrier(void) {
    Team *team = team_here;
    if (!team || team->n < 2)
        return;
    unsigned round = atomic_load_explicit(&team->round, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) == team->n - 1) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&team->round, memory_order_acquire) == round; spins++)
        if (spins > 1000)
            sched_yield();
}

static int our_max_threads(void) {
    return team_here ? 1 : threads_here;
}
static int our_num_threads(void) {
    return team_here ? team_here->n : 1;
}
static int our_thread_num(void) {
    return team_here ? id_here : 0;
}
static int our_in_parallel(void) {
    return team_here && team_here->n > 1;
}

static const struct {
    const char *name;
    void *fn;
} stand_ins[6] = {
    {"GOMP_parallel", (void *)our_parallel},         {"GOMP_barrier", (void *)our_barrier},
    {"omp_get_max_threads", (void *)our_max_threads}, {"omp_get_num_threads", (void *)our_num_threads},
    {"omp_get_thread_num", (void *)our_thread_num},   {"omp_in_parallel", (void *)our_in_parallel},
};
static const char of_compiled_graphs[] = "omp_set_num_threads";  // only those of dnnl_graph_* call it

// ---- the slots ----

typedef struct {
    void **slot[6];
    int found;
    bool foreign;   // another function of an OpenMP library is called, too
} Slots;

// All relocations of OpenMP functions must be known ones, once each: any other means a version that works differently.
static void look_at(const struct link_map *map, const ElfW(Rela) *rows, size_t n, const ElfW(Sym) *symbols,
                    const char *names, Slots *slots) {
    for (size_t i = 0; i < n; i++) {
        const char *name = names + symbols[ELF64_R_SYM(rows[i].r_info)].st_name;
        if (strncmp(name, "GOMP_", 5) != 0 && strncmp(name, "omp_", 4) != 0 && strncmp(name, "__kmpc_", 7) != 0)
            continue;
        bool known = !strcmp(name, of_compiled_graphs);
        for (int k = 0; k < 6; k++)
            if (!strcmp(name, stand_ins[k].name)) {
                known = true;
                slots->foreign |= slots->slot[k] != NULL;   // twice: we would have to follow both
                slots->found += slots->slot[k] == NULL;
                slots->slot[k] = (void **)(map->l_addr + rows[i].r_offset);
            }
        slots->foreign |= !known;
    }
}

// The dynamic section as the loader mapped it; its pointers have been relocated by glibc.
static Slots find_slots(const struct link_map *map) {
    Slots slots = {0};
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) *jumps = NULL, *others = NULL;
    size_t jump_bytes = 0, other_bytes = 0;
    bool rela = true;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: symbols = (const ElfW(Sym) *)d->d_un.d_ptr; break;
        case DT_STRTAB: names = (const char *)d->d_un.d_ptr; break;
        case DT_JMPREL: jumps = (const ElfW(Rela) *)d->d_un.d_ptr; break;
        case DT_PLTRELSZ: jump_bytes = d->d_un.d_val; break;
        case DT_PLTREL: rela = d->d_un.d_val == DT_RELA; break;
        case DT_RELA: others = (const ElfW(Rela) *)d->d_un.d_ptr; break;
        case DT_RELASZ: other_bytes = d->d_un.d_val; break;
        default: break;
        }
    if (!symbols || !names || !rela)
        return slots;
    if (jumps)
        look_at(map, jumps, jump_bytes / sizeof *jumps, symbols, names, &slots);
    if (others)
        look_at(map, others, other_bytes / sizeof *others, symbols, names, &slots);
    return slots;
}

// The part of an object that becomes read-only after loading.
typedef struct {
    uintptr_t base, from, to;
} Relro;
static int find_relro(struct dl_phdr_info *info, size_t size, void *arg) {
    Relro *relro = arg;
    (void)size;
    if (info->dlpi_addr != relro->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            relro->from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            relro->to = relro->from + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

// The slots are in the part that the loader made read-only (RELRO, since it was bound at once): writable for the moment
// of the change.
static bool patch(void *handle) {
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    Slots slots = find_slots(map);
    if (slots.found != 6 || slots.foreign)
        return false;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    Relro relro = {.base = map->l_addr};
    dl_iterate_phdr(find_relro, &relro);
    for (int k = 0; k < 6; k++)
        if (mprotect((void *)((uintptr_t)slots.slot[k] & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0)
            return false;
    for (int k = 0; k < 6; k++)
        *slots.slot[k] = stand_ins[k].fn;
    for (int k = 0; k < 6; k++) {
        uintptr_t start = (uintptr_t)slots.slot[k] & ~(page - 1);
        if (start >= (relro.from & ~(page - 1)) && start + page <= ((relro.to + page - 1) & ~(page - 1)))
            mprotect((void *)start, page, PROT_READ);
    }
    return true;
}

// ---- the library ----

static Onednn library;
static bool opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*real_max_threads)(void);
static void (*real_set_threads)(int);

// Version 2 is found by its number. Version 3 has been packaged under its own and under its minor number, which may be
// that of an earlier release than the headers say.
static void *open_by_name(int mode) {
    char name[32];
    snprintf(name, sizeof name, "libdnnl.so.%d", DNNL_VERSION_MAJOR);
    void *handle = dlopen(name, mode);
    for (int minor = DNNL_VERSION_MINOR; !handle && DNNL_VERSION_MAJOR > 2 && minor >= 0; minor--) {
        snprintf(name, sizeof name, "libdnnl.so.%d.%d", DNNL_VERSION_MAJOR, minor);
        handle = dlopen(name, mode);
    }
    return handle;
}

static void open_library(void) {
    // NOLOAD tells whether it is there already: then somebody else's code may be in it, and its slots are left alone.
    void *shared = open_by_name(RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *handle = shared ? shared : open_by_name(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        log_write(LOG_INFO, "oneDNN isn't there: the loops do without");
        return;
    }
#define F(function)                                         \
    *(void **)&library.function = dlsym(handle, #function); \
    if (!library.function)                                  \
        return;
    ONEDNN_FUNCTIONS(F)
#undef F
    if (library.dnnl_version()->major != DNNL_VERSION_MAJOR)
        return;
    *(void **)&real_max_threads = dlsym(handle, "omp_get_max_threads");
    *(void **)&real_set_threads = dlsym(handle, "omp_set_num_threads");
    library.patched = !shared && patch(handle);
    if (library.dnnl_engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success)
        return;
    opened = true;
    log_write(LOG_INFO, "oneDNN %d.%d is there", library.dnnl_version()->major, library.dnnl_version()->minor);
}

const Onednn *onednn_library(void) {
    pthread_once(&once, open_library);
    return opened ? &library : NULL;
}

// Nested calls give back what they found.
OnednnScope onednn_begin(int threads, Gang *gang) {
    OnednnScope scope = {.saved_threads = threads_here, .saved_gang = gang_here};
    threads_here = threads, gang_here = gang;
    if (!library.patched && real_max_threads && real_set_threads) {
        scope.saved_setting = real_max_threads();
        real_set_threads(1);
    }
    return scope;
}

void onednn_end(OnednnScope scope) {
    threads_here = scope.saved_threads, gang_here = scope.saved_gang;
    if (scope.saved_setting)
        real_set_threads(scope.saved_setting);
}
#endif
