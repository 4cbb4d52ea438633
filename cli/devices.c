// millrace devices — the devices that a session has here.
#include "cli.h"

static const char ABOUT[] =
    "Lists the devices that a session of this process has: the CPU, and those of the plug-ins that MILLRACE_PJRT names, "
    "paths of libraries that speak PJRT with ':' between them. Behind a path may stand options of its client: "
    "libx.so?preallocate=false.\n";

static const Option OPTIONS[] = {{"json", NULL, "as JSON", 'j'}, {0}};

static const char EXAMPLES[] =
    "millrace devices\n"
    "MILLRACE_PJRT=~/pjrt/libpjrt_cpu.so millrace devices --json\n";

static void print_device(const TF_DeviceList *list, int i, bool json, TF_Status *status) {
    const char *name = TF_DeviceListName(list, i, status), *type = TF_DeviceListType(list, i, status);
    long long bytes = (long long)TF_DeviceListMemoryBytes(list, i, status);
    if (json) {
        printf("%s\n  {\"name\": ", i ? "," : "");
        print_json_text(name);
        printf(", \"type\": ");
        print_json_text(type);
        printf(", \"memory_bytes\": %lld}", bytes);
    } else {
        printf("  %-6s %10s  %s\n", type, human_bytes((double)bytes), name);
    }
}

static int list_devices(bool json, TF_Status *status) {
    TF_Graph *graph = TF_NewGraph();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    TF_DeviceList *list = session ? TF_SessionListDevices(session, status) : NULL;
    int result = good(status, "devices") ? EXIT_DONE : EXIT_FAILED;
    if (json && list)
        printf("[");
    for (int i = 0; list && i < TF_DeviceListCount(list); i++)
        print_device(list, i, json, status);
    if (json && list)
        printf("\n]\n");
    if (list)
        TF_DeleteDeviceList(list);
    if (session)
        TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
    return result;
}

static int run(int argc, char **argv) {
    bool json = false;
    for (int option; (option = next_option(&command_devices, argc, argv)) != -1;) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        json |= option == 'j';
    }
    if (optind < argc)
        return misuse(&command_devices, "takes no argument, not '%s'", argv[optind]);
    TF_Status *status = TF_NewStatus();
    int result = list_devices(json, status);
    TF_DeleteStatus(status);
    return result;
}

const Command command_devices = {
    .name = "devices", .summary = "list the devices that are here", .arguments = "", .about = ABOUT,
    .options = OPTIONS, .examples = EXAMPLES, .run = run,
};
