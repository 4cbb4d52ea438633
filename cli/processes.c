// Processes — see processes.h.
#define _GNU_SOURCE
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_LINE = 1 << 16, MOST_PROCESSES = 1024 };

// ---------------------------------------- starting

// In the child. This process has one thread, so it may allocate.
static void become(char *const *argv, const char *(*variables)[2], const int out[2], pid_t parent) {
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(out[0], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    for (int i = 0; variables[i][0]; i++)
        setenv(variables[i][0], variables[i][1], 1);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool process_start(Process *p, char *const *argv, const char *(*variables)[2]) {
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    pid_t parent = getpid();
    bool good = pipe2(pipes[0], O_CLOEXEC) == 0 && pipe2(pipes[1], O_CLOEXEC) == 0;
    p->pid = good ? fork() : -1;
    if (p->pid == 0)
        become(argv, variables, (int[]){pipes[0][1], pipes[1][1]}, parent);
    good = p->pid > 0;
    if (!good)
        fail("%s can't be started: %s", p->name, strerror(errno));
    p->pid = good ? p->pid : 0;
    for (int i = 0; i < 2; i++) {
        p->out[i] = (Lines){.fd = good ? pipes[i][0] : -1, .to = i ? stderr : stdout};
        if (!good && pipes[i][0] >= 0)
            close(pipes[i][0]);
        if (pipes[i][1] >= 0)
            close(pipes[i][1]);
        if (good)
            fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    }
    if (good)
        setpgid(p->pid, p->pid);  // here too: whoever is first
    return good;
}

void process_signal(const Process *p, int number) {
    if (p->pid)
        kill(-p->pid, number);
}

int process_code(const Process *p) {
    return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

void process_clear(Process *p) {
    for (int i = 0; i < 2; i++) {
        if (p->out[i].fd >= 0)
            close(p->out[i].fd);
        free(p->out[i].text);
        p->out[i] = (Lines){.fd = -1};
    }
}

// ---------------------------------------- their lines

static void print_line(const Process *p, FILE *to, const char *line, size_t n) {
    fprintf(to, "%s | %.*s\n", p->name, (int)n, line);
}

// What stands in the buffer, as whole lines; the rest too at the end, or where the line is too long.
static void print_lines(const Process *p, Lines *lines, bool all) {
    size_t from = 0;
    for (char *end; (end = memchr(lines->text + from, '\n', lines->n - from)); from = (size_t)(end - lines->text) + 1)
        print_line(p, lines->to, lines->text + from, (size_t)(end - lines->text) - from);
    if (lines->n > from && (all || lines->n - from == LONGEST_LINE)) {
        print_line(p, lines->to, lines->text + from, lines->n - from);
        from = lines->n;
    }
    memmove(lines->text, lines->text + from, lines->n - from);
    lines->n -= from;
    fflush(lines->to);
}

// All that is there now.
static void read_lines(const Process *p, Lines *lines) {
    if (!lines->text && !(lines->text = malloc(LONGEST_LINE)))
        return;
    for (;;) {
        ssize_t n = read(lines->fd, lines->text + lines->n, LONGEST_LINE - lines->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        lines->n += n > 0 ? (size_t)n : 0;
        print_lines(p, lines, n <= 0);
        if (n > 0)
            continue;
        close(lines->fd);
        lines->fd = -1;
        return;
    }
}

// ---------------------------------------- waiting

// Whether somebody has ended. What they wrote last is printed; who holds their pipes beyond that isn't waited for.
static bool reap(Process *processes, int n) {
    bool some = false;
    for (int i = 0; i < n; i++) {
        Process *p = &processes[i];
        if (!p->pid || waitpid(p->pid, &p->status, WNOHANG) != p->pid)
            continue;
        some = true;
        for (int o = 0; o < 2; o++)
            if (p->out[o].fd >= 0)
                read_lines(p, &p->out[o]);
        kill(-p->pid, SIGKILL);
        p->pid = 0;
    }
    return some;
}

int processes_wait(Process *processes, int n, int signals, int wait_ms) {
    struct pollfd polled[1 + 2 * MOST_PROCESSES] = {{.fd = signals, .events = POLLIN}};
    for (;;) {
        for (int i = 0; i < 2 * n; i++)
            polled[1 + i] = (struct pollfd){.fd = processes[i / 2].out[i % 2].fd, .events = POLLIN};
        int ready = poll(polled, 1 + 2 * (nfds_t)n, wait_ms);
        for (int i = 0; i < 2 * n && ready > 0; i++)
            if (polled[1 + i].revents)
                read_lines(&processes[i / 2], &processes[i / 2].out[i % 2]);
        struct signalfd_siginfo info;
        if (ready > 0 && polled[0].revents && read(signals, &info, sizeof info) == sizeof info) {
            bool ended = reap(processes, n);
            if (ended || info.ssi_signo != SIGCHLD)
                return (int)info.ssi_signo;
        }
        if (ready == 0)
            return 0;
    }
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int count_running(const Process *processes, int n) {
    int running = 0;
    for (int i = 0; i < n; i++)
        running += processes[i].pid != 0;
    return running;
}

void processes_end(Process *processes, int n, int signals, int grace_ms) {
    int64_t until = now_ms() + grace_ms;
    for (int i = 0; i < n; i++) {
        process_signal(&processes[i], SIGTERM);
        process_signal(&processes[i], SIGCONT);  // who is frozen can't end
    }
    while (count_running(processes, n)) {
        int64_t left = until - now_ms();
        for (int i = 0; i < n && left <= 0; i++)
            process_signal(&processes[i], SIGKILL);
        processes_wait(processes, n, signals, left > 0 ? (int)left : 1000);
    }
}
