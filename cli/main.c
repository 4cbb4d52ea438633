// millrace — the command: finds the subcommand and hands over.
#include <errno.h>
#include <stdarg.h>

#include "cli.h"

static const Command *const COMMANDS[] = {
    &command_eval, &command_ops, &command_inspect, &command_run, &command_plan, &command_train,
};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

int fail(const char *format, ...) {
    va_list args;
    fflush(stdout);
    va_start(args, format);
    fputs("millrace: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_FAILED;
}

int misuse(const Command *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "millrace %s: ", command->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry: millrace %s --help\n", command->name);
    va_end(args);
    return EXIT_USAGE;
}

bool good(const TF_Status *status, const char *what) {
    if (TF_GetCode(status) == TF_OK)
        return true;
    fail("%s: %s", what, TF_Message(status));
    return false;
}

int next_option(const Command *command, int argc, char **argv, const struct option *options) {
    opterr = 0;
    int option = getopt_long(argc, argv, "h", options, NULL);
    if (option == 'h') {
        printf("%s", command->help);
    } else if (option == '?') {
        misuse(command, "%s %s", optopt ? "missing value, or unknown option:" : "unknown option",
               argv[optind - 1]);
    }
    return option;
}

static void print_help(FILE *out) {
    fputs("usage: millrace COMMAND [ARGUMENTS]\n\nCommands:\n", out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-8s  %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fputs("\n`millrace COMMAND --help` tells more, with examples. `millrace --version` prints the version.\n", out);
}

// What could not be written has failed, however well it went until then.
static int finish(int code) {
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written || code != EXIT_DONE ? code : fail("the results can't be written: %s", strerror(errno ? errno : EIO));
}

static int run_command(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        printf("millrace %s, as TensorFlow %s\n", mr_version(), TF_Version());
        return EXIT_DONE;
    }
    bool help = strcmp(name, "help") == 0;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (help && argc < 3)) {
        print_help(stdout);
        return EXIT_DONE;
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i]->name, help ? argv[2] : name) != 0)
            continue;
        if (help) {
            printf("%s", COMMANDS[i]->help);
            return EXIT_DONE;
        }
        return COMMANDS[i]->run(argc - 1, argv + 1);
    }
    fail("'%s' is no command", help ? argv[2] : name);
    print_help(stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    return finish(run_command(argc, argv));
}
