// CRC-32C — the checksum of TensorFlow's files: Castagnoli's polynomial, and the masked form that lies on disk.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Goes on from `crc`, the checksum of the bytes before; 0 at the beginning.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

// A checksum of bytes that contain checksums is weak, so what is stored is rotated and shifted.
static inline uint32_t crc32c_mask(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
