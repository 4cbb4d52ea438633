// PJRT — devices behind a plug-in that speaks PJRT: GPUs, TPUs, whatever comes. What its files share.
#pragma once
#include "device/compiler.h"

extern const Allocator pjrt_allocator;   // copied into each device: whose it is shows by where it lies
extern const Compiler pjrt_compiler;

// The type for a plug-in's devices, of that name; sessions that don't say otherwise have `count` of them.
DeviceType pjrt_type_of(const char *name, int count);

// ---- value.c
Status *pjrt_copy_in(const Device *device, const Tensor *host, const Tensor *inside);
Status *pjrt_copy_out(const Device *device, const Tensor *inside, const Tensor *host);
Status *pjrt_bring(const Tensor *inside, const Tensor *host);

// ---- store.c: compiled programs on the disk, in a folder of the user's own
// What is kept under the key, SHA-256 in hex; false where there is nothing, or it can't be read.
bool store_find(const char *key, Text *out);
void store_put(const char *key, Str bytes);
// Of these bytes, one after the other.
void store_key(const Str *parts, int n, char out[65]);
