// Importer — one import while it runs: what import.c and import_edges.c share.
#pragma once
#include "graph/assembly.h"
#include "graph/graph_def.h"

typedef struct {
    Graph *graph;
    const ImportOptions *options;
    Arena arena;
    VEC(Part) parts;                            // handed to the assembly
    VEC(Str) inputs;                            // of all parts, as they are written
    VEC(Str) functions, gradients, registered;  // serialized
    VersionDef *versions;
    NameIndex names;  // of the GraphDef's nodes, to their parts
    Map scopes;     // that the graph's nodes lie in
    Map mappings;   // "name:index" -> MappingUse *
    Str prefix;     // with its slash, or empty
    int32_t *controlled;  // by part: 1 + the last part that runs after it
    Assembly assembly;
    size_t functions_before, gradients_before, registered_before;
    int32_t min_consumer_before;
} Importer;

int32_t import_find(const Importer *m, Str given);  // the part of that name, -1: none
FALLIBLE Status *import_edges(Importer *m);    // fills the sources of every part
FALLIBLE Status *import_results(Importer *m, ImportResults *out);
