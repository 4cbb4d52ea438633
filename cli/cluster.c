// millrace cluster — a cluster on this machine, for as long as a program runs in it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "processes.h"

static const char ABOUT[] =
    "Starts the tasks of a cluster on this machine, on ports that are free, and ends them when the program has ended, or at "
    "Ctrl-C. What they write comes out line by line, behind the task's name.\n\n"
    "Parameter tasks are servers (`millrace server`). The program runs once for each worker, and TF_CONFIG in its environment "
    "says what the cluster is made of and which task it is: it starts its own server, as programs for TensorFlow do. With "
    "--serve workers are servers too, and the program a client of its worker's, whose address is in MILLRACE_TARGET. Without a "
    "program all tasks are servers, until Ctrl-C.\n\n"
    "A task that is killed stays away, and the others go on. A server that fails ends all. The exit code is that of the first "
    "program that did not end with 0.\n";

static const Option OPTIONS[] = {
    {"ps", "N", "parameter tasks; 1 if not given", 'n'},
    {"workers", "N", "workers; 1 if not given", 'w'},
    {"serve", NULL, "servers for the workers as well, of which the programs are clients", 's'},
    {"port", "N", "the first of the ports; free ones if not given", 'p'},
    {0}};

static const char EXAMPLES[] =
    "millrace cluster --ps 2 --workers 3 -- python3 train.py\n"
    "millrace cluster --ps 1 --workers 2 --serve -- sh -c 'echo $MILLRACE_TARGET'\n"
    "millrace cluster --ps 2 --workers 2\n";

enum { MOST_TASKS = 500, GRACE_MS = 5000, FREE_PORTS = 12000 };

typedef struct {
    int n_ps, n_workers, port;
    bool serve;
    char **program;              // NULL: none
    int ports[MOST_TASKS];       // of parameter tasks, then of workers
    Process processes[2 * MOST_TASKS];   // servers first
    int n_servers, n;
    int signals;
} Cluster;

static bool read_number(int option, int least, int most, int *out) {
    char *end;
    long value = strtol(optarg, &end, 10);
    char takes[64];
    snprintf(takes, sizeof takes, "a whole number from %d to %d", least, most);
    if (!*optarg || *end || value < least || value > most) {
        misuse_value(&command_cluster, option, takes, optarg);
        return false;
    }
    *out = (int)value;
    return true;
}

// 0: go on; else the exit code + 1.
static int read_options(int argc, char **argv, Cluster *c) {
    bool good = true;
    for (int option; (option = next_option(&command_cluster, argc, argv)) != -1 && good;) {
        if (option == 'h')
            return EXIT_DONE + 1;
        if (option == '?')
            return EXIT_USAGE + 1;
        if (option == 'n')
            good = read_number(option, 0, MOST_TASKS / 2, &c->n_ps);
        if (option == 'w')
            good = read_number(option, 1, MOST_TASKS / 2, &c->n_workers);
        if (option == 'p')
            good = read_number(option, 1, 65535 - MOST_TASKS, &c->port);
        c->serve |= option == 's';
    }
    c->program = optind < argc ? argv + optind : NULL;
    return good ? 0 : EXIT_USAGE + 1;
}

// ---------------------------------------- who is where

// Below the ports that the kernel gives to whoever connects: one of those could be somebody's when the server starts.
static int first_free(void) {
    int given = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    if (!file || fscanf(file, "%d", &given) != 1)
        given = 0;
    if (file)
        fclose(file);
    return (given > 2 * FREE_PORTS ? given : 32768) - FREE_PORTS;
}

static bool take_port(int fd, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

// Free ones are all held until each is found, so that they differ.
static bool choose_ports(Cluster *c) {
    int held[MOST_TASKS], n = c->n_ps + c->n_workers, found = 0;
    int first = c->port ? c->port : first_free(), room = c->port ? n : FREE_PORTS, from = c->port ? 0 : getpid() * 67;
    for (int i = 0, error = 0; i < room && found < n && !(c->port && error); i++) {
        int on = 1, port = first + (from + i) % room;
        held[found] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(held[found], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (take_port(held[found], port)) {
            c->ports[found++] = port;
            continue;
        }
        error = errno;
        close(held[found]);
        if (c->port || i == room - 1)
            fail("port %d of localhost is not to be had: %s", port, strerror(error));
    }
    for (int i = 0; i < found; i++)
        close(held[i]);
    return found == n;
}

static void write_job(FILE *out, const char *name, const int *ports, int n) {
    fprintf(out, "\"%s\": [", name);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\"localhost:%d\"", i ? ", " : "", ports[i]);
    fputs("]", out);
}

// TF_CONFIG of a task; NULL when memory is out.
static char *write_config(const Cluster *c, const char *job, int task) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("{\"cluster\": {", out);
    if (c->n_ps)
        write_job(out, "ps", c->ports, c->n_ps);
    fputs(c->n_ps ? ", " : "", out);
    write_job(out, "worker", c->ports + c->n_ps, c->n_workers);
    fprintf(out, "}, \"task\": {\"type\": \"%s\", \"index\": %d}}", job, task);
    return fclose(out) == 0 ? text : NULL;
}

