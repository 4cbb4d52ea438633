// Help — what a command's table says, in the forms that people read it in.
#pragma once
#include "cli.h"

int terminal_width(void);   // of stdout, within bounds; 100 where it is no terminal
// The words of the text, which begins at column `at`, broken at the terminal's width; further lines begin at `indent`.
void print_wrapped(FILE *out, const char *text, size_t n, int at, int indent);
void print_item(FILE *out, const char *term, const char *text, size_t n);

void print_help(FILE *out, const Command *command);                                       // --help
void print_page(const Command *command);                                                   // for man
void print_main_page(const Command *const *commands, int n, const char *about);
bool print_completion(const Command *const *commands, int n, const char *shell);          // bash, zsh, fish; else false
