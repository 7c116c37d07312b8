/* Protocol buffers on the wire: fields of a message, read without copying, and written.
 *
 * A message is a sequence of fields, each a tag (field number and type) and a value: a varint,
 * 8 or 4 bytes, or a length and so many bytes. Groups, which proto3 does not have, are refused.
 * Source: protobuf.dev, Encoding. */
#ifndef COMMON_BINARY_PROTOBUF_H
#define COMMON_BINARY_PROTOBUF_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protobuf_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5,
};

/* Bytes that are still to be read; borrowed. */
struct protobuf_view {
    const uint8_t *bytes;
    size_t size;
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t value;            /* of a varint, or of 8 or 4 bytes in little-endian order */
    struct protobuf_view view; /* of PROTOBUF_BYTES */
};

/* Takes the next field off the view. Returns 1, 0 at the end, or -1 with EXIT_CODE_DATA. */
int protobuf_next(struct protobuf_view *view, struct protobuf_field *ret, struct error *err);
/* Takes one varint, of at most ten bytes, off the view. */
int protobuf_varint(struct protobuf_view *view, uint64_t *ret, struct error *err);

/* Append one field. */
int protobuf_add_varint(struct buf *out, uint32_t number, uint64_t value, struct error *err);
int protobuf_add_bytes(struct buf *out, uint32_t number, const void *bytes, size_t size,
                       struct error *err);
/* Appends the beginning of such a field: its SIZE bytes have to follow. */
int protobuf_add_length(struct buf *out, uint32_t number, uint64_t size, struct error *err);
int protobuf_add_text(struct buf *out, uint32_t number, const char *text, struct error *err);
int protobuf_add_message(struct buf *out, uint32_t number, const struct buf *message,
                         struct error *err);
int protobuf_add_double(struct buf *out, uint32_t number, double value, struct error *err);
int protobuf_add_float(struct buf *out, uint32_t number, float value, struct error *err);

#endif
