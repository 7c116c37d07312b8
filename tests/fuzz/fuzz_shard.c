/* Shards of any format, by their first byte: whatever the bytes are, a scan ends, each sample lies
 * within the shard, and reading it gives a picture or an error of the data. */
#include "tests/fuzz/check.h"
#include "trainer/data/format/formats.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PICTURE_MAX = 1 << 24 };

struct seen {
    const struct format *format;
    const struct shard_file *file;
    uint64_t last; /* offset of the last sample */
    bool any;
};

static int add(void *context, const struct shard_sample *sample, struct error *err) {
    struct seen *seen = context;
    cleanup_buf struct buf picture = {.max = PICTURE_MAX};
    struct error why = {0};
    (void)err;
    CHECK(sample->offset <= seen->file->size);
    CHECK(sample->bytes <= seen->file->size - sample->offset);
    CHECK(sample->label >= SHARD_NO_LABEL);
    CHECK(!seen->any || sample->offset > seen->last);
    seen->any = true;
    seen->last = sample->offset;
    if (seen->format->read(seen->file, sample->offset, sample->bytes, &picture, &why) == 0)
        CHECK(picture.size == sample->picture_bytes);
    else
        CHECK(why.code == EXIT_CODE_DATA && why.text[0] != '\0');
    return 0;
}

static int bad(void *context, const struct error *why, struct error *err) {
    (void)context;
    (void)err;
    CHECK(why->code == EXIT_CODE_DATA && why->text[0] != '\0');
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct format *const formats[] = {&FORMAT_TAR, &FORMAT_TFRECORD, &FORMAT_RECORDIO};
    struct error err = {0};
    if (size == 0)
        return 0;
    const int fd = memfd_create("shard", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    const struct shard_file file = {fd, "shard", size - 1};
    struct seen seen = {.format = formats[data[0] % 3], .file = &file};
    const struct shard_sink sink = {add, bad, &seen};
    (void)format_of(data + 1, size - 1 < FORMAT_HEAD_SIZE ? size - 1 : FORMAT_HEAD_SIZE);
    CHECK(seen.format->scan(&file, &sink, &err) == 0);
    close(fd);
    return 0;
}
