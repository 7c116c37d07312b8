#include "trainer/telemetry/tfevents_read.h"

#include "common/binary/protobuf.h"
#include "common/binary/tfrecord.h"
#include "common/str.h"
#include "trainer/telemetry/tfevents.h"
#include "trainer/telemetry/tfevents_format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the largest event of scalars or of a begin of a run; larger ones are skipped. */
enum { EVENT_MAX = TFEVENTS_SCALARS_BYTES_MAX + 64 };

struct step_query {
    int64_t step;
    const char *prefix;
    bool found;
};

/* Finds the first field NUMBER of a message. */
static bool find_field(struct protobuf_view message, uint32_t number, struct protobuf_field *ret) {
    while (protobuf_next(&message, ret, NULL) == 1)
        if (ret->number == number)
            return true;
    return false;
}

/* The scalars of one event begin alike: that of its first one will do. */
static void judge(struct step_query *q, struct protobuf_view event) {
    struct protobuf_field step, part, tag;
    const int64_t number =
        find_field(event, EVENT_STEP, &step) ? (int64_t)(step.value & INT64_MAX) : 0;
    if (find_field(event, EVENT_SESSION, &part) && number <= q->step &&
        find_field(part.view, SESSION_STATUS, &step) && step.value == SESSION_START)
        q->found = false;
    const size_t size = strlen(q->prefix);
    if (number == q->step && find_field(event, EVENT_SUMMARY, &part) &&
        find_field(part.view, SUMMARY_VALUE, &part) && find_field(part.view, VALUE_TAG, &tag) &&
        tag.view.size >= size && memcmp(tag.view.bytes, q->prefix, size) == 0)
        q->found = true;
}

/* Returns false at the end of FILE, and where no whole record follows. */
static bool read_record(FILE *file, struct step_query *q) {
    uint8_t head[TFRECORD_HEAD];
    uint8_t data[EVENT_MAX];
    uint8_t foot[TFRECORD_FOOT];
    uint64_t size = 0;
    if (fread(head, 1, sizeof(head), file) != sizeof(head) || !tfrecord_head_read(head, &size))
        return false;
    const bool small = size <= sizeof(data);
    if (small ? fread(data, 1, (size_t)size, file) != size
              : size > INT64_MAX || fseeko(file, (off_t)size, SEEK_CUR) != 0)
        return false;
    if (fread(foot, 1, sizeof(foot), file) != sizeof(foot))
        return false;
    if (!small)
        return true;
    if (!tfrecord_foot_fits(foot, data, (size_t)size))
        return false;
    judge(q, (struct protobuf_view){data, (size_t)size});
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
