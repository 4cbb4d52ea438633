// Epilogue — what happens to a product or a convolution on its way out: + bias, + what the output held, an activation.
#pragma once
#include <stdbool.h>

typedef enum {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_RELU6,
    ACTIVATION_ELU,
    ACTIVATION_TANH,
    ACTIVATION_SIGMOID,
    ACTIVATION_LEAKY_RELU,
} Activation;

typedef struct {
    bool bias;        // one number a channel, or a column
    bool sum;         // then what the output held before
    Activation activation;
    float alpha;      // of LEAKY_RELU: what negative numbers are multiplied by
    bool apart;       // none of this: what follows has to stand in nodes of its own
} Epilogue;
