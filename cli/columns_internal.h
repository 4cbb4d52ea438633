// Columns, inside — what the readers of kinds of files share.
#pragma once
#include "columns.h"

bool columns_add(Columns *columns, const char *name, TF_Tensor *tensor);   // takes it; false after a message
TF_Tensor *strings_new(int64_t rows, int64_t each);   // empty ones, [rows] or [rows each]; NULL when memory is out
bool npz_read(Columns *columns, const char *file, size_t n);   // every array is a column
// columns_rows.c
bool csv_read(Columns *columns, char *text, size_t n);   // the first line names the columns; writes into the text
bool examples_parse(Columns *columns, const char *file, size_t n);   // TFRecords of Examples, features of one length each
