// Scheduler — see scheduler.h.
#include "cluster/scheduler.h"

#include <stdio.h>

enum { MOST_PROCESSES = 1 << 16, MOST_JOBS = 16, LONGEST_HOST = 256 };

typedef struct {
    Str name;
    int64_t n;
} Job;

typedef struct {
    SchedulerVariable *variable;
    Arena arena;
    int64_t rank, size;          // size 0: as many as hosts
    Str hosts, counts;           // Slurm's notations: "n[1-3]", "2(x3),1"; empty: not told
    Str *names;                  // of hosts
    int64_t n_names;
    Str *addresses;              // of processes
    Job jobs[MOST_JOBS];
    int n_jobs;
} Schedule;

// ---------------------------------------- reading

static Status *read_count(Str text, const char *what, int64_t least, int64_t *out) {
    NEED(str_to_int(text, out) && *out >= least && *out <= MOST_PROCESSES, INVALID_ARGUMENT,
         "%s is '%.*s', expected a number from %lld to %d", what, STR_ARGS(text), (long long)least, MOST_PROCESSES);
    return OK;
}

static Str variable_of(const Schedule *s, const char *name) {
    return str_of(s->variable(name));
}

static Str first_of(const Schedule *s, const char *name, const char *other) {
    Str value = variable_of(s, name);
    return value.n ? value : variable_of(s, other);
}

static Status *read_number(const Schedule *s, const char *name, int64_t least, int64_t *out) {
    return read_count(variable_of(s, name), name, least, out);
}

