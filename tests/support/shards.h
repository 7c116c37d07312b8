/* Shards for tests: files made of bytes, and a sink that keeps what a scan reports. */
#ifndef TESTS_SUPPORT_SHARDS_H
#define TESTS_SUPPORT_SHARDS_H

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/format/formats.h"

#include <stdio.h>
#include <string.h>

/* The path of NAME in the test's folder, valid until the next call but three. */
static inline const char *shards_path(const char *name) {
    static char paths[4][700];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, 700, "%s/%s", unit_temp_dir(), name);
    return path;
}

static inline void shards_put(const char *path, const void *bytes, size_t size) {
    CU_ASSERT_EQUAL_FATAL(file_put(path, bytes, size, 0644, NULL), 0);
}

enum { SHARDS_SEEN_MAX = 64 };

struct shards_seen {
    size_t count;
    struct shard_sample samples[SHARDS_SEEN_MAX];
    char names[SHARDS_SEEN_MAX][256];
    char classes[SHARDS_SEEN_MAX][256];
    size_t bad;
    struct shard_loss lost; /* of the last one, which counts as bad, too */
    char why[1024];         /* of the last bad record */
};

static inline int shards_add(void *context, const struct shard_sample *sample, struct error *err) {
    struct shards_seen *seen = context;
    (void)err;
    CU_ASSERT_FATAL(seen->count < SHARDS_SEEN_MAX);
    seen->samples[seen->count] = *sample;
    (void)snprintf(seen->names[seen->count], 256, "%.*s", (int)sample->name.size,
                   sample->name.size > 0 ? sample->name.bytes : "");
    (void)snprintf(seen->classes[seen->count++], 256, "%.*s", (int)sample->class_name.size,
                   sample->class_name.size > 0 ? sample->class_name.bytes : "");
    return 0;
}

static inline int shards_bad(void *context, const struct error *why, struct error *err) {
    struct shards_seen *seen = context;
    (void)err;
    seen->bad++;
    (void)snprintf(seen->why, sizeof(seen->why), "%s", why->text);
    return 0;
}

static inline int shards_lost(void *context, const struct shard_loss *loss, const struct error *why,
                              struct error *err) {
    struct shards_seen *seen = context;
    seen->lost = *loss;
    return shards_bad(context, why, err);
}

/* Scans a shard of these bytes. */
static inline void shards_scan_bytes(const struct format *format, const void *bytes, size_t size,
                                     struct shards_seen *seen) {
    const char *path = shards_path("scanned");
    struct shard_file file = SHARD_FILE_CLOSED;
    const struct shard_sink sink = {shards_add, shards_bad, shards_lost, seen};
    *seen = (struct shards_seen){0};
    shards_put(path, bytes, size);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL(format->scan(&file, &sink, NULL), 0);
    shard_file_done(&file);
}

/* Reads the picture of a sample of the shard that was scanned last. */
static inline void shards_read(const struct format *format, const struct shard_sample *sample,
                               const char *expected) {
    struct buf out = {.max = 1 << 20};
    struct shard_file file = SHARD_FILE_CLOSED;
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, shards_path("scanned"), NULL), 0);
    CU_ASSERT_EQUAL(format->read(&file, sample->offset, sample->bytes, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), expected);
    CU_ASSERT_EQUAL(sample->picture_bytes, strlen(expected));
    buf_done(&out);
    shard_file_done(&file);
}

#endif
