#include "common/binary/protobuf.h"

#include "common/binary/little_endian.h"

#include <inttypes.h>
#include <string.h>

enum { VARINT_BYTES_MAX = 10, TYPE_BITS = 3, NUMBER_MAX = (1 << 29) - 1 };

int protobuf_varint(struct protobuf_view *view, uint64_t *ret, struct error *err) {
    uint64_t value = 0;
    for (size_t i = 0; i < VARINT_BYTES_MAX; i++) {
        if (i == view->size)
            return error_set(err, EXIT_CODE_DATA, "a message ends within a number");
        const uint64_t byte = view->bytes[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            break;
        value |= (byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            view->bytes += i + 1;
            view->size -= i + 1;
            *ret = value;
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_DATA, "a message has a number of more than 64 bits");
}

static int take_bytes(struct protobuf_view *view, uint64_t size, struct protobuf_view *ret,
                      struct error *err) {
    if (size > view->size)
        return error_set(err, EXIT_CODE_DATA,
                         "a field of %" PRIu64 " bytes in a message that has %zu left", size,
                         view->size);
    *ret = (struct protobuf_view){view->bytes, (size_t)size};
    view->bytes += size;
    view->size -= (size_t)size;
    return 0;
}

static int take_fixed(struct protobuf_view *view, size_t size, uint64_t *ret, struct error *err) {
    struct protobuf_view bytes = {0};
    if (take_bytes(view, size, &bytes, err) != 0)
        return -1;
    *ret = little_endian_get(bytes.bytes, size);
    return 0;
}

int protobuf_next(struct protobuf_view *view, struct protobuf_field *ret, struct error *err) {
    uint64_t tag = 0;
    uint64_t size = 0;
    int result = 0;
    if (view->size == 0)
        return 0;
    if (protobuf_varint(view, &tag, err) != 0)
        return -1;
    const unsigned type = (unsigned)(tag & ((1u << TYPE_BITS) - 1));
    if (tag >> TYPE_BITS == 0 || tag >> TYPE_BITS > NUMBER_MAX)
        return error_set(err, EXIT_CODE_DATA, "a message has a field number %" PRIu64,
                         tag >> TYPE_BITS);
    *ret = (struct protobuf_field){.number = (uint32_t)(tag >> TYPE_BITS),
                                   .type = (enum protobuf_type)type};
    switch (type) {
    case PROTOBUF_VARINT:
        result = protobuf_varint(view, &ret->value, err);
        break;
    case PROTOBUF_FIXED64:
        result = take_fixed(view, sizeof(uint64_t), &ret->value, err);
        break;
    case PROTOBUF_FIXED32:
        result = take_fixed(view, sizeof(uint32_t), &ret->value, err);
        break;
    case PROTOBUF_BYTES:
        result =
            protobuf_varint(view, &size, err) != 0 ? -1 : take_bytes(view, size, &ret->view, err);
        break;
    default:
        return error_set(err, EXIT_CODE_DATA, "a message has a field of the unknown type %u", type);
    }
    return result == 0 ? 1 : -1;
}

static int add_varint(struct buf *out, uint64_t value, struct error *err) {
    uint8_t bytes[VARINT_BYTES_MAX];
    size_t size = 0;
    while (value >= 0x80) {
        bytes[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    return buf_add(out, bytes, size, err);
}

static int add_tag(struct buf *out, uint32_t number, enum protobuf_type type, struct error *err) {
    return add_varint(out, (uint64_t)number << TYPE_BITS | type, err);
}

int protobuf_add_varint(struct buf *out, uint32_t number, uint64_t value, struct error *err) {
    return add_tag(out, number, PROTOBUF_VARINT, err) != 0 ? -1 : add_varint(out, value, err);
}

int protobuf_add_length(struct buf *out, uint32_t number, uint64_t size, struct error *err) {
    return add_tag(out, number, PROTOBUF_BYTES, err) != 0 ? -1 : add_varint(out, size, err);
}

int protobuf_add_bytes(struct buf *out, uint32_t number, const void *bytes, size_t size,
                       struct error *err) {
    return protobuf_add_length(out, number, size, err) != 0 ? -1 : buf_add(out, bytes, size, err);
}

int protobuf_add_message(struct buf *out, uint32_t number, const struct buf *message,
                         struct error *err) {
    return protobuf_add_bytes(out, number, message->data, message->size, err);
}

int protobuf_add_text(struct buf *out, uint32_t number, const char *text, struct error *err) {
    return protobuf_add_bytes(out, number, text, strlen(text), err);
}

static int add_fixed(struct buf *out, uint32_t number, enum protobuf_type type, uint64_t bits,
                     size_t size, struct error *err) {
    uint8_t bytes[sizeof(bits)];
    little_endian_put(bytes, bits, size);
    return add_tag(out, number, type, err) != 0 ? -1 : buf_add(out, bytes, size, err);
}

int protobuf_add_double(struct buf *out, uint32_t number, double value, struct error *err) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return add_fixed(out, number, PROTOBUF_FIXED64, bits, sizeof(bits), err);
}

int protobuf_add_float(struct buf *out, uint32_t number, float value, struct error *err) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return add_fixed(out, number, PROTOBUF_FIXED32, bits, sizeof(bits), err);
}
