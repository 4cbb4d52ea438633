// Columns — data to train with, by rows, in memory: from .npz, .csv, TFRecords of Examples, IDX files, or a folder of a folder
// for each class.
#pragma once
#include "cli.h"

typedef struct {
    char name[128];
    TF_Tensor *tensor;   // [rows ...]
} Column;

typedef struct {
    const char *path;
    Column columns[MOST_EDGES];
    int n;
    int64_t rows;
    bool any_shape;      // they are arrays, no columns of one length
} Columns;

// A folder's classes are its folders in the order of their names: columns "image" (the bytes of a file), "label" and "path".
// False after a message.
bool columns_read(const char *path, Columns *out);
void columns_clear(Columns *columns);
Column *columns_find(Columns *columns, const char *name);   // NULL after a message
// The rows order[first] ... as a tensor of their own; NULL after a message.
TF_Tensor *column_rows(const Column *column, const int32_t *order, int64_t n);