// ---------------------------------------- starting

static bool start(Cluster *c, const char *job, int task, char **argv, bool beside_server) {
    char *config = write_config(c, job, task), target[64] = "";
    Process *p = &c->processes[c->n];
    snprintf(p->name, sizeof p->name, "%s %d%s", job, task, c->serve && !beside_server && strcmp(job, "ps") != 0 ? " server" : "");
    if (beside_server)
        snprintf(target, sizeof target, "grpc://localhost:%d", c->ports[c->n_ps + task]);
    const char *variables[][2] = {{"TF_CONFIG", config}, {beside_server ? "MILLRACE_TARGET" : NULL, target}, {NULL, NULL}};
    bool good = config ? process_start(p, argv, variables) : !fail("memory is out");
    c->n += good;
    free(config);
    return good;
}

static bool start_all(Cluster *c) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return !fail("/proc/self/exe: %s", strerror(errno));
    self[n] = 0;
    char *server[] = {self, "server", NULL};
    bool good = true, serve = c->serve || !c->program;
    for (int i = 0; i < c->n_ps && good; i++)
        good = start(c, "ps", i, server, false);
    for (int i = 0; i < c->n_workers && good && serve; i++)
        good = start(c, "worker", i, server, false);
    c->n_servers = c->n;
    for (int i = 0; i < c->n_workers && good && c->program; i++)
        good = start(c, "worker", i, c->program, c->serve);
    return good;
}

// ---------------------------------------- until the end

static int count_programs(const Cluster *c) {
    int running = 0;
    for (int i = c->n_servers; i < c->n; i++)
        running += c->processes[i].pid != 0;
    return running;
}

// Says who has ended otherwise than well, once; true where a server has failed.
static bool look_at_ends(const Cluster *c, bool *told) {
    bool failed = false;
    for (int i = 0; i < c->n; i++) {
        const Process *p = &c->processes[i];
        int code = process_code(p);
        if (p->pid || told[i])
            continue;
        told[i] = true;
        if (code > 128)
            fail("%s was ended by signal %d", p->name, code - 128);
        else if (code || i < c->n_servers)
            fail("%s ended with code %d", p->name, code);
        failed |= i < c->n_servers && code <= 128;
    }
    return failed;
}

static int first_code(const Cluster *c) {
    for (int i = c->n_servers; i < c->n; i++)
        if (process_code(&c->processes[i]))
            return process_code(&c->processes[i]);
    return EXIT_DONE;
}

static int run_all(Cluster *c) {
    bool told[2 * MOST_TASKS] = {false}, good = start_all(c), failed = !good;
    int number = 0, code;
    while (!failed && (!c->program || count_programs(c))) {
        number = processes_wait(c->processes, c->n, c->signals, -1);
        if (number == SIGINT || number == SIGTERM)
            break;
        failed = look_at_ends(c, told);
    }
    code = failed ? EXIT_FAILED : number == SIGINT || number == SIGTERM ? 128 + number : first_code(c);
    processes_end(c->processes, c->n, c->signals, GRACE_MS);
    for (int i = 0; i < c->n; i++)
        process_clear(&c->processes[i]);
    return code;
}

static int run(int argc, char **argv) {
    Cluster *c = calloc(1, sizeof *c);
    if (!c)
        return fail("memory is out");
    c->n_ps = c->n_workers = 1;
    int early = read_options(argc, argv, c), code = EXIT_FAILED;
    if (!early) {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        c->signals = signalfd(-1, &signals, SFD_CLOEXEC);
        if (c->signals < 0)
            fail("signalfd: %s", strerror(errno));
        else if (choose_ports(c))
            code = run_all(c);
    }
    free(c);
    return early ? early - 1 : code;
}

const Command command_cluster = {
    .name = "cluster", .summary = "Run a program in a cluster on this machine", .arguments = "[-- PROGRAM [ARGUMENTS]]", .about = ABOUT,
    .options = OPTIONS, .examples = EXAMPLES, .run = run,
};
