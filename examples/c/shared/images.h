// Images — what the programs that learn pictures have in common: data, options, the training loop, progress.
#pragma once
#include <stdbool.h>

#include "millrace/millrace.h"

typedef struct ImageNet {
    const char *name;
    int size;            // of the pictures that it was made for
    int channels;        // of these
    int batch;
    int steps;           // of training on small pictures, unless the options say otherwise
    double rate;         // of learning, with Adam
    // Writes the network: pictures [batch size size channels] to [batch classes]. `dropout` {NULL}: none.
    TF_Output (*logits)(mr_net *net, TF_Output pictures, int size, int classes, TF_Output dropout);
} ImageNet;

// The whole program; --help tells its options. It learns the pictures of a folder of IDX files, by default Fashion-MNIST where
// Debian's package dataset-fashion-mnist puts it; without them, stripes of its own making. --graph writes the training step
// for pictures of the network's own size: feed "images" and "labels", fetch "loss", run "train_step"; first run "init".
int image_program(int argc, char **argv, const ImageNet *net);
