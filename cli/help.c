// Help — what a command's table says, as `--help`, as a page for man, and as completion for shells.
#include <ctype.h>

#include "help.h"

#define PAGE_DATE "2026-11-22"  // of the texts

// ---------------------------------------- the pieces of a text

// The line at `text` without its newline.
static size_t line_length(const char *text) {
    return strcspn(text, "\n");
}

static const char *next_line(const char *text) {
    size_t n = line_length(text);
    return text + n + (text[n] == '\n');
}

// "  term  meaning": the term in `term`, and where its meaning begins; NULL where the line is no item.
static const char *item_of(const char *line, char *term, size_t room) {
    if (strncmp(line, "  ", 2) != 0)
        return NULL;
    const char *gap = strstr(line + 2, "  ");
    size_t n = gap ? (size_t)(gap - line - 2) : room;
    if (n >= room || n >= line_length(line + 2))
        return NULL;
    snprintf(term, room, "%.*s", (int)n, line + 2);
    return gap + strspn(gap, " ");
}

// The words of an option: "--input NAME=TENSOR".
static const char *option_term(const Option *option, char *text, size_t room) {
    snprintf(text, room, "--%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    return text;
}

// ---------------------------------------- --help

// Lines are broken between options, not within them.
static void print_usage(FILE *out, const Command *command) {
    char term[128], text[140];
    int at = fprintf(out, "usage: millrace %s", command->name), begin = text_width(out) < 60 ? 3 : at;
    for (const Option *o = command->options; o->name; o++) {
        int n = snprintf(text, sizeof text, " [%s]", option_term(o, term, sizeof term));
        if (at + n > text_width(out))
            at = fprintf(out, "\n%*s", begin, "") - 1;
        at += fprintf(out, "%s", text);
    }
    int n = snprintf(text, sizeof text, "%s%s", *command->arguments ? " " : "", command->arguments);
    print_wrapped(out, text, (size_t)n, at, begin + 1);
}

static void print_about(FILE *out, const char *text) {
    for (; *text; text = next_line(text)) {
        char term[128];
        size_t n = line_length(text);
        const char *meaning = item_of(text, term, sizeof term);
        if (meaning)
            print_item(out, term, meaning, n - (size_t)(meaning - text));
        else
            print_wrapped(out, text, n, 0, 0);
    }
}

void print_help(FILE *out, const Command *command) {
    print_usage(out, command);
    fputc('\n', out);
    print_about(out, command->about);
    fputc('\n', out);
    char term[128];
    for (const Option *o = command->options; o->name; o++)
        print_item(out, option_term(o, term, sizeof term), o->text, strlen(o->text));
    fprintf(out, "\nExamples:\n");
    for (const char *line = command->examples; *line; line = next_line(line))
        fprintf(out, "  %.*s\n", (int)line_length(line), line);
}

// ---------------------------------------- man

static void print_roff_letter(char letter) {
    static const char LETTERS[] = "\\-'`^~";
    static const char *const NAMES[] = {"e", "-", "(aq", "(ga", "(ha", "(ti"};
    const char *found = strchr(LETTERS, letter);
    if (found && letter)
        printf("\\%s", NAMES[found - LETTERS]);
    else
        putchar(letter);
}

// Text for roff on lines of at most 78 letters: what it takes for its own is escaped.
static void print_roff(const char *text, size_t n) {
    int at = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ' && at + (int)strcspn(text + i + 1, " \n") > 60) {
            putchar('\n');
            at = 0;
            continue;
        }
        if (!at && (text[i] == '.' || text[i] == '\''))
            printf("\\&");
        print_roff_letter(text[i]);
        at++;
    }
    putchar('\n');
}

static void print_roff_item(const char *term, const char *text, size_t n) {
    printf(".TP\n.B ");
    print_roff(term, strlen(term));
    print_roff(text, n);
}

static void print_roff_about(const char *text) {
    bool begun = false;
    for (; *text; text = next_line(text)) {
        char term[128];
        size_t n = line_length(text);
        const char *meaning = item_of(text, term, sizeof term);
        if (meaning)
            print_roff_item(term, meaning, n - (size_t)(meaning - text));
        else if (n)
            print_roff(text, n);
        else if (begun && text[1] && strncmp(text + 1, "  ", 2) != 0)
            printf(".PP\n");
        begun = true;
    }
}

static void print_roff_lines(const char *text) {
    printf(".nf\n");
    for (; *text; text = next_line(text)) {
        for (size_t i = 0; i < line_length(text); i++)
            print_roff_letter(text[i]);
        putchar('\n');
    }
    printf(".fi\n");
}

void print_page(const Command *command) {
    char title[64];
    snprintf(title, sizeof title, "MILLRACE-%s", command->name);
    for (char *c = title; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    printf(".TH %s 1 " PAGE_DATE " \"Millrace %s\" \"User Commands\"\n.SH NAME\nmillrace\\-%s \\- ", title,
           mr_version(), command->name);
    print_roff(command->summary, strlen(command->summary));
    printf(".SH SYNOPSIS\n.B millrace %s\n.RI [ option \" ...]\"\n", command->name);
    if (*command->arguments)
        print_roff(command->arguments, strlen(command->arguments));
    printf(".SH DESCRIPTION\n");
    print_roff_about(command->about);
    printf(".SH OPTIONS\n");
    char term[128];
    for (const Option *o = command->options; o->name; o++)
        print_roff_item(option_term(o, term, sizeof term), o->text, strlen(o->text));
    printf(".SH EXAMPLES\n");
    print_roff_lines(command->examples);
    printf(".SH \"SEE ALSO\"\n.BR millrace (1)\n");
}

void print_main_page(const Command *const *commands, int n, const char *about) {
    printf(".TH MILLRACE 1 " PAGE_DATE " \"Millrace %s\" \"User Commands\"\n.SH NAME\nmillrace \\- compute, look at and run graphs of "
           "TensorFlow\n.SH SYNOPSIS\n.B millrace\n.I command\n.RI [ argument \" ...]\"\n.SH DESCRIPTION\n",
           mr_version());
    print_roff_about(about);
    printf(".SH COMMANDS\n");
    for (int i = 0; i < n; i++)
        print_roff_item(commands[i]->name, commands[i]->summary, strlen(commands[i]->summary));
    printf(".SH \"SEE ALSO\"\n");
    for (int i = 0; i < n; i++)
        printf(".BR millrace\\-%s (1)%s\n", commands[i]->name, i + 1 < n ? "," : "");
}
