/* Shards of any format, by their first byte: whatever the bytes are, a scan ends, each sample lies
 * within the shard, and reading it gives a picture or an error of the data. */
#include "tests/fuzz/check.h"
#include "trainer/data/format/formats.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static const char *labels_path, *labels_folder;

static void remove_labels(void) {
    (void)unlink(labels_path);
    (void)rmdir(labels_folder);
}

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

static int lost(void *context, const struct shard_loss *loss, const struct error *why,
                struct error *err) {
    const struct seen *seen = context;
    CHECK(loss->begin <= loss->end && loss->end <= seen->file->size);
    return bad(context, why, err);
}

/* Writes the labels of as many pictures as an IDX announces. Returns the path of its pictures. */
static const char *put_labels(const uint8_t *data, size_t size) {
    static char folder[] = "/tmp/fuzz_shard.XXXXXX";
    static char labels[sizeof(folder) + 16];
    static char images[sizeof(folder) + 16];
    uint8_t bytes[8 + 64] = {0, 0, 8, 1};
    if (labels[0] == '\0') {
        CHECK(mkdtemp(folder) != NULL);
        (void)snprintf(labels, sizeof(labels), "%s/labels", folder);
        (void)snprintf(images, sizeof(images), "%s/images", folder);
        CHECK(atexit(remove_labels) == 0);
        labels_path = labels;
        labels_folder = folder;
    }
    if (size >= 9)
        memcpy(bytes + 4, data + 5, 4);
    const int fd = open(labels, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
    close(fd);
    return images;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct format *const formats[] = {
        &FORMAT_TAR,      &FORMAT_TFRECORD, &FORMAT_RECORDIO,  &FORMAT_CIFAR10,
        &FORMAT_CIFAR100, &FORMAT_IDX,      &FORMAT_NESTED_TAR};
    enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };
    struct error err = {0};
    if (size == 0)
        return 0;
    const int fd = memfd_create("shard", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    const struct shard_file file = {fd, put_labels(data, size), size - 1};
    struct seen seen = {.format = formats[data[0] % FORMATS], .file = &file};
    const struct shard_sink sink = {add, bad, lost, &seen};
    (void)format_of("t10k-images-idx3-ubyte", data + 1,
                    size - 1 < FORMAT_HEAD_SIZE ? size - 1 : FORMAT_HEAD_SIZE);
    CHECK(seen.format->scan(&file, &sink, &err) == 0);
    close(fd);
    return 0;
}
