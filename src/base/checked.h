// Checked arithmetic — sizes that came from input are multiplied, added and divided here and nowhere else.
#pragma once
#include "base/status.h"

static inline bool mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool mul_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
// Quotient rounded up; `b` > 0, `a` >= 0.
static inline int64_t div_up(int64_t a, int64_t b) {
    return b > 0 ? a / b + (a % b != 0) : 0;
}
static inline size_t round_up(size_t n, size_t power_of_two) {
    return (n + power_of_two - 1) & ~(power_of_two - 1);
}
static inline int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
