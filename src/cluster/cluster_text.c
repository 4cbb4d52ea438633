// Cluster text — see cluster_text.h.
#include "cluster/cluster_text.h"

#include "base/json.h"

// ---------------------------------------- "ps=a:1;worker=b:2,c:3"

// The piece before the next `separator`; *rest goes behind it.
static Str next_piece(Str *rest, char separator) {
    const char *end = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
    Str piece = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t taken = piece.n + (end != NULL);
    *rest = (Str){rest->p + taken, rest->n - taken};
    return piece;
}

static size_t count(Str text, char separator) {
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == separator;
    return n;
}

static Status *add_job(Arena *arena, ClusterDef *cluster, Str name, size_t n_tasks, JobDef **out) {
    JobDef *job = &cluster->job.p[cluster->job.n];
    NEED(name.n, INVALID_ARGUMENT, "a job without a name");
    *job = (JobDef){.name = name};
    job->tasks.p = ARENA_ARRAY(arena, Int32ToStringEntry, n_tasks);
    NEED_MEMORY(job->tasks.p);
    cluster->job.n++;
    *out = job;
    return OK;
}

static Status *add_task(JobDef *job, int64_t index, Str address) {
    NEED(index >= 0 && index <= INT32_MAX, INVALID_ARGUMENT, "job '%.*s': task %lld", STR_ARGS(job->name), (long long)index);
    NEED(address.n, INVALID_ARGUMENT, "job '%.*s', task %lld: no address", STR_ARGS(job->name), (long long)index);
    job->tasks.p[job->tasks.n++] = (Int32ToStringEntry){.key = (int32_t)index, .value = address};
    return OK;
}

static Status *read_plain(Arena *arena, Str text, ClusterDef *out) {
    out->job.p = ARENA_ARRAY(arena, JobDef, count(text, ';'));
    NEED_MEMORY(out->job.p);
    while (text.n) {
        Str tasks = next_piece(&text, ';'), name = tasks;
        NEED(memchr(tasks.p, '=', tasks.n), INVALID_ARGUMENT, "'%.*s' is no job: JOB=HOST:PORT,HOST:PORT is expected",
             STR_ARGS(tasks));
        name = next_piece(&tasks, '=');
        JobDef *job;
        TRY(add_job(arena, out, name, count(tasks, ','), &job));
        while (tasks.n)
            TRY(add_task(job, (int64_t)job->tasks.n, next_piece(&tasks, ',')));
        NEED(job->tasks.n, INVALID_ARGUMENT, "job '%.*s' has no task", STR_ARGS(name));
    }
    return OK;
}

// ---------------------------------------- JSON

static size_t length(const Json *value) {
    size_t n = 0;
    for (const Json *item = value->first; item; item = item->next)
        n++;
    return n;
}

// A list of addresses, or an object of them by their tasks' numbers.
static Status *read_tasks(Arena *arena, const Json *tasks, ClusterDef *out) {
    JobDef *job;
    NEED(tasks->kind == JSON_LIST || tasks->kind == JSON_OBJECT, INVALID_ARGUMENT,
         "job '%.*s': a list of addresses is expected", STR_ARGS(tasks->key));
    TRY(add_job(arena, out, tasks->key, length(tasks), &job));
    for (const Json *address = tasks->first; address; address = address->next) {
        int64_t index = (int64_t)job->tasks.n;
        NEED(tasks->kind == JSON_LIST || str_to_int(address->key, &index), INVALID_ARGUMENT,
             "job '%.*s': '%.*s' is no task's number", STR_ARGS(tasks->key), STR_ARGS(address->key));
        NEED(address->kind == JSON_TEXT, INVALID_ARGUMENT, "job '%.*s', task %lld: an address in quotes is expected",
             STR_ARGS(tasks->key), (long long)index);
        TRY(add_task(job, index, address->text));
    }
    return OK;
}

static Status *read_json(Arena *arena, Str text, ServerDef *out) {
    Json *config;
    TRY(json_parse(arena, text, &config));
    const Json *cluster = json_member(config, "cluster"), *task = json_member(config, "task");
    const Json *type = json_member(task, "type"), *index = json_member(task, "index");
    int64_t number = 0;
    cluster = cluster ? cluster : task ? NULL : config;
    NEED(cluster && cluster->kind == JSON_OBJECT, INVALID_ARGUMENT, "\"cluster\" is no object");
    out->cluster->job.p = ARENA_ARRAY(arena, JobDef, length(cluster));
    NEED_MEMORY(out->cluster->job.p);
    for (const Json *tasks = cluster->first; tasks; tasks = tasks->next)
        TRY(read_tasks(arena, tasks, out->cluster));
    NEED(!type || type->kind == JSON_TEXT, INVALID_ARGUMENT, "the task's \"type\" is no text");
    NEED(!index || (str_to_int(index->text, &number) && number >= 0 && number <= INT32_MAX), INVALID_ARGUMENT,
         "the task's \"index\" is no number");
    out->job_name = type ? type->text : (Str){0};
    out->task_index = (int32_t)number;
    return OK;
}

// ---------------------------------------- both

static Str without_blanks(Str text) {
    while (text.n && strchr(" \t\r\n", text.p[0]))
        text = (Str){text.p + 1, text.n - 1};
    while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
        text.n--;
    return text;
}

Status *cluster_text_parse(Str cluster, const char *job, int task, int port, Arena *arena, ServerDef **out) {
    ServerDef *def = ARENA_NEW(arena, ServerDef);
    ClusterDef *jobs = ARENA_NEW(arena, ClusterDef);
    NEED_MEMORY(def && jobs);
    *def = (ServerDef){.cluster = jobs, .protocol = STR("grpc")};
    cluster = without_blanks(cluster);
    if (!cluster.n)
        cluster = STR("local=localhost:0");
    TRY(cluster.p[0] == '{' ? read_json(arena, cluster, def) : read_plain(arena, cluster, jobs));
    NEED(jobs->job.n, INVALID_ARGUMENT, "the cluster has no jobs");
    if (job)
        def->job_name = str_of(job);
    else if (!def->job_name.n && jobs->job.n == 1)
        def->job_name = jobs->job.p[0].name;
    NEED(def->job_name.n, INVALID_ARGUMENT, "which of the cluster's jobs this task is of isn't said");
    if (task >= 0)
        def->task_index = task;
    NEED(port >= 0 && port <= UINT16_MAX, INVALID_ARGUMENT, "port %d, expected 0 to 65535", port);
    def->port = port;
    *out = def;
    return OK;
}
