/* Indexes of shards: whatever the bytes are, what is read from them lies within the shards. A first
 * byte of 1 has the checksums mended, so that what they cover is reached. */
#include "common/binary/little_endian.h"
#include "common/crc32c.h"
#include "tests/fuzz/check.h"
#include "trainer/data/dataset/shard_index.h"
#include "trainer/data/format/formats.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHARDS = 2, SHARD_BYTES = 6000, SECTIONS_AT = 48, HEAD_CRC_AT = 96 };

static char folder[] = "/tmp/fuzz_shard_index.XXXXXX";
static char paths[SHARDS][sizeof(folder) + 16];

static void remove_shards(void) {
    for (int i = 0; i < SHARDS; i++)
        (void)unlink(paths[i]);
    (void)rmdir(folder);
}

/* The shards that the seeds are of. */
static void make_shards(void) {
    static uint8_t bytes[SHARD_BYTES];
    memset(bytes, 'x', sizeof(bytes));
    CHECK(mkdtemp(folder) != NULL && atexit(remove_shards) == 0);
    for (int i = 0; i < SHARDS; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/s-%d", folder, i);
        const int fd = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
        close(fd);
    }
}

static void mend(uint8_t *bytes, size_t size) {
    size_t at = SHARD_INDEX_HEAD;
    for (int i = 0; i < 3 && size >= SHARD_INDEX_HEAD; i++) {
        uint8_t *entry = bytes + SECTIONS_AT + 16 * i;
        const uint64_t length = little_endian_get(entry, 8);
        if (length > size - at)
            break;
        little_endian_put(entry + 8, crc32c(0, bytes + at, (size_t)length), 4);
        at += (size_t)length;
    }
    if (size >= SHARD_INDEX_HEAD)
        little_endian_put(bytes + HEAD_CRC_AT, crc32c(0, bytes, HEAD_CRC_AT), 4);
}

static void check_rows(const struct shard_rows *rows) {
    CHECK(rows->count > 0 && rows->pathed <= rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct shard_row *row = &rows->items[i];
        CHECK(row->place.shard < SHARDS && row->place.bytes > 0);
        CHECK(row->place.offset + row->place.bytes <= SHARD_BYTES);
        CHECK(row->label >= SHARD_NO_LABEL && row->class_name >= -1);
        CHECK(row->class_name < (int64_t)rows->classes.count);
        CHECK(row->name_at < rows->names.size);
        CHECK(memchr(rows->names.data + row->name_at, '\0', rows->names.size - row->name_at) !=
              NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char *list[SHARDS];
    struct error err = {0};
    cleanup_shard_rows struct shard_rows rows = {0};
    if (list[0] == NULL) {
        make_shards();
        for (int i = 0; i < SHARDS; i++)
            list[i] = paths[i];
    }
    if (size == 0)
        return 0;
    const struct shard_list files = {.format = &FORMAT_TAR, .paths = list, .count = SHARDS};
    uint8_t *bytes = malloc(size);
    CHECK(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] == 1)
        mend(bytes, size - 1);
    shard_rows_init(&rows);
    if (shard_index_unpack(&rows, bytes, size - 1, &files, &err) == 0)
        check_rows(&rows);
    else
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    free(bytes);
    return 0;
}
