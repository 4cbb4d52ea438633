// millrace — the command: finds the subcommand and hands over.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "help.h"

static const Command *const COMMANDS[] = {
    &command_eval, &command_ops, &command_inspect, &command_run, &command_plan, &command_profile, &command_train, &command_convert,
    &command_devices, &command_server, &command_cluster,
};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS, MOST_OPTIONS = 32 };

static const char TELLS_MORE[] =
    "`millrace COMMAND --help` tells more, with examples. `millrace --version` prints the version.";

int fail(const char *format, ...) {
    char *text = NULL;
    va_list args;
    fflush(stdout);
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        print_text(stderr, 2, "millrace: %s", text);
    va_end(args);
    free(text);
    return EXIT_FAILED;
}

int misuse(const Command *command, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        print_text(stderr, 2, "millrace %s: %s", command->name, text);
    va_end(args);
    free(text);
    fprintf(stderr, "Try: millrace %s --help\n", command->name);
    return EXIT_USAGE;
}

bool good(const TF_Status *status, const char *what) {
    if (TF_GetCode(status) == TF_OK)
        return true;
    fail("%s: %s", what, TF_Message(status));
    return false;
}

// The command's options as getopt wants them; gives their number.
static int long_options(const Command *command, struct option *out, int most) {
    int n = 0;
    for (const Option *o = command->options; o->name && n < most - 2; o++)
        out[n++] = (struct option){o->name, o->value ? required_argument : no_argument, NULL, o->code};
    out[n++] = (struct option){"help", no_argument, NULL, 'h'};
    out[n] = (struct option){0};
    return n;
}

// The options that the word is short for, "--target, --threads"; gives their number.
static int find_long(const char *word, const struct option *options, int n, char *list, size_t room) {
    size_t length = strcspn(word + 2, "="), used = 0;
    int found = 0;
    *list = 0;
    for (int i = 0; i < n && strncmp(word, "--", 2) == 0; i++)
        if (strncmp(options[i].name, word + 2, length) == 0)
            used += (size_t)snprintf(list + used, room - used, "%s--%s", found++ ? ", " : "", options[i].name);
    return found;
}

static void report_option(const Command *command, const char *word, const struct option *options, int n) {
    char name[256], list[512];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    Hint hint = {.wanted = name + strspn(name, "-")};
    int found = find_long(name, options, n, list, sizeof list);
    for (int i = 0; i < n; i++)
        hint_offer(&hint, options[i].name);
    if (found > 1)
        misuse(command, "%s is short for several: %s", name, list);
    else if (found == 1 && word[strlen(name)])
        misuse(command, "%s takes no value", list);
    else if (*hint.best)
        misuse(command, "unknown option %s; did you mean '--%s'?", name, hint.best);
    else if (find_long("--", options, n, list, sizeof list))
        misuse(command, "unknown option %s; there are %s", name, list);
}

int next_option(const Command *command, int argc, char **argv) {
    struct option options[MOST_OPTIONS];
    int n = long_options(command, options, MOST_OPTIONS);
    opterr = 0;
    int option = getopt_long(argc, argv, ":h", options, NULL);
    if (option == 'h')
        print_help(stdout, command);
    if (option == ':')
        misuse(command, "%s lacks its value", argv[optind - 1]);
    if (option == '?')
        report_option(command, argv[optind - 1], options, n);
    return option == ':' ? '?' : option;
}

int misuse_value(const Command *command, int code, const char *takes, const char *value) {
    const Option *option = command->options;
    while (option->name && option->code != code)
        option++;
    return misuse(command, "--%s takes %s, not '%s'", option->name, takes, value);
}

bool one_model(const Command *command, int argc, char **argv) {
    if (argc - optind == 1)
        return true;
    if (argc == optind)
        misuse(command, "a model is missing");
    else
        misuse(command, "one model is expected; '%s' is one too many", argv[optind + 1]);
    return false;
}

static const char ABOUT[] =
    "Each command is told more about by `millrace COMMAND --help`, with examples.\n"
    "\n"
    "A command ends with 0 when it is done, 1 when it failed (one line on the standard error says why), 2 when the command line "
    "was wrong, 130 after Ctrl-C and 143 after SIGTERM.\n";

static void print_list(FILE *out) {
    fputs("usage: millrace COMMAND [ARGUMENTS]\n\nCommands:\n", out);
    for (int i = 0; i < N_COMMANDS; i++)
        print_item(out, COMMANDS[i]->name, COMMANDS[i]->summary, strlen(COMMANDS[i]->summary));
    fputs("\n", out);
    print_wrapped(out, TELLS_MORE, strlen(TELLS_MORE), 0, 0);
}

// What could not be written has failed, however well it went until then.
static int finish(int code) {
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written || code != EXIT_DONE ? code : fail("the results can't be written: %s",
                                                      strerror(errno ? errno : EIO));
}

static const Command *find_command(const char *name) {
    static const char *const OTHERS[] = {"help", "--help", "--version"};
    Hint hint = {.wanted = name};
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i]->name, name) == 0)
            return COMMANDS[i];
        hint_offer(&hint, COMMANDS[i]->name);
    }
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        hint_offer(&hint, OTHERS[i]);
    fail("'%s' is no %s%s", name, *name == '-' ? "option" : "command", hint_text(&hint));
    print_list(stderr);
    return NULL;
}

// help [COMMAND]; with --man the pages for man, with --completion what a shell completes: the build installs them.
static int help(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[2], "--completion") == 0)
        return print_completion(COMMANDS, N_COMMANDS, argv[3])
                   ? EXIT_DONE : fail("'%s' is none of bash, zsh and fish", argv[3]) + 1;
    bool page = argc > 2 && strcmp(argv[2], "--man") == 0;
    if (argc > 2 && strcmp(argv[2], "--completion") == 0)
        return fail("help --completion takes one shell: bash, zsh or fish") + 1;
    const char *name = argc > 2 + page ? argv[2 + page] : NULL;
    const Command *command = name ? find_command(name) : NULL;
    if (name && !command)
        return EXIT_USAGE;
    if (page && command)
        print_page(command);
    else if (page)
        print_main_page(COMMANDS, N_COMMANDS, ABOUT);
    else if (command)
        print_help(stdout, command);
    else
        print_list(stdout);
    return EXIT_DONE;
}

// A variable with a wrong value is wrong use, as an option would be.
static bool environment_is_fine(void) {
    TF_Status *status = TF_NewStatus();
    mr_environment_check(status);
    bool fine = TF_GetCode(status) == TF_OK || !fail("%s", TF_Message(status));
    TF_DeleteStatus(status);
    return fine;
}

static int run_command(int argc, char **argv) {
    if (argc < 2) {
        print_list(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        printf("millrace %s, as TensorFlow %s\n", mr_version(), TF_Version());
        return EXIT_DONE;
    }
    if (strcmp(name, "help") == 0)
        return help(argc, argv);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_list(stdout);
        return EXIT_DONE;
    }
    const Command *command = find_command(name);
    return command && environment_is_fine() ? command->run(argc - 1, argv + 1) : EXIT_USAGE;
}

// What a command has no better answer to: nothing it had begun is kept.
static void end(int number) {
    _exit(128 + number);
}

int main(int argc, char **argv) {
    signal(SIGINT, end);
    signal(SIGTERM, end);
    return finish(run_command(argc, argv));
}
