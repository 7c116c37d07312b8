/* Tar archives for tests, as writers of the old times made them: name, size, type, checksum. */
#ifndef TESTS_SUPPORT_TAR_H
#define TESTS_SUPPORT_TAR_H

#include "common/buf.h"
#include "tests/support/unit.h"
#include "trainer/data/format/tar_walk.h"
#include "trainer/data/format/tar_write.h"

#include <stdio.h>
#include <string.h>

static inline void tar_add_bytes(struct buf *out, const char *name, char type, const char *bytes,
                                 size_t size) {
    char header[TAR_BLOCK] = "";
    char octal[32];
    static const char zeros[TAR_BLOCK];
    unsigned sum = 8 * ' ';
    (void)snprintf(header, 100, "%s", name);
    /* Twelve octal digits are all that the field can say. */
    (void)snprintf(octal, sizeof(octal), "%011zo", size);
    memcpy(header + 124, octal, 12);
    header[156] = type;
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)header[i];
    (void)snprintf(header + 148, 8, "%06o", sum);
    CU_ASSERT_EQUAL(buf_add(out, header, TAR_BLOCK, NULL), 0);
    CU_ASSERT_EQUAL(buf_add(out, bytes, size, NULL), 0);
    CU_ASSERT_EQUAL(buf_add(out, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK, NULL), 0);
}

static inline void tar_add(struct buf *out, const char *name, const char *text) {
    tar_add_bytes(out, name, '0', text, strlen(text));
}

#endif
