// Murmur — the hash of strings that TensorFlow's tables, buckets and frames of loops are named by.
#pragma once
#include "base/str.h"

uint64_t murmur_hash(Str text);  // MurmurHash 2 of 64 bits, with TensorFlow's seed
