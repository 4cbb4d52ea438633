// Pictures — see pictures.h.
#define _GNU_SOURCE
#include "pictures.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "program.h"

static const char *const FOLDER = "/usr/share/datasets/fashion-mnist";

static unsigned number(const unsigned char *p) {  // as IDX files have it: the highest byte first
    return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

// The bytes behind the header; dims[0 .. rank) from it. NULL where there is no file.
static unsigned char *read_idx(const char *folder, const char *part, const char *what, unsigned rank, unsigned *dims) {
    char path[4096];
    unsigned char head[16];
    snprintf(path, sizeof path, "%s/%s-%s-ubyte.gz", folder, part, what);
    gzFile file = gzopen(path, "rb");  // reads plain files as well
    if (!file) {
        path[strlen(path) - 3] = 0;
        file = gzopen(path, "rb");
    }
    if (!file)
        return NULL;
    size_t count = 1;
    if (gzread(file, head, 4 + 4 * rank) != (int)(4 + 4 * rank) || head[2] != 8 || head[3] != rank)
        quit("%s: not an IDX file of bytes in %u dimensions", path, rank);
    for (unsigned i = 0; i < rank; i++) {
        dims[i] = number(head + 4 + 4 * i);
        count *= dims[i];
    }
    unsigned char *bytes = malloc(count);
    if (!bytes || count > 1u << 30 || gzread(file, bytes, (unsigned)count) != (int)count)
        quit("%s: ends too early", path);
    gzclose(file);
    return bytes;
}

static bool pictures_read(const char *folder, const char *part, Pictures *out) {
    unsigned dims[3], n;
    unsigned char *pixels = read_idx(folder, part, "images-idx3", 3, dims);
    unsigned char *labels = pixels ? read_idx(folder, part, "labels-idx1", 1, &n) : NULL;
    if (!labels)
        return false;
    if (n != dims[0] || dims[1] != dims[2] || n > 1 << 30)
        quit("%s: as many square pictures as labels are expected", folder);
    *out = (Pictures){(int)n, (int)dims[1], 0, pixels, labels};
    for (unsigned i = 0; i < n; i++)
        out->classes = labels[i] >= out->classes ? labels[i] + 1 : out->classes;
    return true;
}

// Stripes, as wide and in the direction that the class says, under noise.
static void pictures_make(int n, unsigned seed, Pictures *out) {
    enum { SIZE = 28, CLASSES = 10 };
    *out = (Pictures){n, SIZE, CLASSES, malloc((size_t)n * SIZE * SIZE), malloc((size_t)n)};
    if (!out->pixels || !out->labels)
        quit("no memory for %d pictures", n);
    for (int i = 0; i < n; i++) {
        unsigned class = (seed = seed * 1664525 + 1013904223) >> 16;
        out->labels[i] = (unsigned char)(class % CLASSES);
        int width = 1 + out->labels[i] / 2, upright = out->labels[i] % 2;
        for (int p = 0; p < SIZE * SIZE; p++) {
            seed = seed * 1664525 + 1013904223;
            int at = (upright ? p % SIZE : p / SIZE) + (int)(class / CLASSES % 8);
            out->pixels[i * SIZE * SIZE + p] = (unsigned char)(at / width % 2 * 128 + (int)(seed >> 25));
        }
    }
}

void pictures_take(const Pictures *p, const int *order, int from, TF_Tensor *images, TF_Tensor *labels) {
    float *to = TF_TensorData(images);
    int32_t *label = TF_TensorData(labels);
    int area = p->size * p->size;
    for (int i = 0; i < (int)TF_Dim(labels, 0); i++) {
        int at = order ? order[(from + i) % p->n] : (from + i) % p->n;
        label[i] = p->labels[at];
        for (int j = 0; j < area; j++)
            to[i * area + j] = (float)p->pixels[(size_t)at * (size_t)area + (size_t)j] / 255;
    }
}

void pictures_shuffle(int *order, int n, unsigned *seed) {
    for (int i = n - 1; i > 0; i--) {
        *seed = *seed * 1664525 + 1013904223;
        int j = (int)((uint64_t)*seed * (uint64_t)(i + 1) >> 32), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

const char *pictures_open(const char *wanted, Pictures *data, Pictures *test) {
    const char *folder = wanted ? wanted : FOLDER;
    bool none = !strcmp(folder, "none");
    if (!none && pictures_read(folder, "train", data) && pictures_read(folder, "t10k", test))
        return folder;
    if (wanted && !none)
        quit("%s: has no pictures to learn: the four IDX files of a data set like MNIST are expected", folder);
    pictures_make(4000, 1, data);
    pictures_make(1000, 2, test);
    return NULL;
}

void pictures_clear(Pictures *pictures) {
    free(pictures->pixels);
    free(pictures->labels);
    *pictures = (Pictures){0};
}
