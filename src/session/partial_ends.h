// Partial ends — of a step in several calls: which feeds and fetches came when, and what a call may ask for.
#pragma once
#include "session/session.h"

typedef struct {
    StepSignature whole;   // a copy
    const Tensor **feeds;  // by feed of the whole: of the call at hand
    Tensor **fetches;
    bool *fed, *fetched;   // by earlier calls
} PartialEnds;

// In the arena.
FALLIBLE Status *partial_ends_init(PartialEnds *ends, Arena *arena, const StepSignature *whole);
// What a call gives and wants, by the edges of the whole. INVALID_ARGUMENT, and nothing has happened: a call that is refused
// may be made again.
FALLIBLE Status *partial_ends_take(PartialEnds *ends, const StepSignature *part, const Tensor *const *feeds, Tensor *out);
// Whether nothing is left after this call.
bool partial_ends_last(const PartialEnds *ends);
// The call was made, and took what it named.
void partial_ends_done(PartialEnds *ends);
