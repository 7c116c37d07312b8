/* Shards of CIFAR's binary version: pictures of 32 x 32 pixels, one after the other, each after its
 * label.
 *
 *     CIFAR-10     u8 label, 3072 bytes                     data_batch_1.bin ..., test_batch.bin
 *     CIFAR-100    u8 coarse label, u8 fine label, 3072     train.bin, test.bin
 *
 * The bytes are the red, the green and the blue plane. Files have no header, so that their names
 * tell what they are. Pictures are handed out as PNM files. Source: cs.toronto.edu/~kriz/cifar. */
#include "common/str.h"
#include "trainer/data/codec/pnm.h"
#include "trainer/data/format/format.h"

#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = PLANE * IMAGE_CHANNELS };

/* One of the two versions. */
struct cifar {
    size_t labels; /* bytes before the pixels; the last one counts */
    int64_t classes;
};

static const struct cifar CIFAR10 = {1, 10};
static const struct cifar CIFAR100 = {2, 100};

static bool is_cifar10(const char *name, const uint8_t *bytes, size_t size) {
    (void)bytes;
    return size > 0 && str_ends_with(name, ".bin") &&
           (str_starts_with(name, "data_batch") || str_starts_with(name, "test_batch"));
}

static bool is_cifar100(const char *name, const uint8_t *bytes, size_t size) {
    (void)bytes;
    return size > 0 && (strcmp(name, "train.bin") == 0 || strcmp(name, "test.bin") == 0);
}

static size_t header(char to[PNM_HEADER_MAX]) {
    return pnm_header(to, false, SIDE, SIDE);
}

static int scan_record(const struct cifar *c, struct shard_window *window, uint64_t offset,
                       const struct shard_sink *sink, struct error *err) {
    char ignored[PNM_HEADER_MAX];
    struct error why = {0};
    const uint8_t *labels = shard_window_get(window, offset, c->labels, err);
    if (labels == NULL)
        return -1;
    const int64_t label = labels[c->labels - 1];
    if (label >= c->classes) {
        (void)shard_file_bad(window->file, offset, &why,
                             "a picture of class %d; expected classes from 0 to %d", (int)label,
                             (int)c->classes - 1);
        return format_report_bad(sink, &why, err);
    }
    const struct shard_sample sample = {
        .offset = offset,
        .bytes = c->labels + PIXELS,
        .picture_bytes = header(ignored) + PIXELS,
        .label = label,
    };
    return sink->add(sink->context, &sample, err);
}

static int scan(const struct cifar *c, const struct shard_file *file, const struct shard_sink *sink,
                struct error *err) {
    struct shard_window window = {.file = file};
    struct error why = {0};
    const size_t record = c->labels + PIXELS;
    uint64_t at = 0;
    for (; record <= file->size - at; at += record)
        if (scan_record(c, &window, at, sink, err) != 0)
            return -1;
    if (at == file->size)
        return 0;
    (void)shard_file_bad(file, at, &why, "the file ends within a picture");
    return format_report_rest(sink, file, at, &why, err);
}

static int read_picture(const struct cifar *c, const struct shard_file *file, uint64_t offset,
                        struct buf *out, struct error *err) {
    uint8_t planes[PIXELS];
    uint8_t pixels[PIXELS];
    char head[PNM_HEADER_MAX];
    const size_t size = header(head);
    if (shard_file_read(file, offset + c->labels, planes, sizeof(planes), err) != 0)
        return -1;
    for (size_t i = 0; i < PLANE; i++)
        for (size_t channel = 0; channel < IMAGE_CHANNELS; channel++)
            pixels[i * IMAGE_CHANNELS + channel] = planes[channel * PLANE + i];
    buf_consume(out, out->size);
    return buf_add(out, head, size, err) != 0 ? -1 : buf_add(out, pixels, sizeof(pixels), err);
}

static int scan_10(const struct shard_file *file, const struct shard_sink *sink,
                   struct error *err) {
    return scan(&CIFAR10, file, sink, err);
}

static int scan_100(const struct shard_file *file, const struct shard_sink *sink,
                    struct error *err) {
    return scan(&CIFAR100, file, sink, err);
}

static int read_10(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                   struct error *err) {
    (void)bytes;
    return read_picture(&CIFAR10, file, offset, out, err);
}

static int read_100(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                    struct error *err) {
    (void)bytes;
    return read_picture(&CIFAR100, file, offset, out, err);
}

const struct format FORMAT_CIFAR10 = {
    .name = "cifar10", .is = is_cifar10, .scan = scan_10, .read = read_10};
const struct format FORMAT_CIFAR100 = {
    .name = "cifar100", .is = is_cifar100, .scan = scan_100, .read = read_100};
