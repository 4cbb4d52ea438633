// Session — see session.h: which kind it is.
#include "session/session.h"

#include "session/local.h"

const RunSettings run_settings_default = {0};

Status *session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out) {
    return local_session_new(graph, graph_lock, config, out);
}
