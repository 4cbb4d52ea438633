// Column — see column.h.
#define _GNU_SOURCE
#include "column.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool column_reply(Column *column) {
    if (!fgets(column->line, sizeof column->line, column->from)) {
        snprintf(column->line, sizeof column->line, "error the process died");
        return false;
    }
    column->line[strcspn(column->line, "\n")] = 0;
    return strncmp(column->line, "error", 5) != 0;
}

void column_ask(Column *column, const char *request, const char *argument) {
    fprintf(column->to, "%s%s\n", request, argument);
    fflush(column->to);
}

_Noreturn static void become_child(const Column *column) {
    const Setting *s = &column->setting;
    char intra[16], inter[16];
    snprintf(intra, sizeof intra, "%d", s->intra);
    snprintf(inter, sizeof inter, "%d", s->inter);
    if (!getenv("BENCH_STDERR") && !freopen("/dev/null", "w", stderr))
        _exit(127);
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 1);
    if (column->first) {
        snprintf(intra, sizeof intra, "%d", column->first);
        execl("/proc/self/exe", "bench", "--first", column->library, intra, (char *)NULL);
    } else if (column->raw)
        execl("/proc/self/exe", "bench", "--raw", column->library, intra, (char *)NULL);
    else if (column->script)
        execlp(column->library, column->library, column->script, intra, (char *)NULL);
    else
        execl("/proc/self/exe", "bench", "--child", column->library, intra, inter, s->executor ? s->executor : "",
              s->rewrites ? "1" : "0", (char *)NULL);
    _exit(127);
}

// Starts this program anew as a child that serves requests; what it writes to stderr is dropped unless asked for.
bool column_start(Column *column) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
        return false;
    column->pid = fork();
    if (column->pid < 0)
        return false;
    if (!column->pid) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        become_child(column);
    }
    close(to[0]);
    close(from[1]);
    column->to = fdopen(to[1], "w");
    column->from = fdopen(from[0], "r");
    return column->to && column->from;
}

void column_pause(Column *column) {
    if (column->pid > 0)
        kill(column->pid, SIGSTOP);
}

void column_resume(Column *column) {
    if (column->pid > 0)
        kill(column->pid, SIGCONT);
}

void column_stop(Column *column) {
    if (column->pid <= 0)
        return;
    column_resume(column);
    fclose(column->to);
    fclose(column->from);
    waitpid(column->pid, NULL, 0);
    column->pid = 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double column_median(const Column *column) {
    double sorted[ROUNDS_MAX];
    int n = column->rounds;
    if (!n)
        return 0;
    memcpy(sorted, column->round, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
