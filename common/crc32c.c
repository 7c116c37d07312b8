#include "common/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82F63B78u /* reflected */

/* table[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes go in one step
 * (Kounavis and Berry, A Systematic Approach to Building High Performance CRC Generators, 2005). */
static uint32_t table[8][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
}

uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t size) {
    pthread_once(&table_made, make_table);
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; size >= 8; p += 8, size -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; size > 0; p++, size--)
        crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2,crc32"))) static uint32_t
crc32c_instruction(uint32_t crc, const uint8_t *p, size_t size) {
    uint64_t sum = (uint32_t)~crc;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        sum = _mm_crc32_u64(sum, word);
    }
    uint32_t rest = (uint32_t)sum;
    for (; size > 0; p++, size--)
        rest = _mm_crc32_u8(rest, *p);
    return ~rest;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_instruction(crc, bytes, size);
    return crc32c_table(crc, bytes, size);
}
#else
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
    return crc32c_table(crc, bytes, size);
}
#endif

uint32_t crc32c_mask(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
