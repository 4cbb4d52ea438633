// Regex, inside — the tree that a pattern is read into, and the program that runs.
#pragma once
#include "base/vec.h"
#include "ops/string/regex.h"

typedef struct {
    uint64_t bits[4];  // of the 256 bytes
} ByteSet;

static inline bool set_has(const ByteSet *set, unsigned char c) {
    return set->bits[c >> 6] >> (c & 63) & 1;
}
static inline void set_add(ByteSet *set, unsigned first, unsigned last) {
    for (unsigned c = first; c <= last; c++)
        set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

typedef enum { PIECE_SET, PIECE_SEQUENCE, PIECE_CHOICE, PIECE_REPEAT, PIECE_GROUP, PIECE_ASSERT } PieceKind;
typedef enum { ASSERT_BEGIN, ASSERT_END, ASSERT_WORD, ASSERT_NO_WORD } Assertion;

// A tree: children are linked by `next`.
typedef struct Piece {
    PieceKind kind;
    ByteSet set;
    struct Piece *first, *next;
    int least, most;   // of a repeat; most < 0: any number
    bool lazy;
    int group;         // number; 0: not counted
    Assertion assertion;
} Piece;

typedef enum { DO_SET, DO_SPLIT, DO_JUMP, DO_SAVE, DO_ASSERT, DO_MATCH } Doing;

typedef struct {
    Doing doing;
    int32_t a, b;      // where to go: a is preferred; DO_SAVE: which; DO_ASSERT: what
    const ByteSet *set;
} Instruction;

enum { REGEX_MOST = 20000, REGEX_DEPTH = 100, REGEX_REPEATS = 1000 };

struct Regex {
    Instruction *code;
    int n;
    int groups;
};

FALLIBLE Status *regex_parse(Str pattern, Arena *arena, Piece **out, int *out_groups);
