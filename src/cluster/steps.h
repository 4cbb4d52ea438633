// Steps — the steps that run on this task, whoever began them: where their parts meet, by the step's number.
//
// What comes from other tasks is asked for by RecvTensor; what goes there lies here until they ask. A step begins with the
// first who names it, which may be another task that asks for a value long before the step runs here.
#pragma once
#include "cluster/parts.h"
#include "run/rendezvous.h"

typedef struct Steps Steps;

FALLIBLE Status *steps_new(Steps **out);
// Ends all.
void steps_free(Steps *steps);

// Where the parts of the step on this task meet those of others; retained. Who enters runs one of them, for a session,
// which outlives what it takes there; who visits asks for what another part gives, and leaves.
FALLIBLE Status *steps_enter(Steps *steps, int64_t id, TaskSession *session, Rendezvous **out);
FALLIBLE Status *steps_visit(Steps *steps, int64_t id, Rendezvous **out);
void steps_leave(Steps *steps, int64_t id);
// The step is over: what lies there goes, who waits is ABORTED.
void steps_end(Steps *steps, int64_t id);
// All steps of a session that goes.
void steps_end_session(Steps *steps, const void *session);
size_t steps_count(Steps *steps);

// Of a rendezvous of these: what lies on this task alone, for those who ask from elsewhere.
Rendezvous *steps_local(Rendezvous *rendezvous);

// The parts of a key. INVALID_ARGUMENT where there aren't five.
typedef struct {
    Str from, incarnation, to, tensor, iteration;
} StepKey;
FALLIBLE Status *step_key_parse(Str key, StepKey *out);
