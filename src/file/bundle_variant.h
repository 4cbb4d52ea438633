// Variants in a bundle — elements that are tensors (tensor/held.h), laid out as TensorFlow's: for each the length of its
// VariantTensorDataProto as a varint, the message, and the masked checksum of all bytes so far.
#pragma once
#include "base/str.h"
#include "tensor/tensor.h"

// Appends the elements. UNIMPLEMENTED where one is no tensor.
FALLIBLE Status *bundle_variant_write(const Tensor *tensor, Text *out, uint32_t *out_crc);
// Fills a new tensor with what `bytes` hold. DATA_LOSS.
FALLIBLE Status *bundle_variant_read(Str bytes, Str name, const Tensor *tensor, uint32_t *out_crc);
