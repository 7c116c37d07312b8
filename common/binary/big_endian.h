/* Big-endian numbers in bytes, whatever the order of the machine. */
#ifndef COMMON_BINARY_BIG_ENDIAN_H
#define COMMON_BINARY_BIG_ENDIAN_H

#include <stdint.h>

/* Returns the number in four bytes. */
static inline uint32_t big_endian_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

#endif
