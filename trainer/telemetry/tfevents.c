#include "trainer/telemetry/tfevents.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "trainer/telemetry/tfevents_format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VALUE_MAX = TFEVENTS_TAG_MAX + 16,
    EVENT_MAX = 64 + TFEVENTS_SCALARS_MAX * (VALUE_MAX + 4),
};

/* A message under construction. The limits above bound its size, so nothing is checked here. */
struct message {
    uint8_t bytes[EVENT_MAX];
    size_t size;
};

static void put(struct message *m, const void *bytes, size_t size) {
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_little(uint8_t *out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static void put_varint(struct message *m, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        m->bytes[m->size++] = (uint8_t)(value | 0x80);
    m->bytes[m->size++] = (uint8_t)value;
}

static void put_key(struct message *m, unsigned field, unsigned wire) {
    put_varint(m, field << 3 | wire);
}

static void put_bytes(struct message *m, unsigned field, const void *bytes, size_t size) {
    put_key(m, field, WIRE_BYTES);
    put_varint(m, size);
    put(m, bytes, size);
}

static void put_double(struct message *m, unsigned field, double value) {
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &value, sizeof(bits));
    put_little(bytes, bits, 8);
    put_key(m, field, WIRE_64);
    put(m, bytes, sizeof(bytes));
}

static void put_float(struct message *m, unsigned field, float value) {
    uint32_t bits;
    uint8_t bytes[4];
    memcpy(&bits, &value, sizeof(bits));
    put_little(bytes, bits, 4);
    put_key(m, field, WIRE_32);
    put(m, bytes, sizeof(bytes));
}

/* Adds the frame to the SIZE bytes that already follow the record's head. */
static void seal_record(uint8_t *record, size_t size) {
    put_little(record, size, 8);
    put_little(record + RECORD_HEAD - 4, crc32c_mask(crc32c(0, record, 8)), 4);
    put_little(record + RECORD_HEAD + size, crc32c_mask(crc32c(0, record + RECORD_HEAD, size)), 4);
}

/* One write for each record: a killed run leaves whole records, except possibly the last. */
static int write_record(int fd, const struct message *m, struct error *err) {
    uint8_t record[EVENT_MAX + RECORD_EXTRA];
    memcpy(record + RECORD_HEAD, m->bytes, m->size);
    seal_record(record, m->size);
    return file_write_all(fd, record, m->size + RECORD_EXTRA, err);
}

/* Writes the head of an event; its summary follows. */
static void begin_event(struct message *m, int64_t wall, int64_t step) {
    put_double(m, EVENT_WALL_TIME, (double)wall / (double)CLOCK_SECOND);
    put_key(m, EVENT_STEP, WIRE_VARINT);
    put_varint(m, (uint64_t)step);
}

static int check_tag(const char *tag, struct error *err) {
    size_t length = strlen(tag);
    if (length <= TFEVENTS_TAG_MAX)
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "%s: a tag of %zu bytes is too long", tag, length);
}