// mpirun and its like may have been started by srun, whose number is then that of their own helper: they win.
static Status *read_schedule(Schedule *s) {
    static const char *const KINDS[][3] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}};
    for (int i = 0; i < 2; i++) {
        if (!variable_of(s, KINDS[i][0]).n)
            continue;
        TRY(read_number(s, KINDS[i][1], 1, &s->size));
        if (!s->hosts.n && str_equal(variable_of(s, KINDS[i][1]), variable_of(s, KINDS[i][2])))
            s->hosts = STR("localhost");
        if (!s->hosts.n)
            s->hosts = first_of(s, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
        return read_number(s, KINDS[i][0], 0, &s->rank);
    }
    if (variable_of(s, "SLURM_PROCID").n) {
        TRY(read_count(first_of(s, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), "SLURM_NTASKS", 1, &s->size));
        s->counts = s->hosts.n ? s->counts : first_of(s, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
        s->hosts = s->hosts.n ? s->hosts : first_of(s, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
        return read_number(s, "SLURM_PROCID", 0, &s->rank);
    }
    NEED(variable_of(s, "JOB_COMPLETION_INDEX").n, NOT_FOUND,
         "no scheduler has started this process: none of OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID and "
         "JOB_COMPLETION_INDEX is set");
    NEED(s->hosts.n, INVALID_ARGUMENT, "Kubernetes doesn't tell where the others are: name the hosts, \"NAME-[0-4].SERVICE\"");
    return read_number(s, "JOB_COMPLETION_INDEX", 0, &s->rank);
}

// ---------------------------------------- hosts

static Str cut(Str text, size_t from, size_t to) {
    return (Str){text.p + from, to - from};
}

// Up to the next comma outside brackets.
static size_t item_length(Str text) {
    size_t i = 0;
    for (int depth = 0; i < text.n && (depth || text.p[i] != ','); i++)
        depth += text.p[i] == '[' ? 1 : text.p[i] == ']' ? -1 : 0;
    return i;
}

static size_t find(Str text, char wanted) {
    const char *at = text.n ? memchr(text.p, wanted, text.n) : NULL;
    return at ? (size_t)(at - text.p) : text.n;
}

static Status *add_host(Schedule *s, Str name) {
    NEED(name.n && name.n < LONGEST_HOST, INVALID_ARGUMENT, "'%.*s' is no host's name", STR_ARGS(name));
    for (size_t i = 0; i < name.n; i++)
        NEED(strchr("-._:", name.p[i]) || (name.p[i] >= '0' && name.p[i] <= '9') || ((name.p[i] | 32) >= 'a' && (name.p[i] | 32) <= 'z'),
             INVALID_ARGUMENT, "'%.*s' is no host's name", STR_ARGS(name));
    NEED(s->n_names < MOST_PROCESSES, INVALID_ARGUMENT, "more than %d hosts", MOST_PROCESSES);
    s->names[s->n_names++] = name;
    return OK;
}

static Status *add_hosts(Schedule *s, Str text);

// "a-b" or "a" of what stands in brackets, with the zeros that a begins with, between what is left and right of them.
static Status *add_range(Schedule *s, Str left, Str range, Str right) {
    size_t dash = find(range, '-');
    Str low = cut(range, 0, dash), high = dash < range.n ? cut(range, dash + 1, range.n) : low;
    int64_t from, to;
    TRY(read_count(low, "a host's number", 0, &from));
    TRY(read_count(high, "a host's number", from, &to));
    for (int64_t i = from; i <= to; i++) {
        Str name = str_format(&s->arena, "%.*s%0*lld%.*s", STR_ARGS(left), (int)low.n, (long long)i, STR_ARGS(right));
        NEED_MEMORY(name.p);
        TRY(add_hosts(s, name));
    }
    return OK;
}

static Status *add_hosts(Schedule *s, Str text) {
    while (text.n) {
        size_t n = item_length(text), open = find(cut(text, 0, n), '['), close = find(cut(text, 0, n), ']');
        Str item = cut(text, 0, n);
        NEED(n < 4 * LONGEST_HOST, INVALID_ARGUMENT, "%zu letters are no host's name", n);
        if (open == n)
            TRY(add_host(s, item));
        NEED(open == n || (close < n && open < close), INVALID_ARGUMENT, "'%.*s': a bracket is open", STR_ARGS(item));
        for (Str ranges = cut(item, open + (open < n), open < n ? close : n); ranges.n && open < n;) {
            size_t m = find(ranges, ',');
            TRY(add_range(s, cut(item, 0, open), cut(ranges, 0, m), cut(item, close + 1, n)));
            ranges = cut(ranges, m + (m < ranges.n), ranges.n);
        }
        text = cut(text, n + (n < text.n), text.n);
    }
    return OK;
}

// ---------------------------------------- addresses

static Status *add_addresses(Schedule *s, int64_t *used, int64_t host, int64_t n, int port) {
    NEED(host < s->n_names && *used + n <= s->size, INVALID_ARGUMENT,
         "%lld processes on %lld hosts, and Slurm's '%.*s' says otherwise", (long long)s->size, (long long)s->n_names,
         STR_ARGS(s->counts));
    NEED(port + n - 1 <= UINT16_MAX, INVALID_ARGUMENT, "port %d, the first of %lld, expected 1 to 65535", port,
         (long long)n);
    for (int64_t i = 0; i < n; i++) {
        Str address = str_format(&s->arena, "%.*s:%lld", STR_ARGS(s->names[host]), (long long)port + i);
        NEED_MEMORY(address.p);
        s->addresses[(*used)++] = address;
    }
    return OK;
}

// "2(x3),1": two processes on each of three hosts, one on the next.
static Status *place_by_counts(Schedule *s, int port) {
    int64_t used = 0, host = 0;
    for (Str rest = s->counts; rest.n;) {
        size_t n = find(rest, ','), open = find(cut(rest, 0, n), '(');
        int64_t each, times = 1;
        TRY(read_count(cut(rest, 0, open), "Slurm's processes of a node", 1, &each));
        if (open < n)
            NEED(n - open > 3 && rest.p[open + 1] == 'x' && rest.p[n - 1] == ')', INVALID_ARGUMENT,
                 "Slurm's processes of nodes are '%.*s'", STR_ARGS(s->counts));
        if (open < n)
            TRY(read_count(cut(rest, open + 2, n - 1), "Slurm's nodes", 1, &times));
        for (int64_t i = 0; i < times; i++)
            TRY(add_addresses(s, &used, host++, each, port));
        rest = cut(rest, n + (n < rest.n), rest.n);
    }
    NEED(used == s->size, INVALID_ARGUMENT, "Slurm's processes of nodes are '%.*s', %lld in all; there are %lld",
         STR_ARGS(s->counts), (long long)used, (long long)s->size);
    return OK;
}

static Status *place(Schedule *s, int port) {
    int64_t used = 0;
    NEED(s->n_names, INVALID_ARGUMENT, "where the processes are isn't told: name the hosts");
    s->size = s->size ? s->size : s->n_names;
    NEED(s->rank < s->size, INVALID_ARGUMENT, "process %lld of %lld", (long long)s->rank, (long long)s->size);
    s->addresses = ARENA_ARRAY(&s->arena, Str, (size_t)s->size);
    NEED_MEMORY(s->addresses);
    if (s->counts.n)
        return place_by_counts(s, port);
    NEED(s->size % s->n_names == 0, INVALID_ARGUMENT, "%lld processes don't share %lld hosts evenly", (long long)s->size,
         (long long)s->n_names);
    for (int64_t i = 0; i < s->n_names; i++)
        TRY(add_addresses(s, &used, i, s->size / s->n_names, port));
    return OK;
}

// ---------------------------------------- jobs

static Status *read_jobs(Schedule *s, Str text) {
    int64_t given = 0;
    Job *open = NULL;
    text = text.n ? text : STR("worker");
    while (text.n) {
        size_t n = find(text, ','), equal = find(cut(text, 0, n), '=');
        NEED(s->n_jobs < MOST_JOBS, INVALID_ARGUMENT, "more than %d jobs", MOST_JOBS);
        Job *job = &s->jobs[s->n_jobs++];
        *job = (Job){.name = cut(text, 0, equal)};
        NEED(equal && find(job->name, '"') == equal && find(job->name, '\\') == equal, INVALID_ARGUMENT,
             "'%.*s' is no job's name", STR_ARGS(job->name));
        if (equal < n)
            TRY(read_count(cut(text, equal + 1, n), "a job's number of tasks", 1, &job->n));
        NEED(equal < n || !open, INVALID_ARGUMENT, "'%.*s' and '%.*s' both take the rest", STR_ARGS(open ? open->name : (Str){0}),
             STR_ARGS(job->name));
        open = equal < n ? open : job;
        given += job->n;
        text = cut(text, n + (n < text.n), text.n);
    }
    if (open)
        open->n = s->size - given;
    NEED(open ? open->n > 0 : given == s->size, INVALID_ARGUMENT, "the jobs take %lld processes%s, there are %lld",
         (long long)given, open ? " and more" : "", (long long)s->size);
    return OK;
}

static void write_config(const Schedule *s, Text *out) {
    const Job *own = s->jobs;
    int64_t first = 0, index = s->rank;
    text_add(out, STR("{\"cluster\": {"));
    for (const Job *job = s->jobs; job < s->jobs + s->n_jobs; first += job++->n) {
        text_format(out, "%s\"%.*s\": [", first ? ", " : "", STR_ARGS(job->name));
        for (int64_t i = 0; i < job->n; i++)
            text_format(out, "%s\"%.*s\"", i ? ", " : "", STR_ARGS(s->addresses[first + i]));
        text_char(out, ']');
        if (s->rank >= first) {
            own = job;
            index = s->rank - first;
        }
    }
    text_format(out, "}, \"task\": {\"type\": \"%.*s\", \"index\": %lld}}", STR_ARGS(own->name), (long long)index);
}

static Status *fill(Schedule *s, Str jobs, int port, Text *out) {
    NEED(port > 0 && port <= UINT16_MAX, INVALID_ARGUMENT, "port %d, expected 1 to 65535", port);
    s->names = ARENA_ARRAY(&s->arena, Str, MOST_PROCESSES);
    NEED_MEMORY(s->names);
    TRY(read_schedule(s));
    TRY(add_hosts(s, s->hosts));
    TRY(place(s, port));
    TRY(read_jobs(s, jobs));
    write_config(s, out);
    NEED_MEMORY(!out->failed);
    return OK;
}

Status *scheduler_cluster(SchedulerVariable *variable, Str jobs, Str hosts, int port, Text *out) {
    Schedule s = {.variable = variable, .hosts = hosts};
    Status *status = fill(&s, jobs, port, out);
    arena_clear(&s.arena);
    return status;
}
