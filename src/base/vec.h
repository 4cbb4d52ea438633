// Vec — a growing array of any type, on the heap.
//
//     VEC(Node *) nodes = {0};
//     NEED_MEMORY(vec_push(&nodes, node));
//     for (size_t i = 0; i < nodes.n; i++) use(nodes.p[i]);
//     vec_clear(&nodes);
#pragma once
#include <stdlib.h>

#include "base/status.h"

#define VEC(Type)        \
    struct {             \
        Type *p;         \
        size_t n, room;  \
    }

// Grows *p to hold `need` elements of `size` bytes; false when memory is out.
bool vec_grow(void **p, size_t *room, size_t need, size_t size);

#define vec_reserve(v, need) \
    ((size_t)(need) <= (v)->room || vec_grow((void **)&(v)->p, &(v)->room, (size_t)(need), sizeof *(v)->p))
#define vec_push(v, ...) (vec_reserve(v, (v)->n + 1) && (((v)->p[(v)->n++] = __VA_ARGS__), true))
#define vec_last(v) ((v)->p[(v)->n - 1])
#define vec_clear(v) (free((v)->p), (v)->p = NULL, (v)->n = 0, (v)->room = 0)
