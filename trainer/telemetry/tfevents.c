#include "telemetry/tfevents.h"

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Field numbers and wire types of the messages; a key is number << 3 | type. */
enum {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5,
    EVENT_WALL_TIME = 1,    /* double, seconds since 1970 */
    EVENT_STEP = 2,         /* int64 */
    EVENT_FILE_VERSION = 3, /* string */
    EVENT_SUMMARY = 5,      /* Summary */
    SUMMARY_VALUE = 1,      /* Summary.Value, repeated */
    VALUE_TAG = 1,          /* string */
    VALUE_SIMPLE = 2,       /* float */
};

enum {
    VALUE_MAX = TFEVENTS_TAG_MAX + 16,
    EVENT_MAX = 64 + TFEVENTS_SCALARS_MAX * (VALUE_MAX + 4),
    RECORD_EXTRA = 16, /* length, its checksum, the data's checksum */
};

/* A message under way. Sizes are bounded by the limits above, so nothing is checked here. */
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

/* One write a record: what a killed run leaves is whole but for the last. */
static int write_record(int fd, const struct message *m, struct error *err) {
    uint8_t record[EVENT_MAX + RECORD_EXTRA];
    put_little(record, m->size, 8);
    put_little(record + 8, crc32c_mask(crc32c(0, record, 8)), 4);
    memcpy(record + 12, m->bytes, m->size);
    put_little(record + 12 + m->size, crc32c_mask(crc32c(0, m->bytes, m->size)), 4);
    return file_write_all(fd, record, m->size + RECORD_EXTRA, err);
}

int tfevents_open(struct tfevents *events, const char *folder, const char *host, int64_t wall,
                  struct error *err) {
    static const char version[] = "brain.Event:2";
    char path[PATH_MAX];
    events->fd = -1;
    int length = snprintf(path, sizeof(path), "%s/events.out.tfevents.%010lld.%s", folder,
                          (long long)(wall / CLOCK_SECOND), host);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    if (file_make_dirs(folder, err) != 0)
        return -1;
    events->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
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

int tfevents_add(struct tfevents *events, int64_t wall, int64_t step,
                 const struct tfevents_scalar *scalars, size_t count, struct error *err) {
    struct message m = {.size = 0};
    struct message summary = {.size = 0};
    if (count > TFEVENTS_SCALARS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu scalars at once; %d are the most", count,
                         TFEVENTS_SCALARS_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(scalars[i].tag);
        if (length > TFEVENTS_TAG_MAX)
            return error_set(err, EXIT_CODE_INTERNAL, "%s: a tag of %zu bytes", scalars[i].tag,
                             length);
        struct message value = {.size = 0};
        put_bytes(&value, VALUE_TAG, scalars[i].tag, length);
        put_float(&value, VALUE_SIMPLE, (float)scalars[i].value);
        put_bytes(&summary, SUMMARY_VALUE, value.bytes, value.size);
    }
    put_double(&m, EVENT_WALL_TIME, (double)wall / (double)CLOCK_SECOND);
    put_key(&m, EVENT_STEP, WIRE_VARINT);
    put_varint(&m, (uint64_t)step);
    put_bytes(&m, EVENT_SUMMARY, summary.bytes, summary.size);
    if (write_record(events->fd, &m, err) != 0)
        return error_wrap(err, "TensorBoard events");
    return 0;
}

void tfevents_done(struct tfevents *events) {
    if (events->fd >= 0)
        (void)close(events->fd);
    events->fd = -1;
}
