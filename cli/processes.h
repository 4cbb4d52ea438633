// Processes — children that run side by side: their lines under their names, their ends, and one end for all of them.
//
// Each leads a process group, so that what it starts ends with it, and each ends when this process does, however that is.
#pragma once
#include <sys/types.h>

#include "cli.h"

typedef struct {
    int fd;                 // -1: at its end
    FILE *to;
    char *text;             // of a line whose end hasn't come
    size_t n;
} Lines;

typedef struct {
    char name[32];          // stands before each of its lines
    pid_t pid;              // 0: it has ended
    int status;             // then: as waitpid gives it
    Lines out[2];           // what it writes to stdout and stderr
} Process;

// Starts argv[0], found as a shell does, with these variables of the environment besides ours: {name, value}, up to a NULL.
// False after a message. What cannot be run ends with 127.
bool process_start(Process *process, char *const *argv, const char *(*variables)[2]);
void process_signal(const Process *process, int number);   // to it and what it has started
int process_code(const Process *process);                  // exit code; 128 + the number of the signal that ended it
void process_clear(Process *process);

// Prints what they write, a line at a time, and notes who ends, until something has: gives SIGCHLD, or SIGINT or SIGTERM where
// that came; 0 after `wait_ms` (-1: without limit). The three signals must be blocked, and `signals` a signalfd of them.
int processes_wait(Process *processes, int n, int signals, int wait_ms);
// Asks all that run to end, and after `grace_ms` makes them.
void processes_end(Process *processes, int n, int signals, int grace_ms);
