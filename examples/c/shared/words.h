// Words — a text as numbers: the most frequent word is 0, the rarest ones share the last number.
#pragma once
#include <stdint.h>

typedef struct Words {
    int32_t *ids;         // of the text, one after the other
    int64_t n;
    int count;            // of different numbers
    char **names;         // of each number; the last may be "~", which stands for all rarer words
    const char *source;   // what the text is
} Words;

// The text of a file. NULL: the Bible, where Debian's package bible-kjv is installed; else sentences of its own making.
// Words are lower-case letters; punctuation marks are words. At most `most` different ones, and `length` in all; 0:
// any.
Words words_read(const char *path, int most, int64_t length);
void words_clear(Words *words);
// What tells these words and their numbers from others.
int64_t words_kind(const Words *words);
int words_find(const Words *words, const char *name);   // -1: none of them
// Prints that word with the blank before it that it wants.
void words_print(const Words *words, int id);
