// EnvVar — a variable of the environment: its name, and the words that it may hold.
//
// Each is declared beside what it steers; api/environment.c lists them all. Opening a session refuses words that mean
// nothing (env_var_check), so that readers may pass over them (env_var_read).
#pragma once
#include "base/status.h"

typedef struct {
    const char *name;
    const char *words;   // with blanks between: "order late alloc:N"; N stands for a number from 0 to 2^32 - 1
    bool list;           // several of them, with commas between
    const char *(*switches)(int i);  // NAMEs of further words "-NAME", NULL behind the last; itself NULL: none
} EnvVar;

// INVALID_ARGUMENT where it holds something else; unset and empty are fine.
FALLIBLE Status *env_var_check(const EnvVar *variable);
// What it holds: bit i for the i-th word of at most 64, and in *number the N of a word that has one (untouched else; may be NULL).
uint64_t env_var_read(const EnvVar *variable, uint32_t *number);
