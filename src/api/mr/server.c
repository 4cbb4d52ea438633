// Servers of the C interface — see millrace/cluster.h.
#include "api/api.h"
#include "cluster/cluster_text.h"
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
