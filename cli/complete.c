// Complete — what shells complete behind `millrace`, made of the commands' tables.
#include "help.h"

static void print_bash(const Command *const *commands, int n) {
    printf("# Completion of millrace for bash, made by `millrace help --completion bash`.\n_millrace() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} options=\n    if [ \"$COMP_CWORD\" = 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"");
    for (int i = 0; i < n; i++)
        printf("%s ", commands[i]->name);
    printf("help --help --version\" -- \"$current\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < n; i++) {
        printf("    %s) options=\"", commands[i]->name);
        for (const Option *o = commands[i]->options; o->name; o++)
            printf("--%s ", o->name);
        printf("--help\" ;;\n");
    }
    printf("    esac\n    case $current in\n    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;\n"
           "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n    esac\n}\n"
           "complete -o filenames -F _millrace millrace\n");
}

// Between single quotes; `special` letters get a backslash.
static void print_quoted(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_zsh(const Command *const *commands, int n) {
    printf("#compdef millrace\n# Made by `millrace help --completion zsh`.\nlocal -a commands\ncommands=(\n");
    for (int i = 0; i < n; i++) {
        printf("  '%s:", commands[i]->name);
        print_quoted(commands[i]->summary, "\\:");
        printf("'\n");
    }
    printf(")\nif (( CURRENT == 2 )); then\n  _describe command commands\n  return\nfi\ncase $words[2] in\n");
    for (int i = 0; i < n; i++) {
        printf("%s)\n  shift words\n  (( CURRENT-- ))\n  _arguments", commands[i]->name);
        for (const Option *o = commands[i]->options; o->name; o++) {
            printf(" \\\n    '*--%s[", o->name);
            print_quoted(o->text, "\\[]:");
            printf(o->value ? "]:%s:_files'" : "]'", o->value);
        }
        printf(" \\\n    '*:file:_files'\n  ;;\n");
    }
    printf("esac\n");
}

static void print_fish(const Command *const *commands, int n) {
    printf("# Completion of millrace for fish, made by `millrace help --completion fish`.\n");
    for (int i = 0; i < n; i++) {
        printf("complete -c millrace -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
        print_quoted(commands[i]->summary, "\\");
        printf("'\n");
        for (const Option *o = commands[i]->options; o->name; o++) {
            printf("complete -c millrace -n '__fish_seen_subcommand_from %s' -l %s%s -d '", commands[i]->name, o->name,
                   o->value ? " -r" : "");
            print_quoted(o->text, "\\");
            printf("'\n");
        }
    }
}

bool print_completion(const Command *const *commands, int n, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash(commands, n);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(commands, n);
    else if (strcmp(shell, "fish") == 0)
        print_fish(commands, n);
    else
        return false;
    return true;
}
