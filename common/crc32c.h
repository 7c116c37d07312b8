/* CRC32C checksum (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720 appendix B.4).
 *
 * Checkpoints and TensorFlow's records use it. The processor's instruction computes it if there is
 * one. */
#ifndef COMMON_CRC32C_H
#define COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum after SIZE more bytes, given the checksum CRC of the bytes before them; start with
 * 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same computed with the table, on any processor. For tests and for processors without the
 * instruction. */
uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t size);

/* TensorFlow's masked checksum, which may be stored among the bytes that it covers. */
uint32_t crc32c_mask(uint32_t crc);

#endif
