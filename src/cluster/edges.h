// Edges by name — what clients of MasterService call feeds, fetches and targets: "name", "name:1".
//
// Errors have TensorFlow's codes and words: Python code matches on them.
#pragma once
#include "plan/plan.h"
#include "proto/message.h"
#include "thread/mutex.h"

typedef PROTO_LIST(Str) Names;
#define NAMES(list) (&(Names){(list).p, (list).n})  // of a message's list of strings

// The signature of these names, its arrays in the arena. NOT_FOUND, INVALID_ARGUMENT.
FALLIBLE Status *edges_find(Graph *graph, Mutex *lock, const Names *feeds, const Names *fetches, const Names *targets,
                            Arena *arena, StepSignature *out);
