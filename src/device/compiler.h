// Compiler — what a device does that takes whole parts of a graph and compiles them, instead of running kernel by kernel.
//
// A plan claims nodes for such a device (plan/claim.h): together they are one node, and what stays behind runs on the
// host. For each set of shapes the part becomes a Program. A value in the device's memory is a tensor like any other
// whose buffer came from device->allocator; where it lies nobody asks but the device.
#pragma once
#include "device/device.h"
#include "hlo/module.h"

// A part, compiled: every device's own begins with this. One owner.
typedef struct Program {
    const bool *assigns;          // by the spec's variables: it gives them a new value
    const struct ProgramStream *streams;
    int32_t n_variables, n_streams;
    size_t text_bytes;            // for people: of what was compiled
    int64_t compile_ns;           // and how long it took; 0: it was there already
    bool stored;                  // it came from the disk
} Program;

// Random numbers are drawn from a node's stream by the host, which counts them: the program is given where it stands.
typedef struct ProgramStream {
    const Node *node;
    uint64_t blocks;              // how far a run moves it on
} ProgramStream;

// One run. Nothing in it is kept: what the device needs longer it retains.
typedef struct ProgramRun {
    const Tensor *inputs;         // by the spec's inputs, in host memory or the device's
    Tensor *variables;            // by the spec's variables, in the device's memory (none where it is only assigned). Those
                                  // that are assigned come back as their new value: the old one's memory may be its
    const bool *keep;             // by variable: somebody else reads the old value, so it stays
    const uint32_t (*streams)[6]; // by the program's streams: key, counter
    const struct StepContext *step;  // how long it may wait
    Tensor *outputs;              // out, by the spec's outputs: in the device's memory, or the host's (device_hosts)
} ProgramRun;

typedef struct Compiler {
    // Whether the node may be part of a program, by op, types and attributes.
    bool (*claims)(const Device *device, const Node *node);
    // Compiles; may take seconds; any thread. The nodes of the spec live longer than the program, the rest does not.
    // UNIMPLEMENTED where it can't be written or isn't taken: then it runs on the host.
    Status *(*compile)(const Device *device, const HloSpec *spec, Program **out);
    void (*release)(Program *program);
    // Begins a run behind all that was begun before, and returns. Later errors come from copy_out or sync. On failure the
    // variables are as they were.
    Status *(*run)(const Device *device, const Program *program, const ProgramRun *run);
    // Copies a value of the device to the host, as DeviceType.copy_out, without a Device: it outlives sessions.
    Status *(*bring)(const Tensor *inside, const Tensor *host);
    // NULL: it keeps no statistics.
    Status *(*memory)(const Device *device, DeviceMemory *out);
} Compiler;
