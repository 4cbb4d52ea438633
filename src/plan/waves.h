// Waves — the order of a list that waits for started nodes (a dequeue) and stays a list.
//
// Wave 0 is all that needs no started node, started nodes among it as early as they can be; then the list waits for
// these; wave 1 is all that needs only those, and so on. Waiting holds up what would not have had to wait. So that none
// of it is what the waiting needs (the enqueue of another queue in the same step), whatever others can see, started
// nodes and state other than variables, must need all started nodes of the waves before it; else the plan is
// propagated.
#pragma once
#include "plan/pass.h"

// Fills plan->waves and plan->starts and arranges `order`; leaves all as it is where the plan is no such list. Fetches
// have the mark -1, other nodes get one.
FALLIBLE Status *waves_find(Plan *plan, Node **order, size_t n);
