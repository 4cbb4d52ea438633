// millrace plan — what would run, where, in which order and memory.
#include "cli.h"

static const char HELP[] =
    "usage: millrace plan MODEL [--input NAME=TENSOR] [--input NAME=@FILE] [--fetch NAME] ... [--json]\n"
    "\n"
    "Shows the plan for a choice of outputs: the nodes in the order in which they run, each with its device and the\n"
    "place of its result in the memory of a step. Inputs settle shapes; without them nothing can be sized beforehand.\n"
    "Without --fetch, everything that no node reads is fetched.\n"
    "\n"
    "  fixed   sized and prepared beforehand       late   sized when it runs\n"
    "  [name]  the implementation, where there are several: loops, winograd, or one of oneDNN's by its own name\n"
    "  done    known beforehand, or another view of its input: does not run\n"
    "\n"
    "Examples:\n"
    "  millrace plan fashion.pb --input images='uint8 zeros[64 28 28]' --fetch label\n"
    "  millrace plan model.pb --json\n";

static const char *const MODES[] = {"late", "fixed", "done"};

static void print_node(const mr_plan_node *node, bool json, bool first) {
    if (!json) {
        const char *device = strstr(node->device, "device:");
        const char *how = node->implementation;
        printf("  %-5s  %-8s %10s  %-20s %s%s%s%s\n", MODES[node->mode], device ? device + 7 : node->device,
               node->bytes > 0 ? human_bytes((double)node->bytes) : "", node->op, node->name, how ? "  [" : "",
               how ? how : "", how ? "]" : "");
        return;
    }
    printf("%s\n  {\"name\": ", first ? "" : ",");
    print_json_text(node->name);
    printf(", \"op\": \"%s\", \"device\": \"%s\", \"mode\": \"%s\", \"bytes\": %lld, \"offset\": %lld", node->op,
           node->device, MODES[node->mode], (long long)node->bytes, (long long)node->offset);
    if (node->implementation)
        printf(", \"implementation\": \"%s\"", node->implementation);
    printf("}");
}

static void print_plan(const mr_plan *plan, bool json) {
    mr_plan_info info = {.struct_size = sizeof info};
    mr_plan_node node = {.struct_size = sizeof node};
    mr_plan_get_info(plan, &info);
    if (json)
        printf("{\"num_nodes\": %zu, \"num_run\": %zu, \"dynamic\": %s, \"fixed\": %s, \"arena_bytes\": %lld, "
               "\"lower_bound\": %lld, \"nodes\": [",
               info.num_nodes, info.num_run, info.is_dynamic ? "true" : "false", info.is_fixed ? "true" : "false",
               (long long)info.arena_bytes, (long long)info.lower_bound);
    for (size_t i = 0; mr_plan_node_at(plan, i, &node); i++)
        print_node(&node, json, i == 0);
    if (json)
        puts("]}");
    else if (info.is_fixed)
        printf("%zu nodes, %zu of which run; memory of a step %s, lower bound %s\n", info.num_nodes, info.num_run,
               human_bytes((double)info.arena_bytes), human_bytes((double)info.lower_bound));
    else
        printf("%zu nodes; %s\n", info.num_nodes,
               info.is_dynamic ? "control flow: they run as their inputs arrive" : "inputs would tell their sizes");
}

static int plan_model(const char *path, char *const *inputs, int n_inputs, char *const *names, int n_names, bool json) {
    Model model;
    Feeds feeds = {0};
    Fetches fetches = {0};
    if (!model_open(path, &model))
        return EXIT_FAILED;
    bool done = true, sized = n_inputs > 0;
    for (int i = 0; i < n_inputs && done; i++)
        done = feeds_add(&feeds, &model, inputs[i]);
    for (int i = 0; i < n_names && done; i++)
        done = fetches_add(&fetches, &model, names[i]);
    if (done && !fetches.n)
        fetches.n = model_ends(&model, fetches.edges, MOST_EDGES);
    size_t at = 0;
    for (TF_Operation *node; !sized && done && feeds.n < MOST_EDGES && (node = TF_GraphNextOperation(model.graph, &at));)
        if (strcmp(TF_OperationOpType(node), "Placeholder") == 0)
            feeds.edges[feeds.n++] = (TF_Output){node, 0};
    if (done) {
        TF_Status *status = TF_NewStatus();
        mr_plan *plan = mr_plan_new(model.session, feeds.edges, sized ? feeds.values : NULL, feeds.n, fetches.edges,
                                    fetches.n, NULL, 0, status);
        done = good(status, path);
        if (plan)
            print_plan(plan, json);
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
    static const struct option OPTIONS[] = {
        {"help", no_argument, NULL, 'h'}, {"json", no_argument, NULL, 'j'}, {"input", required_argument, NULL, 'i'},
        {"fetch", required_argument, NULL, 'f'}, {0}};
    char *inputs[MOST_EDGES], *names[MOST_EDGES];
    int n_inputs = 0, n_names = 0, option;
    bool json = false;
    while ((option = next_option(&command_plan, argc, argv, OPTIONS)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        if (n_inputs == MOST_EDGES || n_names == MOST_EDGES)
            return misuse(&command_plan, "at most %d inputs and outputs", MOST_EDGES - 1);
        if (option == 'i')
            inputs[n_inputs++] = optarg;
        if (option == 'f')
            names[n_names++] = optarg;
        json |= option == 'j';
    }
    if (argc - optind != 1)
        return misuse(&command_plan, "one model is expected");
    return plan_model(argv[optind], inputs, n_inputs, names, n_names, json);
}

const Command command_plan = {"plan", "show what would run, in which order and memory", HELP, run};
