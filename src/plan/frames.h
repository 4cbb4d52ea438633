// Frames — which loop each node of a plan runs in.
#pragma once
#include "plan/plan.h"

// Fills plan->frames, the nodes' frame and child, the slots' frame and place. INVALID_ARGUMENT naming a node whose
// inputs come from different frames, or a loop whose parts are missing.
FALLIBLE Status *frames_find(Plan *plan);
