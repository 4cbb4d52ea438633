// The environment — see environment.h.
#include "api/environment.h"

#include "api/api.h"
#include "base/log.h"
#include "cluster/server.h"
#include "loops/level/table.h"
#include "millrace/millrace.h"
#include "plan/pass.h"
#include "run/cluster.h"
#include "run/stress.h"

static const EnvVar *const VARIABLES[] = {&log_variable, &loops_variable, &passes_variable, &stress_variable,
                                         &compile_variable, &lane_variable};

Status *environment_check(void) {
    api_begin();  // MILLRACE_PASSES may name rewrites
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        TRY(env_var_check(VARIABLES[i]));
    return OK;
}

void mr_environment_check(TF_Status *status) {
    api_set(status, environment_check());
}

Status *environment_session(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out) {
    TRY(environment_check());
    return session_new(graph, graph_lock, config, out);
}
