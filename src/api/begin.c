// What must have happened before a client builds anything: the graph layer knows the ops that were compiled in.
#include "api/api.h"
#include "ops/all_ops.h"

void api_begin(void) {
    op_table_set(all_ops, all_rewrites);
}
