/* Little-endian numbers in bytes, whatever the order of the machine. */
#ifndef COMMON_BINARY_LITTLE_ENDIAN_H
#define COMMON_BINARY_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number in SIZE bytes, at most 8. */
static inline uint64_t little_endian_get(const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* Stores the lowest SIZE bytes of VALUE, at most 8. */
static inline void little_endian_put(void *bytes, uint64_t value, size_t size) {
    uint8_t *to = bytes;
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

#endif
