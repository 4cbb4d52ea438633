// Pictures — data sets in the manner of MNIST: square pictures of bytes, and their classes.
#pragma once
#include "millrace/millrace.h"

typedef struct Pictures {
    int n, size, classes;
    unsigned char *pixels, *labels;
} Pictures;

// Those to learn and those to test with, of a folder of IDX files; NULL: Fashion-MNIST where Debian's package puts it, if it is
// there. Gives the folder that they are from; NULL: they are stripes of our own making, as with "none".
const char *pictures_open(const char *folder, Pictures *data, Pictures *test);
void pictures_clear(Pictures *pictures);
// Those at the places order[from ..] (NULL: one after the other), as numbers between 0 and 1, for as many labels as there is
// room for.
void pictures_take(const Pictures *pictures, const int *order, int from, TF_Tensor *images, TF_Tensor *labels);
void pictures_shuffle(int *order, int n, unsigned *seed);
