#include "entrypoint/wire/frame.h"

#include "common/binary/big_endian.h"
#include "common/cleanup.h"
#include "common/json/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

json_t *frame_new_for(int64_t version, const char *type) {
    return json_pack("{s:I, s:s}", "v", (json_int_t)version, "type", type);
}

json_t *frame_new(const char *type) {
    return frame_new_for(FRAME_VERSION, type);
}

json_t *frame_with(const char *type, json_t *members) {
    json_t *message = frame_new(type);
    bool whole = message != NULL && members != NULL && json_object_update(message, members) == 0;
    json_decref(members);
    if (whole)
        return message;
    json_decref(message);
    return NULL;
}

int64_t frame_version(const json_t *message) {
    return json_integer_value(json_object_get(message, "v"));
}

int frame_error_version(struct error *err, const char *peer, int64_t version) {
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s speaks version %lld of the control link, this host version %d: another "
                     "image build",
                     peer, (long long)version, FRAME_VERSION);
}

const char *frame_type(const json_t *message) {
    return json_string_value(json_object_get(message, "type"));
}

size_t frame_size(const char *at) {
    return FRAME_HEADER + (size_t)big_endian_u32((const uint8_t *)at);
}

int frame_put(struct buf *out, const json_t *message, struct error *err) {
    cleanup_free char *text = json_dumps(message, JSON_COMPACT);
    if (text == NULL)
        return error_no_memory(err, "a message");
    size_t size = strlen(text);
    if (size > FRAME_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a message of %zu bytes is above the %d allowed",
                         size, FRAME_MAX);
    unsigned char header[FRAME_HEADER] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                          (unsigned char)(size >> 8), (unsigned char)size};
    if (buf_reserve(out, sizeof(header) + size, err) != 0 ||
        buf_add(out, header, sizeof(header), err) != 0)
        return -1;
    return buf_add(out, text, size, err);
}

/* Jansson keeps members in order of insertion. */
static int check_form(const json_t *message, struct error *err) {
    void *first = json_object_iter((json_t *)(uintptr_t)message);
    if (first == NULL || strcmp(json_object_iter_key(first), "v") != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "a message does not begin with its version");
    const json_t *version = json_object_iter_value(first);
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "a message has no version");
    if (frame_type(message) == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "a message has no type");
    return 0;
}

int frame_take(struct buf *in, json_t **ret, struct error *err) {
    if (in->size < FRAME_HEADER)
        return 0;
    size_t size = big_endian_u32((const uint8_t *)in->data);
    if (size > FRAME_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a message of %zu bytes is above the %d allowed",
                         size, FRAME_MAX);
    if (in->size < FRAME_HEADER + size)
        return 0;
    cleanup_json json_t *message = NULL;
    if (json_parse(in->data + FRAME_HEADER, size, "message", &message, err) != 0)
        return -1;
    if (check_form(message, err) != 0)
        return -1;
    buf_consume(in, FRAME_HEADER + size);
    *ret = message;
    message = NULL;
    return 1;
}
