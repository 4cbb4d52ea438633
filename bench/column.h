// Column — one library under one setting: a child process that is asked for one round after the other.
#pragma once
#include <stdio.h>
#include <sys/types.h>

#include "harness.h"

enum { ROUNDS_MAX = 101 };

typedef struct Column {
    const char *library;             // what is opened; with `script` the Python that runs it
    const char *script;              // a program that answers as child.c does, or NULL
    bool raw;                        // answers as raw.c does
    int first;                       // as first.c does, at so many nodes; 0: doesn't
    Setting setting;
    pid_t pid;
    FILE *to, *from;
    bool open;                       // the bench at hand runs in this column
    double value, round[ROUNDS_MAX];
    int rounds;
    char line[512];                  // the last reply
} Column;

bool column_start(Column *column);
void column_stop(Column *column);
void column_ask(Column *column, const char *request, const char *argument);
bool column_reply(Column *column);   // false: an error, or the end; column->line says which
// Between its rounds a process stands still: threads that spin in wait for work would take the others' cores.
void column_pause(Column *column);
void column_resume(Column *column);
double column_median(const Column *column);
