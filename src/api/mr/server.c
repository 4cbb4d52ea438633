// Servers of the C interface — see millrace/cluster.h.
#include <stdlib.h>

#include "api/api.h"
#include "cluster/cluster_text.h"
#include "cluster/scheduler.h"
#include "millrace/cluster.h"

static Status *write_def(const char *cluster, const char *job, int task, int port, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    ServerDef *def;
    TRY(cluster_text_parse(str_of(cluster ? cluster : ""), job, task, port, &arena, &def));
    return buffer_fill_message(out, &message_ServerDef, def);
}

void mr_server_def(const char *cluster, const char *job, int task, int port, TF_Buffer *out, TF_Status *status) {
    api_set(status, write_def(cluster, job, task, port, out));
}

static Status *write_cluster(const char *jobs, const char *hosts, int port, TF_Buffer *out) {
    AUTO(text) Text text = {0};
    TRY(scheduler_cluster(getenv, str_of(jobs), str_of(hosts), port, &text));
    return buffer_fill(out, &text);
}

void mr_scheduler_cluster(const char *jobs, const char *hosts, int port, TF_Buffer *out, TF_Status *status) {
    api_set(status, write_cluster(jobs, hosts, port, out));
}

// ---------------------------------------- who is in it

struct mr_cluster {
    Arena arena;
    ServerDef *def;
    const char *job;
};

static Status *read_cluster(mr_cluster *cluster, const char *text) {
    Str copy = str_copy(&cluster->arena, str_of(text ? text : getenv("TF_CONFIG")));
    NEED_MEMORY(copy.p || !copy.n);
    TRY(cluster_text_parse(copy, NULL, -1, 0, &cluster->arena, &cluster->def));
    cluster->job = str_format(&cluster->arena, "%.*s", STR_ARGS(cluster->def->job_name)).p;
    NEED_MEMORY(cluster->job);
    return OK;
}

mr_cluster *mr_cluster_new(const char *text, TF_Status *status) {
    mr_cluster *cluster = calloc(1, sizeof *cluster);
    Status *error = cluster ? read_cluster(cluster, text) : OUT_OF_MEMORY;
    if (!api_failed(status, error))
        return cluster;
    mr_cluster_delete(cluster);
    return NULL;
}

void mr_cluster_delete(mr_cluster *cluster) {
    if (cluster)
        arena_clear(&cluster->arena);
    free(cluster);
}

const char *mr_cluster_job(const mr_cluster *cluster) {
    return cluster->job;
}

int mr_cluster_task(const mr_cluster *cluster) {
    return cluster->def->task_index;
}

static const JobDef *find_job(const mr_cluster *cluster, const char *name) {
    const ClusterDef *def = cluster->def->cluster;
    for (size_t i = 0; i < def->job.n; i++)
        if (str_is(def->job.p[i].name, name))
            return &def->job.p[i];
    return NULL;
}

int mr_cluster_num_tasks(const mr_cluster *cluster, const char *job) {
    const JobDef *found = find_job(cluster, job);
    return found ? (int)found->tasks.n : 0;
}

const char *mr_cluster_address(const mr_cluster *cluster, const char *job, int task) {
    const JobDef *found = find_job(cluster, job);
    for (size_t i = 0; found && i < found->tasks.n; i++)
        if (found->tasks.p[i].key == task)
            return str_format(&((mr_cluster *)cluster)->arena, "%.*s", STR_ARGS(found->tasks.p[i].value)).p;
    return NULL;
}
