// Busy — see busy.h. Loops that only compute stand for the neighbours: as many as are asked for, at equal priority.
#define _GNU_SOURCE
#include "busy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "column.h"

static const char *const WORKLOADS[] = {"mlp_big", "word2vec", "convnets.mnist", "lm.sampled", "lm.full"};
enum { WORKLOAD_COUNT = sizeof WORKLOADS / sizeof *WORKLOADS };

enum { ONE, TWO, THEIRS, COLUMNS };
enum { MOST_LOOPS = 3 };

// ---------------------------------------- the load

static pid_t loops[MOST_LOOPS];

// A loop dies with this process, however that ends.
static void start_loops(int n) {
    pid_t parent = getpid();
    for (int i = 0; i < n; i++) {
        loops[i] = fork();
        if (loops[i])
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turns = 0; getppid() == parent;)
            for (unsigned k = 0; k < 100000000; k++)
                turns += k;
        _exit(0);
    }
}

static void stop_loops(void) {
    for (int i = 0; i < MOST_LOOPS; i++)
        if (loops[i] > 0) {
            kill(loops[i], SIGKILL);
            waitpid(loops[i], NULL, 0);
            loops[i] = 0;
        }
}

// ---------------------------------------- the quota

static bool write_file(const char *folder, const char *name, const char *text) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    return (file && fclose(file) == 0) && good;
}

// A control group of this machine's processors but so many halves: version 2 or, in its "cpu" hierarchy, version 1.
static bool make_group(int halves, char *folder, size_t size) {
    const char *root = getenv("BENCH_CGROUP");
    char both[64], quota[32];
    long us = sysconf(_SC_NPROCESSORS_ONLN) * 100000 - halves * 50000L;
    snprintf(folder, size, "%s/millrace-bench-%d", root ? root : "/sys/fs/cgroup", (int)getpid());
    snprintf(both, sizeof both, "%ld 100000", us);
    snprintf(quota, sizeof quota, "%ld", us);
    if (mkdir(folder, 0755))
        return false;
    if (write_file(folder, "cpu.max", both) || write_file(folder, "cpu.cfs_quota_us", quota))
        return true;
    rmdir(folder);
    return false;
}

static void move_to(const char *folder, const Column *columns) {
    char text[32];
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].pid > 0) {
            snprintf(text, sizeof text, "%d", (int)columns[i].pid);
            write_file(folder, "cgroup.procs", text);
        }
}

static void remove_group(const char *folder) {
    for (int i = 0; i < 100 && rmdir(folder); i++)
        usleep(10000);    // the processes in it have just left
}

// ---------------------------------------- rounds

static void run_rounds(Column *columns, const Options *options) {
    for (int i = 0; i < COLUMNS; i++)
        columns[i].rounds = 0;
    double begin = now_seconds();
    for (int round = 0; round < options->rounds && (round < 3 || now_seconds() - begin < options->seconds); round++)
        for (int i = 0; i < COLUMNS; i++) {
            if (!columns[i].open)
                continue;
            column_resume(&columns[i]);
            column_ask(&columns[i], "round", "");
            columns[i].open = column_reply(&columns[i]);
            if (columns[i].open)
                columns[i].round[columns[i].rounds++] = atof(columns[i].line + strlen("seconds "));
            column_pause(&columns[i]);
        }
}

static void print_ratio(double value, double other, double bound) {
    if (value > 0 && other > 0)
        printf("  %5.2f%s", value / other, value > other * bound ? " !" : "  ");
    else
        printf("  %5s  ", "-");
}

static void print_row(const char *name, const char *load, const Column *columns) {
    double ms[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        ms[i] = column_median(&columns[i]) * 1e3;
    printf("%-16s %-8s", name, load);
    for (int i = 0; i < COLUMNS; i++)
        printf(" %10.2f", ms[i]);
    print_ratio(ms[TWO], ms[THEIRS], 1.0);
    print_ratio(ms[TWO], ms[ONE], 1.05);
    printf("  (%d)\n", columns[TWO].rounds);
    fflush(stdout);
}

static void measure_quota(const char *name, int halves, Column *columns, const Options *options) {
    char folder[4096], load[32];
    if (!make_group(halves, folder, sizeof folder)) {
        printf("%-16s quota: no control group can be made here (BENCH_CGROUP names a folder where one can)\n", name);
        return;
    }
    move_to(folder, columns);
    run_rounds(columns, options);
    snprintf(load, sizeof load, "%.1f cpus", (double)sysconf(_SC_NPROCESSORS_ONLN) - 0.5 * halves);
    print_row(name, load, columns);
    char parent[sizeof folder];
    memcpy(parent, folder, sizeof parent);
    *strrchr(parent, '/') = 0;
    move_to(parent, columns);
    remove_group(folder);
}

static void measure(const char *name, const Options *options) {
    Column columns[COLUMNS] = {{.library = options->millrace, .setting = {"1", false, 1, 1, NULL, true}},
                               {.library = options->millrace, .setting = {"2", false, 2, 2, NULL, true}},
                               {.library = options->tensorflow, .setting = {"TensorFlow", false, 2, 2, NULL, true}}};
    char load[16];
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].library && column_start(&columns[i]) && column_reply(&columns[i])) {
            column_ask(&columns[i], "open ", name);
            columns[i].open = column_reply(&columns[i]);
            column_pause(&columns[i]);
        }
    for (int loops_wanted = 0; loops_wanted <= MOST_LOOPS; loops_wanted++) {
        snprintf(load, sizeof load, "%d loop%s", loops_wanted, loops_wanted == 1 ? "" : "s");
        start_loops(loops_wanted);
        run_rounds(columns, options);
        stop_loops();
        print_row(name, load, columns);
    }
    for (int halves = 1; halves <= 2; halves++)
        measure_quota(name, halves, columns, options);
    for (int i = 0; i < COLUMNS; i++)
        column_stop(&columns[i]);
}

// "busy" alone is all of them, "busy.mlp" one.
static bool is_wanted(const Options *options, const char *name) {
    char whole[64];
    snprintf(whole, sizeof whole, "busy.%s", name);
    return options->count && bench_wanted(options, whole);
}

bool busy_run(const Options *options) {
    bool any = false;
    setenv("BENCH_ROUND", "0.25", 1);    // a scheduler's turn is some ms: shorter rounds would see one neighbour only
    for (int i = 0; i < WORKLOAD_COUNT; i++) {
        if (!is_wanted(options, WORKLOADS[i]))
            continue;
        if (!any)
            printf("medians of at most %d rounds, ms per step; ratios of two threads: to TensorFlow's two (<= 1), to one of ours "
                   "(<= 1.05)\n"
                   "%-16s %-8s %10s %10s %10s %7s %8s\n", options->rounds, "beside", "", "1 thread", "2 threads",
                   "TF, 2", "TF", "one");
        any = true;
        measure(WORKLOADS[i], options);
    }
    unsetenv("BENCH_ROUND");
    return any;
}
