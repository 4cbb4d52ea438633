// Help — what a command's table says, in the forms that people read it in.
#pragma once
#include "cli.h"

void print_help(FILE *out, const Command *command);                                       // --help
void print_page(const Command *command);                                                   // for man
void print_main_page(const Command *const *commands, int n, const char *about);
bool print_completion(const Command *const *commands, int n, const char *shell);          // bash, zsh, fish; else false