int tfevents_open(struct tfevents *events, const char *folder, const char *host, int64_t wall,
                  struct error *err) {
    static const char version[] = "brain.Event:2";
    char path[PATH_MAX];
    events->fd = -1;
    int length = snprintf(path, sizeof(path), "%s/" EVENTS_NAME "%010lld.%s", folder,
                          (long long)(wall / CLOCK_SECOND), host);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    if (file_make_dirs(folder, err) != 0)
        return -1;
    events->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
    if (events->fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    struct message m = {.size = 0};
    put_double(&m, EVENT_WALL_TIME, (double)wall / (double)CLOCK_SECOND);
    put_bytes(&m, EVENT_FILE_VERSION, version, sizeof(version) - 1);
    if (write_record(events->fd, &m, err) == 0)
        return 0;
    tfevents_done(events);
    return error_wrap(err, "%s", path);
}

int tfevents_start(struct tfevents *events, int64_t wall, int64_t step, struct error *err) {
    struct message m = {.size = 0};
    struct message session = {.size = 0};
    put_key(&session, SESSION_STATUS, WIRE_VARINT);
    put_varint(&session, SESSION_START);
    begin_event(&m, wall, step);
    put_bytes(&m, EVENT_SESSION, session.bytes, session.size);
    if (write_record(events->fd, &m, err) != 0)
        return error_wrap(err, "TensorBoard events");
    return 0;
}

int tfevents_add(struct tfevents *events, int64_t wall, int64_t step,
                 const struct tfevents_scalar *scalars, size_t count, struct error *err) {
    struct message m = {.size = 0};
    struct message summary = {.size = 0};
    if (count > TFEVENTS_SCALARS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu scalars at once; at most %d are allowed",
                         count, TFEVENTS_SCALARS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct message value = {.size = 0};
        if (check_tag(scalars[i].tag, err) != 0)
            return -1;
        put_bytes(&value, VALUE_TAG, scalars[i].tag, strlen(scalars[i].tag));
        put_float(&value, VALUE_SIMPLE, (float)scalars[i].value);
        put_bytes(&summary, SUMMARY_VALUE, value.bytes, value.size);
    }
    begin_event(&m, wall, step);
    put_bytes(&m, EVENT_SUMMARY, summary.bytes, summary.size);
    if (write_record(events->fd, &m, err) != 0)
        return error_wrap(err, "TensorBoard events");
    return 0;
}

/* Writes a record of HEAD and the SIZE bytes that it announces. */
static int write_long(int fd, const struct message *head, const void *bytes, size_t size,
                      struct error *err) {
    size_t all = head->size + size;
    cleanup_free uint8_t *record = malloc(all + RECORD_EXTRA);
    if (record == NULL)
        return error_no_memory(err, "TensorBoard events");
    memcpy(record + RECORD_HEAD, head->bytes, head->size);
    memcpy(record + RECORD_HEAD + head->size, bytes, size);
    seal_record(record, all);
    if (file_write_all(fd, record, all + RECORD_EXTRA, err) != 0)
        return error_wrap(err, "TensorBoard events");
    return 0;
}

/* Writes the heads of the messages around a picture or text; each holds the number of bytes inside
 * it. */
static void put_nested(struct message *m, unsigned field, size_t inside) {
    put_key(m, field, WIRE_BYTES);
    put_varint(m, inside);
}

/* Writes what precedes the picture's bytes, which end the event. */
static void put_picture_head(struct message *m, const struct tfevents_picture *picture) {
    struct message image = {.size = 0}, value = {.size = 0}, summary = {.size = 0};
    put_key(&image, IMAGE_HEIGHT, WIRE_VARINT);
    put_varint(&image, (uint64_t)picture->height);
    put_key(&image, IMAGE_WIDTH, WIRE_VARINT);
    put_varint(&image, (uint64_t)picture->width);
    put_key(&image, IMAGE_COLORSPACE, WIRE_VARINT);
    put_varint(&image, COLORSPACE_RGB);
    put_nested(&image, IMAGE_BYTES, picture->size);
    put_bytes(&value, VALUE_TAG, picture->tag, strlen(picture->tag));
    put_nested(&value, VALUE_IMAGE, image.size + picture->size);
    put(&value, image.bytes, image.size);
    put_nested(&summary, SUMMARY_VALUE, value.size + picture->size);
    put(&summary, value.bytes, value.size);
    put_nested(m, EVENT_SUMMARY, summary.size + picture->size);
    put(m, summary.bytes, summary.size);
}

int tfevents_add_picture(struct tfevents *events, int64_t wall, int64_t step,
                         const struct tfevents_picture *picture, struct error *err) {
    struct message m = {.size = 0};
    if (check_tag(picture->tag, err) != 0)
        return -1;
    if (picture->size < 1 || picture->size > TFEVENTS_PICTURE_MAX || picture->height < 1 ||
        picture->width < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: a picture of %d x %d in %zu bytes",
                         picture->tag, picture->width, picture->height, picture->size);
    begin_event(&m, wall, step);
    put_picture_head(&m, picture);
    return write_long(events->fd, &m, picture->bytes, picture->size, err);
}

/* Writes what precedes the SIZE bytes of the text, which end the event: the summary that TensorFlow
 * writes for a text, a tensor of one string that the plug-in "text" shows. */
static void put_text_head(struct message *m, const char *tag, size_t size) {
    static const char plugin[] = "text";
    struct message dim = {.size = 0}, shape = {.size = 0}, tensor = {.size = 0};
    struct message data = {.size = 0}, metadata = {.size = 0}, value = {.size = 0};
    struct message summary = {.size = 0};
    put_key(&dim, DIM_SIZE, WIRE_VARINT);
    put_varint(&dim, 1);
    put_bytes(&shape, SHAPE_DIM, dim.bytes, dim.size);
    put_key(&tensor, TENSOR_TYPE, WIRE_VARINT);
    put_varint(&tensor, TYPE_STRING);
    put_bytes(&tensor, TENSOR_SHAPE, shape.bytes, shape.size);
    put_nested(&tensor, TENSOR_STRING, size);
    put_bytes(&data, PLUGIN_NAME, plugin, sizeof(plugin) - 1);
    put_bytes(&metadata, METADATA_PLUGIN, data.bytes, data.size);
    put_bytes(&value, VALUE_TAG, tag, strlen(tag));
    put_bytes(&value, VALUE_METADATA, metadata.bytes, metadata.size);
    put_nested(&value, VALUE_TENSOR, tensor.size + size);
    put(&value, tensor.bytes, tensor.size);
    put_nested(&summary, SUMMARY_VALUE, value.size + size);
    put(&summary, value.bytes, value.size);
    put_nested(m, EVENT_SUMMARY, summary.size + size);
    put(m, summary.bytes, summary.size);
}

int tfevents_add_text(struct tfevents *events, int64_t wall, int64_t step, const char *tag,
                      const char *text, struct error *err) {
    struct message m = {.size = 0};
    size_t size = strlen(text);
    if (check_tag(tag, err) != 0)
        return -1;
    if (size > TFEVENTS_TEXT_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: a text of %zu bytes is too long", tag, size);
    begin_event(&m, wall, step);
    put_text_head(&m, tag, size);
    return write_long(events->fd, &m, text, size, err);
}

void tfevents_done(struct tfevents *events) {
    if (events->fd >= 0)
        (void)close(events->fd);
    events->fd = -1;
}
