// Event timers — a pairing heap of timers by due time: nothing is allocated, so setting one can't fail.
#pragma once
#include "rpc/event_loop.h"

typedef struct {
    EventTimer *first;  // the one due next
} EventTimers;

void event_timers_add(EventTimers *timers, EventTimer *timer);
void event_timers_remove(EventTimers *timers, EventTimer *timer);
