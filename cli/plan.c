// millrace plan — what would run, where, in which order and memory.
#include "cli.h"

static const char ABOUT[] =
    "Shows the plan for a choice of outputs: the nodes in the order in which they run, each with its device and the "
    "size of its result. Inputs settle shapes; without them nothing can be sized beforehand. A target runs and gives "
    "nothing: a training step. With neither --fetch nor --target, everything that no node reads is fetched.\n"
    "\n"
    "  specialised  sized and prepared beforehand\n"
    "  dynamic  sized when it runs\n"
    "  [name]  the implementation, where there are several: loops, winograd, or one of oneDNN's by its own name; "
    "with the bytes that each call lays out anew: weights if they have changed, [n, c, h, w] as [n, h, w, c]\n"
    "  known  known beforehand, or another view of its input: does not run\n"
    "  loop  in the loop above it, sized when its first iteration is over: before it what runs once, then an "
    "iteration\n"
    "\n"
    "The memory of a step is one block, which holds the results of specialised nodes and what their kernels need besides; "
    "its lower bound is the most of it in use at one time, and less where large values are computed again for late "
    "readers instead of being kept. Outside of it lies, each in a buffer of its own, what is read from variables or "
    "kept by them, what is fetched, and the results of dynamic nodes.\n";

static const Option OPTIONS[] = {
    {"input", "NAME=TENSOR", "a tensor as text, x='[[1 2 3]]', or from a file, x=@a.npy; once for each input", 'i'},
    {"fetch", "NAME", "what is to be given; may be repeated", 'f'},
    {"target", "NAME", "a node that is to run; may be repeated", 't'},
    {"dot", NULL, "the plan as a graph for Graphviz", 'g'},
    {"json", NULL, "as JSON", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace plan fashion.pb --input images='uint8 zeros[64 28 28]' --fetch label\n"
    "millrace train --graph training.pb --epochs 0.1\n"
    "millrace plan training.pb --input images='uint8 zeros[64 28 28]' --input labels='uint8 zeros[64]' --input "
    "rate=0.001 --target train_step\n"
    "millrace plan model.pb --json\n"
    "millrace plan fashion.pb --fetch label --dot | dot -Tsvg > fashion.svg\n";

static const char *const MODES[] = {"dynamic", "specialised", "known"};

static void print_node_json(const mr_plan_node *node, bool first) {
    printf("%s\n  {\"name\": ", first ? "" : ",");
    print_json_text(node->name);
    printf(", \"op\": \"%s\", \"device\": \"%s\", \"mode\": \"%s\", \"bytes\": %lld, \"offset\": %lld", node->op,
           node->device, MODES[node->mode], (long long)node->bytes, (long long)node->offset);
    if (node->implementation)
        printf(", \"implementation\": \"%s\"", node->implementation);
    printf(", \"reordered_bytes\": %lld, \"depth\": %d}", (long long)node->reordered_bytes, node->depth);
}

static void print_node(const mr_plan_node *node) {
    const char *device = strstr(node->device, "device:");
    const char *mode = node->depth && node->mode == MR_NODE_DYNAMIC ? "loop" : MODES[node->mode];
    char implementation[200] = "";
    if (node->implementation)
        snprintf(implementation, sizeof implementation, "  [%s%s%s]", node->implementation,
                 node->reordered_bytes ? " reorders " : "",
                 node->reordered_bytes ? human_bytes((double)node->reordered_bytes) : "");
    print_text(stdout, 6, "  %-11s  %-8s %10s  %*s%-20s %s%s", mode, device ? device + 7 : node->device,
               node->bytes > 0 ? human_bytes((double)node->bytes) : "", 2 * node->depth, "", node->op, node->name,
               implementation);
}

const char *plan_memory(const mr_plan_info *info) {
    static char text[320];
    double most = (double)info->arena_bytes, least = (double)info->lower_bound;
    int n = snprintf(text, sizeof text, "memory of a step %s, %.3f times its lower bound of %s", human_bytes(most),
                     least > 0 ? most / least : 1, human_bytes(least));
    if (info->num_recomputed)
        n += snprintf(text + n, sizeof text - (size_t)n, " (%zu values computed again save %s)", info->num_recomputed,
                      human_bytes((double)info->recompute_saves));
    n += snprintf(text + n, sizeof text - (size_t)n, "; outside of it %s", human_bytes((double)info->own_bytes));
    if (info->num_dynamic)
        snprintf(text + n, sizeof text - (size_t)n, " and what %zu dynamic nodes give", info->num_dynamic);
    return text;
}

// A text of Graphviz, with quotes.
static void print_dot_text(const char *text) {
    putchar('"');
    for (; *text; text++)
        printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('"');
}

// Without the output's number behind the name.
static void print_dot_source(const char *edge) {
    char name[512];
    snprintf(name, sizeof name, "%s", edge);
    name[strcspn(name, ":")] = 0;
    print_dot_text(name);
}

static void print_dot_node(const mr_plan_node *node) {
    static const char *const COLOURS[] = {"lightyellow", "lightblue", "lightgrey"};
    char label[600];
    snprintf(label, sizeof label, "%s\n%s%s%s", node->op, node->name, node->bytes > 0 ? "\n" : "",
             node->bytes > 0 ? human_bytes((double)node->bytes) : "");
    printf("  ");
    print_dot_text(node->name);
    printf(" [fillcolor=%s, label=", COLOURS[node->mode]);
    for (char *line = label; line;) {  // \n for Graphviz is two characters
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        if (line == label)
            putchar('"');
        for (char *c = line; *c; c++)
            printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        printf(end ? "\\n" : "\"");
        line = end ? end + 1 : NULL;
    }
    puts("];");
    for (int i = 0; i < node->num_inputs; i++) {
        if (!*node->inputs[i])
            continue;
        printf("  ");
        print_dot_source(node->inputs[i]);
        printf(" -> ");
        print_dot_text(node->name);
        puts(";");
    }
}

static void print_dot(const mr_plan *plan) {
    mr_plan_node node = {.struct_size = sizeof node};
    puts("digraph plan {\n  node [shape=box, style=filled, fillcolor=white, fontname=sans];");
    for (size_t i = 0; mr_plan_node_at(plan, i, &node); i++)
        print_dot_node(&node);
    puts("}");
}

static void print_plan(const mr_plan *plan, bool json) {
    mr_plan_info info = {.struct_size = sizeof info};
    mr_plan_node node = {.struct_size = sizeof node};
    mr_plan_get_info(plan, &info);
    if (json)
        printf("{\"num_nodes\": %zu, \"num_run\": %zu, \"propagated\": %s, \"specialised\": %s, \"arena_bytes\": %lld, "
               "\"lower_bound\": %lld, \"own_bytes\": %lld, \"num_dynamic\": %zu, \"num_reorders\": %zu, "
               "\"reordered_bytes\": %lld, \"num_recomputed\": %zu, \"recompute_saves\": %lld, \"nodes\": [",
               info.num_nodes, info.num_run, info.is_propagated ? "true" : "false", info.is_specialised ? "true" : "false",
               (long long)info.arena_bytes, (long long)info.lower_bound, (long long)info.own_bytes, info.num_dynamic,
               info.num_reorders, (long long)info.reordered_bytes, info.num_recomputed,
               (long long)info.recompute_saves);
    for (size_t i = 0; mr_plan_node_at(plan, i, &node); i++)
        if (json)
            print_node_json(&node, i == 0);
        else
            print_node(&node);
    if (json)
        puts("]}");
    else if (info.is_specialised)
        print_text(stdout, 2, "%zu nodes, %zu of which run; %s; %zu reorders of %s", info.num_nodes, info.num_run,
                   plan_memory(&info), info.num_reorders, human_bytes((double)info.reordered_bytes));
    else
        print_text(stdout, 2, "%zu nodes; %s", info.num_nodes,
                   info.is_propagated ? "control flow: they run as their inputs arrive" : "inputs would tell their sizes");
}

// What the command line chose.
typedef struct {
    char *inputs[MOST_EDGES], *names[MOST_EDGES], *targets[MOST_EDGES];
    int n_inputs, n_names, n_targets;
    bool json, dot;
} Choice;

static int plan_model(const char *path, const Choice *choice) {
    Model model;
    Feeds feeds = {0};
    Fetches fetches = {0};
    const TF_Operation *targets[MOST_EDGES];
    if (!model_open(path, 0, &model))
        return EXIT_FAILED;
    bool done = model_targets(&model, choice->targets, choice->n_targets, targets), sized = choice->n_inputs > 0;
    for (int i = 0; i < choice->n_inputs && done; i++)
        done = feeds_add(&feeds, &model, choice->inputs[i]);
    for (int i = 0; i < choice->n_names && done; i++)
        done = fetches_add(&fetches, &model, choice->names[i]);
    if (done && !fetches.n && !choice->n_targets)
        fetches.n = model_ends(&model, fetches.edges, MOST_EDGES);
    size_t at = 0;
    for (TF_Operation *node; !sized && done && feeds.n < MOST_EDGES &&
         (node = TF_GraphNextOperation(model.graph, &at));)
        if (strcmp(TF_OperationOpType(node), "Placeholder") == 0)
            feeds.edges[feeds.n++] = (TF_Output){node, 0};
    if (done) {
        TF_Status *status = TF_NewStatus();
        mr_plan *plan = mr_plan_new(model.session, feeds.edges, sized ? feeds.values : NULL, feeds.n, fetches.edges,
                                    fetches.n, targets, choice->n_targets, status);
        done = good(status, path);
        if (plan && choice->dot)
            print_dot(plan);
        else if (plan)
            print_plan(plan, choice->json);
        mr_plan_delete(plan);
        TF_DeleteStatus(status);
    }
    if (sized)
        feeds_clear(&feeds);
    fetches_clear(&fetches);
    model_close(&model);
    return done ? EXIT_DONE : EXIT_FAILED;
}

static int run(int argc, char **argv) {
    Choice choice = {0};
    int option;
    while ((option = next_option(&command_plan, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        if (choice.n_inputs == MOST_EDGES || choice.n_names == MOST_EDGES || choice.n_targets == MOST_EDGES)
            return misuse(&command_plan, "at most %d inputs, outputs and targets", MOST_EDGES - 1);
        if (option == 'i')
            choice.inputs[choice.n_inputs++] = optarg;
        if (option == 'f')
            choice.names[choice.n_names++] = optarg;
        if (option == 't')
            choice.targets[choice.n_targets++] = optarg;
        choice.json |= option == 'j';
        choice.dot |= option == 'g';
    }
    if (!one_model(&command_plan, argc, argv))
        return EXIT_USAGE;
    return plan_model(argv[optind], &choice);
}

const Command command_plan = {"plan", "show what would run, in which order and memory", "MODEL", ABOUT, OPTIONS,
                              EXAMPLES, run};
