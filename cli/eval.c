// millrace eval — calculates one call of an op.
#include "cli.h"

static const char ABOUT[] =
    "Calculates calls of ops and prints their results, one line each.\n"
    "\n"
    "Arguments are tensors, [[1 2] [3 4]], int32 [1 2], \"text\", zeros[2 3], other calls, and lists in braces. "
    "Attributes stand behind a semicolon. `millrace ops NAME` tells what an op takes.\n";

static const Option OPTIONS[] = {
    {"json", NULL, "as JSON: one list of results per call", 'j'},
    {"lines", NULL, "large tensors with one line per row", 'l'},
    {0}};

static const char EXAMPLES[] =
    "millrace eval 'Softmax([[1 2 3]])'\n"
    "millrace eval 'Sum([[1 2] [3 4]], 0; keep_dims=true)'\n"
    "millrace eval 'Relu(MatMul([[1 -2]], [[3] [4]]))' 'ConcatV2({[1 2], [3]}, 0)'\n";

// An operation that there is none of: the one that was meant, perhaps.
static bool report_call(const char *call, const TF_Status *status) {
    static const char UNKNOWN[] = "Op type not registered '";
    const char *found = TF_GetCode(status) == TF_OK ? NULL : strstr(TF_Message(status), UNKNOWN);
    if (!found)
        return good(status, call);
    char name[256];
    found += strlen(UNKNOWN);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(found, "'"), found);
    Hint hint = {.wanted = name};
    mr_op_info op = {.struct_size = sizeof op};
    for (size_t i = 0; mr_op_at(i, &op); i++)
        hint_offer(&hint, op.name);
    fail("%s: there is no operation '%s'%s", call, name, *hint.best ? hint_text(&hint) : "; `millrace ops --all` lists all");
    return false;
}

static int evaluate(const char *call, int style) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *results[64];
    int n = mr_eval(call, results, 64, status);
    bool done = report_call(call, status);
    if (done && style & MR_JSON)
        putchar('[');
    for (int i = 0; i < n; i++) {
        if (style & MR_JSON && i)
            printf(", ");
        print_tensor(results[i], style);
        if (!(style & MR_JSON))
            putchar('\n');
        TF_DeleteTensor(results[i]);
    }
    if (done && style & MR_JSON)
        puts("]");
    TF_DeleteStatus(status);
    return done ? EXIT_DONE : EXIT_FAILED;
}

static int run(int argc, char **argv) {
    int style = MR_SHORT, option;
    while ((option = next_option(&command_eval, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        style = option == 'j' ? MR_JSON : style | MR_LINES;
    }
    if (optind == argc)
        return misuse(&command_eval, "a call is missing");
    for (int i = optind; i < argc; i++) {
        if (!argv[i][strspn(argv[i], " ")])
            return misuse(&command_eval, "a call is empty");
        int code = evaluate(argv[i], style);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

const Command command_eval = {"eval", "calculate a call: millrace eval 'Softmax([[1 2 3]])'", "CALL ...", ABOUT,
                              OPTIONS, EXAMPLES, run};
