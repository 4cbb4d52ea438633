// millrace ops — what operations there are, and what each can do.
#include "cli.h"

static const char ABOUT[] =
    "Lists the operations that can run, or tells everything about one.\n";

static const Option OPTIONS[] = {
    {"all", NULL, "also those that graphs may hold but that can't run here", 'a'},
    {"json", NULL, "as JSON", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace ops\n"
    "millrace ops Conv2D\n"
    "millrace ops 'Resource*' --json\n";

static const char *const GRADIENTS[] = {"none", "zero", "yes"};

static void print_types(const mr_op_info *op) {
    if (op->num_dtypes < 0)
        printf("\"any\"");
    else
        putchar('[');
    for (int i = 0; i < op->num_dtypes; i++)
        printf("%s\"%s\"", i ? ", " : "", mr_dtype_name(op->dtypes[i]));
    if (op->num_dtypes >= 0)
        putchar(']');
}

static void print_type_list(const mr_op_info *op) {
    char text[1024] = "any";
    size_t n = 0;
    for (int i = 0; i < op->num_dtypes; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "", mr_dtype_name(op->dtypes[i]));
    print_wrapped(stdout, text, strlen(text), printf("  types: "), 4);
}

static void print_one(const mr_op_info *op, bool json) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *text = TF_NewBuffer();
    mr_op_signature(op->name, text, status);
    const char *signature = TF_GetCode(status) == TF_OK ? text->data : "";
    if (json) {
        printf("{\"name\": \"%s\", \"signature\": ", op->name);
        print_json_text(signature);
        printf(", \"doc\": ");
        print_json_text(op->doc);
        printf(", \"runs\": %s, \"stateful\": %s, \"composed\": %s, \"gradient\": \"%s\", \"dtypes\": ",
               op->has_kernel ? "true" : "false", op->is_stateful ? "true" : "false",
               op->is_composed ? "true" : "false", GRADIENTS[op->gradient]);
        print_types(op);
        putchar('}');
    } else {
        print_wrapped(stdout, signature, strlen(signature), 0, 4);
        if (*op->doc)
            print_wrapped(stdout, op->doc, strlen(op->doc), printf("  "), 2);
        printf("  runs: %s\n  gradient: %s\n", !op->has_kernel ? "no" : op->is_composed
               ? "as a graph of simpler ops" : "yes", GRADIENTS[op->gradient]);
        if (op->has_kernel && !op->is_composed) {
            print_type_list(op);
        }
    }
    TF_DeleteBuffer(text);
    TF_DeleteStatus(status);
}

static bool matches(const char *name, const char *pattern) {
    size_t n = pattern ? strlen(pattern) : 0;
    if (!pattern)
        return true;
    return n && pattern[n - 1] == '*' ? strncmp(name, pattern, n - 1) == 0 : strcmp(name, pattern) == 0;
}

// The name, and in a second column what it is for.
static void print_op(const mr_op_info *op) {
    const char *doc = *op->doc ? op->doc : "(known by its signature only)";
    print_text(stdout, text_width(stdout) < 80 ? 4 : 45, "%-44s %s", op->name, doc);
}

static int report_op(const char *name) {
    Hint hint = {.wanted = name};
    mr_op_info op = {.struct_size = sizeof op};
    for (size_t i = 0; mr_op_at(i, &op); i++)
        hint_offer(&hint, op.name);
    return fail("there is no operation '%s'%s", name, *hint.best ? hint_text(&hint)
                : "; `millrace ops --all` lists all");
}

static int list(const char *pattern, bool all, bool json) {
    size_t shown = 0, runs = 0, differentiable = 0;
    mr_op_info op = {.struct_size = sizeof op};
    if (json)
        putchar('[');
    for (size_t i = 0; mr_op_at(i, &op); i++) {
        if (!matches(op.name, pattern) || (!all && !op.has_kernel) || op.name[0] == '_')
            continue;
        runs += op.has_kernel != 0;
        differentiable += op.has_kernel && op.gradient == MR_GRADIENT_DEFINED;
        if (json) {
            printf("%s", shown ? ",\n " : "");
            print_one(&op, true);
        } else {
            print_op(&op);
        }
        shown++;
    }
    if (json)
        puts("]");
    else if (shown)
        print_text(stdout, 0, "\n%zu operations, %zu of which run, %zu with a gradient.", shown, runs, differentiable);
    return shown || json ? EXIT_DONE : fail("there is no operation like '%s'; `millrace ops --all` lists all", pattern ? pattern : "");
}

static int run(int argc, char **argv) {
    bool json = false, all = false;
    int option;
    while ((option = next_option(&command_ops, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        json |= option == 'j';
        all |= option == 'a';
    }
    if (argc - optind > 1)
        return misuse(&command_ops, "one name at most; '%s' is one too many", argv[optind + 1]);
    const char *pattern = optind < argc ? argv[optind] : NULL;
    if (!pattern || strchr(pattern, '*'))
        return list(pattern, all, json);
    mr_op_info op = {.struct_size = sizeof op};
    if (!mr_op_find(pattern, &op))
        return report_op(pattern);
    print_one(&op, json);
    if (json)
        putchar('\n');
    return EXIT_DONE;
}

const Command command_ops = {"ops", "list the operations, or tell about one", "[NAME | PREFIX*]", ABOUT, OPTIONS,
                             EXAMPLES, run};
