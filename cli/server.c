// millrace server — a task of a cluster, which clients of TensorFlow connect to.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "cli.h"
#include "millrace/cluster.h"

static const char ABOUT[] =
    "Runs the graphs of whoever connects: tf.compat.v1.Session(\"grpc://HOST:PORT\") of TensorFlow, and other clients of its "
    "protocol. What a cluster is made of, and which of its tasks this one is, TF_CONFIG says in the environment, or the "
    "options, which win; without either it is a cluster of one task on localhost.\n\n"
    "Anyone who can reach the port can run any graph, with the rights of this process: it listens on the address that the "
    "cluster names for the task, so name a loopback address unless the network is yours.\n";

static const Option OPTIONS[] = {
    {"cluster", "TEXT", "\"ps=HOST:PORT;worker=HOST:PORT,HOST:PORT\", JSON like TF_CONFIG's, or @FILE with either", 'c'},
    {"job", "NAME", "the job of this task", 'j'},
    {"task", "N", "its number in the job", 't'},
    {"port", "N", "the port to listen on, instead of the cluster's", 'p'},
    {0}};

static const char EXAMPLES[] =
    "millrace server --port 2222\n"
    "millrace server --cluster 'worker=localhost:2222' --job worker --task 0\n";

typedef struct {
    char *cluster;
    const char *job;
    int task, port;
} Options;

static bool read_number(const Command *command, const char *name, int most, int *out) {
    char *end;
    long value = strtol(optarg, &end, 10);
    if (!*optarg || *end || value < 0 || value > most) {
        misuse(command, "--%s is %s, expected 0 to %d", name, optarg, most);
        return false;
    }
    *out = (int)value;
    return true;
}

static bool read_cluster(char **out) {
    size_t size;
    free(*out);
    *out = *optarg == '@' ? read_file(optarg + 1, &size) : strdup(optarg);
    return *out != NULL;
}

// 0: go on; else the exit code + 1.
static int read_options(int argc, char **argv, Options *o) {
    for (int option; (option = next_option(&command_server, argc, argv)) != -1;) {
        if (option == 'h')
            return EXIT_DONE + 1;
        if (option == '?')
            return EXIT_USAGE + 1;
        if (option == 'c' && !read_cluster(&o->cluster))
            return EXIT_FAILED + 1;
        if (option == 'j')
            o->job = optarg;
        if (option == 't' && !read_number(&command_server, "task", 1 << 20, &o->task))
            return EXIT_USAGE + 1;
        if (option == 'p' && !read_number(&command_server, "port", 65535, &o->port))
            return EXIT_USAGE + 1;
    }
    if (optind < argc)
        return misuse(&command_server, "'%s' is not an option", argv[optind]) + 1;
    return 0;
}

static TF_Server *start(const Options *o, TF_Status *status) {
    const char *config = getenv("TF_CONFIG");
    TF_Buffer *def = TF_NewBuffer();
    TF_Server *server = NULL;
    mr_server_def(o->cluster ? o->cluster : config, o->job, o->task, o->port, def, status);
    if (TF_GetCode(status) == TF_OK)
        server = TF_NewServer(def->data, def->length, status);
    if (server)
        TF_ServerStart(server, status);
    TF_DeleteBuffer(def);
    return server;
}

// Until Ctrl-C or SIGTERM, which are waited for, so that steps end in order.
static int serve(TF_Server *server, TF_Status *status, const sigset_t *signals) {
    int number = 0;
    printf("listening at %s\n", TF_ServerTarget(server));
    fflush(stdout);
    while (sigwait(signals, &number) != 0)
        continue;
    TF_ServerStop(server, status);
    return number == SIGINT ? 130 : 143;
}

static int run(int argc, char **argv) {
    Options options = {.task = -1};
    int early = read_options(argc, argv, &options), code = EXIT_FAILED;
    if (early) {
        free(options.cluster);
        return early - 1;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);  // before any thread is made
    TF_Status *status = TF_NewStatus();
    TF_Server *server = start(&options, status);
    if (good(status, "server"))
        code = serve(server, status, &signals);
    TF_DeleteServer(server);
    TF_DeleteStatus(status);
    free(options.cluster);
    return code;
}

const Command command_server = {
    .name = "server", .summary = "Be a task of a cluster", .arguments = "", .about = ABOUT, .options = OPTIONS,
    .examples = EXAMPLES, .run = run,
};
