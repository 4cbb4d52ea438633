// Summary — values that event files show: tensors made into numbers, histograms, sounds and texts.
//
// What these functions fill lies in the arena, or views what they were given, and is as TensorFlow's own ops write it.
#pragma once
#include "proto/messages.h"
#include "tensor/tensor.h"

// Element i of a tensor of numbers; NAN for other types.
double summary_number(const Tensor *tensor, int64_t i);
// One number under its tag. INVALID_ARGUMENT for what has not one element, or is no number.
FALLIBLE Status *summary_scalar(Str tag, const Tensor *value, Summary_Value *out);
// How often values of each size occur, in steps of a tenth. INVALID_ARGUMENT where one is no number or infinite.
FALLIBLE Status *summary_histogram(Arena *arena, Str tag, const Tensor *values, Summary_Value *out);
// A tensor as it is, and what is to be done with it.
FALLIBLE Status *summary_tensor(Arena *arena, Str tag, const Tensor *tensor, SummaryMetadataProto *metadata,
                                Summary_Value *out);
// Markdown, for the plugin "text": a string tensor of any shape.
FALLIBLE Status *summary_text(Arena *arena, Str tag, const Tensor *text, Summary_Value *out);
// Sounds [batch frames] or [batch frames channels] of floats in [-1, 1], as WAV files of 16 bits: at most `most` values, whose
// tags are TAG/audio or TAG/audio/0, TAG/audio/1 ... `*out_n`: how many.
FALLIBLE Status *summary_audio(Arena *arena, Str tag, const Tensor *sounds, float rate, int64_t most,
                               Summary_Value **out, size_t *out_n);
// Pictures [batch height width channels] of uint8, half, float or double, channels 1, 3 or 4, as PNG files: at most `most` values,
// whose tags are TAG/image or TAG/image/0, TAG/image/1 ... Floats are scaled to bytes; a pixel that is not finite has the
// colour `bad`, a vector of uint8. UNIMPLEMENTED without libpng.
FALLIBLE Status *summary_pictures(Arena *arena, Str tag, const Tensor *pictures, const Tensor *bad, int64_t most,
                                  Summary_Value **out, size_t *out_n);
// An encoded picture (PNG, JPEG, GIF) of that size; channels 1 to 4.
FALLIBLE Status *summary_image(Arena *arena, Str tag, Str encoded, int64_t height, int64_t width, int channels,
                               Summary_Value *out);
