// What must have happened before a client builds anything: the graph layer knows our ops.
#include "api/api.h"

void api_begin(void) {
}
