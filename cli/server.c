// millrace server — a task of a cluster, which clients of TensorFlow connect to.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "cli.h"
#include "millrace/cluster.h"

static const char ABOUT[] =
    "Runs the graphs of whoever connects: tf.compat.v1.Session(\"grpc://HOST:PORT\") of TensorFlow, and other clients of its "
    "protocol. What a cluster is made of, and which of its tasks this one is, TF_CONFIG says in the environment, or the "
    "options, which win; without either it is a cluster of one task on localhost. With --jobs it is made of the processes that a "
    "scheduler has started: Slurm, OpenMPI and other process managers that speak PMI, or a Kubernetes Indexed Job.\n\n"
    "At SIGTERM it begins no more steps, and ends with code 0 when those that run have ended; with 143 at a second SIGTERM, or "
    "with --jobs, since a scheduler would take 0 for the end of the job. At Ctrl-C it ends at once, with code 130.\n\n"
    "With --jobs and a program, tasks of every job but \"ps\" become that program, which finds all this in TF_CONFIG and starts its own "
    "server.\n\n"
    "Anyone who can reach the port can run any graph, with the rights of this process: it listens on the address that the "
    "cluster names for the task, so name a loopback address unless the network is yours.\n";

static const Option OPTIONS[] = {
    {"cluster", "TEXT", "\"ps=HOST:PORT;worker=HOST:PORT,HOST:PORT\", JSON like TF_CONFIG's, or @FILE with either", 'c'},
    {"job", "NAME", "the job of this task", 'j'},
    {"task", "N", "its number in the job", 't'},
    {"port", "N", "the port to listen on, instead of the cluster's; with --jobs that of the first task on each host, else 2222", 'p'},
    {"jobs", "TEXT", "of which jobs the processes are, in their order: \"ps=2,worker\", two and all others", 'J'},
    {"drain", "SECONDS", "that steps have to end after SIGTERM; 10", 'd'},
    {"hosts", "TEXT", "with --jobs: where they are, if the scheduler doesn't tell: \"a,node[1-3]\"", 'H'},
    {0}};

static const char EXAMPLES[] =
    "millrace server --port 2222\n"
    "millrace server --cluster 'worker=localhost:2222' --job worker --task 0\n"
    "srun --ntasks 5 --wait 30 millrace server --jobs ps=2,worker -- python3 train.py\n";

typedef struct {
    char *cluster;
    const char *job, *jobs, *hosts;
    int task, port;
    int drain;               // seconds
    char **program;
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

static bool read_numbers(int option, Options *o) {
    switch (option) {
    case 't':
        return read_number(&command_server, "task", 1 << 20, &o->task);
    case 'p':
        return read_number(&command_server, "port", 65535, &o->port);
    case 'd':
        return read_number(&command_server, "drain", 1 << 20, &o->drain);
    default:
        return true;
    }
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
        if (!read_numbers(option, o))
            return EXIT_USAGE + 1;
        if (option == 'j')
            o->job = optarg;
        if (option == 'J')
            o->jobs = optarg;
        if (option == 'H')
            o->hosts = optarg;
    }
    o->program = optind < argc ? argv + optind : NULL;
    if (o->program && strcmp(argv[optind - 1], "--") != 0)
        return misuse(&command_server, "'%s' is not an option; programs stand behind --", argv[optind]) + 1;
    if (o->jobs && o->cluster)
        return misuse(&command_server, "--cluster and --jobs both say what the cluster is made of") + 1;
    if (!o->jobs && (o->hosts || o->program))
        return misuse(&command_server, "%s with --jobs only", o->hosts ? "--hosts goes" : "a program goes") + 1;
    return 0;
}

// --jobs: what TF_CONFIG would hold, as the cluster.
static char *ask_scheduler(const Options *o, TF_Status *status) {
    enum { USUAL_PORT = 2222 };
    TF_Buffer *config = TF_NewBuffer();
    mr_scheduler_cluster(o->jobs, o->hosts, o->port ? o->port : USUAL_PORT, config, status);
    char *cluster = TF_GetCode(status) == TF_OK ? strdup(config->data) : NULL;
    TF_DeleteBuffer(config);
    return cluster;
}

// Whether the program is this task, and not a server.
static bool is_for_program(const Options *o, TF_Status *status) {
    mr_cluster *cluster = o->program ? mr_cluster_new(o->cluster, status) : NULL;
    bool is = cluster && strcmp(mr_cluster_job(cluster), "ps") != 0;
    mr_cluster_delete(cluster);
    return is;
}

// Does not come back but for a failure.
static int become(const Options *o) {
    setenv("TF_CONFIG", o->cluster, 1);
    execvp(o->program[0], o->program);
    fail("%s: %s", o->program[0], strerror(errno));
    return 127;
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

// Lets steps end, until a second signal; whether it came.
static bool drain(TF_Server *server, int seconds, TF_Status *status, const sigset_t *signals) {
    enum { LOOK = 100 };
    bool over = false, hurried = false;
    for (int64_t ms = 0; ms < 1000 * (int64_t)seconds && !over && !hurried; ms += LOOK) {
        mr_server_drain(server, LOOK, status);
        over = TF_GetCode(status) != TF_DEADLINE_EXCEEDED;
        hurried = !over && sigtimedwait(signals, NULL, &(struct timespec){0}) > 0;
    }
    return hurried;
}

// Until Ctrl-C or SIGTERM, which are waited for, so that steps end in order. Schedulers would take 0 for the end of their job.
static int serve(TF_Server *server, TF_Status *status, const sigset_t *signals, const Options *options) {
    int number = 0;
    printf("listening at %s\n", TF_ServerTarget(server));
    fflush(stdout);
    while (sigwait(signals, &number) != 0)
        continue;
    bool hurried = number == SIGTERM && drain(server, options->drain, status, signals);
    TF_ServerStop(server, status);
    return number == SIGINT ? 130 : hurried || options->jobs ? 143 : 0;
}

static int be_server(const Options *options, TF_Status *status) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);  // before any thread is made
    TF_Server *server = start(options, status);
    int code = good(status, "server") ? serve(server, status, &signals, options) : EXIT_FAILED;
    TF_DeleteServer(server);
    return code;
}

static int run(int argc, char **argv) {
    Options options = {.task = -1, .drain = 10};
    int early = read_options(argc, argv, &options), code = EXIT_FAILED;
    if (early) {
        free(options.cluster);
        return early - 1;
    }
    TF_Status *status = TF_NewStatus();
    if (options.jobs) {
        free(options.cluster);
        options.cluster = ask_scheduler(&options, status);
        options.port = 0;
    }
    if (TF_GetCode(status) == TF_OK && is_for_program(&options, status))
        code = become(&options);
    else if (good(status, "server"))
        code = be_server(&options, status);
    TF_DeleteStatus(status);
    free(options.cluster);
    return code;
}

const Command command_server = {
    .name = "server", .summary = "Be a task of a cluster", .arguments = "[-- PROGRAM [ARGUMENTS]]", .about = ABOUT, .options = OPTIONS,
    .examples = EXAMPLES, .run = run,
};
