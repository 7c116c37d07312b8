#include "tests/support/shards.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void pieces_are_read_where_they_are(void) {
    char bytes[10000];
    struct shard_file file = SHARD_FILE_CLOSED;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i % 251);
    const char *path = shards_path("pieces");
    shards_put(path, bytes, sizeof(bytes));
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL(file.size, sizeof(bytes));
    struct shard_window window = {.file = &file};
    const uint64_t offsets[] = {0, 10, 4090, 4095, 5000, 9990, 3};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        char got[10];
        const uint8_t *seen = shard_window_get(&window, offsets[i], sizeof(got), NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
        CU_ASSERT_EQUAL(memcmp(seen, bytes + offsets[i], sizeof(got)), 0);
        CU_ASSERT_EQUAL(shard_file_read(&file, offsets[i], got, sizeof(got), NULL), 0);
        CU_ASSERT_EQUAL(memcmp(got, bytes + offsets[i], sizeof(got)), 0);
    }
    shard_file_done(&file);
}

static void what_is_past_the_end_is_named(void) {
    struct shard_file file = SHARD_FILE_CLOSED;
    struct error err = {0};
    char got[8];
    const char *path = shards_path("short");
    shards_put(path, "12345", 5);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL(shard_file_read(&file, 2, got, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "short: at byte 2: the file ends at byte 5");
    CU_ASSERT_EQUAL(shard_file_read(&file, UINT64_MAX, got, 4, NULL), -1);
    struct shard_window window = {.file = &file};
    CU_ASSERT_PTR_NULL(shard_window_get(&window, 4, 2, NULL));
    CU_ASSERT_PTR_NOT_NULL(shard_window_get(&window, 4, 1, NULL));
    shard_file_done(&file);
}

static void a_file_that_becomes_shorter_is_noticed(void) {
    struct shard_file file = SHARD_FILE_CLOSED;
    struct error err = {0};
    char got[8];
    const char *path = shards_path("shrinks");
    shards_put(path, "1234567890", 10);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, 4), 0);
    CU_ASSERT_EQUAL(shard_file_read(&file, 0, got, 8, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "has become shorter");
    struct shard_window window = {.file = &file};
    CU_ASSERT_PTR_NULL(shard_window_get(&window, 0, 8, NULL));
    shard_file_done(&file);
}

static void only_regular_files_are_shards(void) {
    struct shard_file file = SHARD_FILE_CLOSED;
    struct error err = {0};
    CU_ASSERT_EQUAL(shard_file_open(&file, shards_path("absent"), &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
    const char *fifo = shards_path("fifo");
    CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
    CU_ASSERT_EQUAL(shard_file_open(&file, fifo, &err), -1);
    ASSERT_CONTAINS(err.text, "not a regular file");
    CU_ASSERT_EQUAL(file.fd, -1);
}

UNIT_SUITE("data.format.shard_file", UNIT(pieces_are_read_where_they_are),
           UNIT(what_is_past_the_end_is_named), UNIT(a_file_that_becomes_shorter_is_noticed),
           UNIT(only_regular_files_are_shards))
