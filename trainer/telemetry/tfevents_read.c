#include "trainer/telemetry/tfevents_read.h"

#include "common/str.h"
#include "trainer/telemetry/tfevents.h"
#include "trainer/telemetry/tfevents_format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_MAX = 1024, /* of an event: its step, its kind and the first tag lie in front */
    CHECKSUM = 4,
};

struct step_query {
    int64_t step;
    const char *prefix;
    bool found;
};

/* --- messages -------------------------------------------------------------------------------- */

/* A message, of which the end may be missing. */
struct piece {
    const uint8_t *at;
    size_t left;
};

struct field {
    unsigned number;
    uint64_t value;     /* of a varint */
    struct piece bytes; /* of a message or text */
};

static bool take_varint(struct piece *p, uint64_t *ret) {
    *ret = 0;
    for (unsigned shift = 0; p->left > 0 && shift < 64; shift += 7) {
        const uint8_t byte = *p->at;
        p->at++;
        p->left--;
        *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static void skip(struct piece *p, uint64_t size) {
    const size_t step = size < p->left ? (size_t)size : p->left;
    p->at += step;
    p->left -= step;
}

static bool take_field(struct piece *p, struct field *ret) {
    uint64_t key = 0;
    *ret = (struct field){0};
    if (!take_varint(p, &key))
        return false;
    ret->number = (unsigned)(key >> 3);
    switch (key & 7) {
    case WIRE_VARINT:
        return take_varint(p, &ret->value);
    case WIRE_64:
        skip(p, 8);
        return true;
    case WIRE_32:
        skip(p, 4);
        return true;
    case WIRE_BYTES:
        if (!take_varint(p, &ret->value))
            return false;
        ret->bytes = (struct piece){p->at, ret->value < p->left ? (size_t)ret->value : p->left};
        skip(p, ret->value);
        return true;
    default:
        return false;
    }
}

/* The first field of P that is called NUMBER. */
static bool find_field(struct piece p, unsigned number, struct field *ret) {
    while (take_field(&p, ret))
        if (ret->number == number)
            return true;
    return false;
}

/* The scalars of one event begin alike: that of its first one will do. */
static void judge(struct step_query *q, struct piece event) {
    struct field step, part, tag;
    const int64_t number =
        find_field(event, EVENT_STEP, &step) ? (int64_t)(step.value & INT64_MAX) : 0;
    if (find_field(event, EVENT_SESSION, &part) && number <= q->step &&
        find_field(part.bytes, SESSION_STATUS, &step) && step.value == SESSION_START)
        q->found = false;
    const size_t size = strlen(q->prefix);
    if (number == q->step && find_field(event, EVENT_SUMMARY, &part) &&
        find_field(part.bytes, SUMMARY_VALUE, &part) && find_field(part.bytes, VALUE_TAG, &tag) &&
        tag.bytes.left >= size && memcmp(tag.bytes.at, q->prefix, size) == 0)
        q->found = true;
}

/* --- files ----------------------------------------------------------------------------------- */

static uint64_t little(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* False at the end of FILE and where a record ends before its time. */
static bool read_record(FILE *file, struct step_query *q) {
    uint8_t head[RECORD_HEAD];
    uint8_t data[HEAD_MAX];
    if (fread(head, 1, sizeof(head), file) != sizeof(head))
        return false;
    const uint64_t size = little(head);
    const size_t known = size < sizeof(data) ? (size_t)size : sizeof(data);
    if (size > (uint64_t)RECORD_MAX || fread(data, 1, known, file) != known ||
        fseeko(file, (off_t)(size - known), SEEK_CUR) != 0)
        return false;
    uint8_t checksum[CHECKSUM];
    if (fread(checksum, 1, sizeof(checksum), file) != sizeof(checksum))
        return false;
    judge(q, (struct piece){data, known});
    return true;
}

static int read_file(struct step_query *q, const char *folder, const char *name,
                     struct error *err) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX)
        return 0;
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    while (read_record(file, q))
        ;
    (void)fclose(file);
    return 0;
}

static int is_events(const struct dirent *entry) {
    return str_starts_with(entry->d_name, EVENTS_NAME) &&
           (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
}

/* As TensorBoard reads them: by name, which begins with the time. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int tfevents_holds(const char *folder, int64_t step, const char *prefix, bool *ret,
                   struct error *err) {
    struct step_query q = {.step = step, .prefix = prefix};
    struct dirent **entries = NULL;
    *ret = false;
    const int count = scandir(folder, &entries, is_events, by_name);
    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    int result = 0;
    for (int i = 0; i < count; i++) {
        result = result == 0 ? read_file(&q, folder, entries[i]->d_name, err) : result;
        free(entries[i]);
    }
    free((void *)entries);
    *ret = q.found;
    return result;
}
