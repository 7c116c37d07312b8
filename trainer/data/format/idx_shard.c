/* Shards of IDX, as MNIST, Fashion-MNIST and their followers come: grey pictures in one file, their
 * labels in a second one beside it.
 *
 *     train-images-idx3-ubyte    u32 0x00000803, u32 count, u32 height, u32 width, pixels
 *     train-labels-idx1-ubyte    u32 0x00000801, u32 count, u8 labels
 *
 * all big-endian. The name of the second is the name of the first with "labels" for "images" and
 * "idx1" for "idx3". Pictures are handed out as PNM files. Source: yann.lecun.com/exdb/mnist. */
#include "common/binary/big_endian.h"
#include "common/cleanup.h"
#include "trainer/data/codec/pnm.h"
#include "trainer/data/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_IMAGES = 0x0803, MAGIC_LABELS = 0x0801, SIDE_MAX = 16384 };
enum { IMAGES_HEAD = 16, LABELS_HEAD = 8 };

struct idx_head {
    uint32_t count;
    uint32_t height;
    uint32_t width;
};

static bool is_idx(const char *name, const uint8_t *bytes, size_t size) {
    (void)name;
    return size >= IMAGES_HEAD && big_endian_u32(bytes) == MAGIC_IMAGES;
}

static int read_head(const struct shard_file *file, struct idx_head *ret, struct error *err) {
    uint8_t head[IMAGES_HEAD];
    if (file->size < sizeof(head))
        return shard_file_bad(file, 0, err, "the file ends within its header");
    if (shard_file_read(file, 0, head, sizeof(head), err) != 0)
        return -1;
    *ret = (struct idx_head){big_endian_u32(head + 4), big_endian_u32(head + 8),
                             big_endian_u32(head + 12)};
    if (big_endian_u32(head) != MAGIC_IMAGES || ret->height == 0 || ret->width == 0 ||
        ret->height > SIDE_MAX || ret->width > SIDE_MAX)
        return shard_file_bad(file, 0, err,
                              "a header of %" PRIu32 " pictures of %" PRIu32 " x %" PRIu32
                              " pixels; expected sides from 1 to %d",
                              ret->count, ret->width, ret->height, SIDE_MAX);
    return 0;
}

/* Replaces the last FROM in the name of the file by TO, of the same length. */
static void rename_part(char path[PATH_MAX], const char *from, const char *to) {
    char *slash = strrchr(path, '/');
    char *last = NULL;
    for (char *at = slash != NULL ? slash : path; (at = strstr(at, from)) != NULL; at++)
        last = at;
    if (last != NULL)
        memcpy(last, to, strlen(to));
}

/* Reads the labels of the pictures in FILE into *RET, [count]; free() them. */
static int read_labels(const struct shard_file *file, uint32_t count, uint8_t **ret,
                       struct error *err) {
    cleanup_shard_file struct shard_file labels = SHARD_FILE_CLOSED;
    char path[PATH_MAX];
    uint8_t head[LABELS_HEAD];
    (void)snprintf(path, sizeof(path), "%s", file->path);
    rename_part(path, "images", "labels");
    rename_part(path, "idx3", "idx1");
    if (strcmp(path, file->path) == 0)
        return shard_file_bad(file, 0, err,
                              "its labels are not known; expected 'images' in the name of this "
                              "file, and a file beside it with 'labels' there");
    if (shard_file_open(&labels, path, err) != 0) {
        if (err != NULL && err->os_errno == ENOENT)
            err->code = EXIT_CODE_DATA;
        return error_wrap(err, "labels of %s", file->path);
    }
    if (labels.size < sizeof(head) || labels.size - sizeof(head) < count)
        return shard_file_bad(&labels, 0, err,
                              "%" PRIu64 " bytes; expected the labels of %" PRIu32 " pictures",
                              labels.size, count);
    if (shard_file_read(&labels, 0, head, sizeof(head), err) != 0)
        return -1;
    if (big_endian_u32(head) != MAGIC_LABELS || big_endian_u32(head + 4) != count)
        return shard_file_bad(&labels, 0, err, "not the labels of the %" PRIu32 " pictures in %s",
                              count, file->path);
    *ret = malloc((size_t)count + 1);
    return *ret == NULL ? error_no_memory(err, "labels")
                        : shard_file_read(&labels, sizeof(head), *ret, count, err);
}

static int scan_pictures(const struct shard_file *file, const struct idx_head *head,
                         const uint8_t *labels, const struct shard_sink *sink, struct error *err) {
    const uint64_t pixels = (uint64_t)head->height * head->width;
    char ignored[PNM_HEADER_MAX];
    const size_t extra = pnm_header(ignored, true, (int)head->width, (int)head->height);
    struct error why = {0};
    uint64_t at = IMAGES_HEAD;
    for (uint32_t i = 0; i < head->count; i++, at += pixels) {
        if (file->size - at < pixels) {
            (void)shard_file_bad(file, at, &why,
                                 "the file ends with picture %" PRIu32 " of %" PRIu32, i,
                                 head->count);
            const struct shard_loss rest = {at, file->size, head->count - i};
            return format_report_lost(sink, &rest, &why, err);
        }
        const struct shard_sample sample = {
            .offset = at,
            .bytes = pixels,
            .picture_bytes = extra + pixels,
            .label = labels[i],
        };
        if (sink->add(sink->context, &sample, err) != 0)
            return -1;
    }
    return 0;
}

static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct idx_head head = {0};
    struct error why = {0};
    cleanup_free uint8_t *labels = NULL;
    if (read_head(file, &head, &why) != 0 || read_labels(file, head.count, &labels, &why) != 0) {
        const struct shard_loss all = {0, file->size, head.count};
        return format_report_lost(sink, &all, &why, err);
    }
    return scan_pictures(file, &head, labels, sink, err);
}

static int read_picture(const struct shard_file *file, uint64_t offset, uint64_t bytes,
                        struct buf *out, struct error *err) {
    struct idx_head head;
    char text[PNM_HEADER_MAX];
    if (read_head(file, &head, err) != 0)
        return -1;
    if ((uint64_t)head.height * head.width != bytes)
        return shard_file_bad(file, offset, err, "the file has changed since it was scanned");
    const size_t size = pnm_header(text, true, (int)head.width, (int)head.height);
    buf_consume(out, out->size);
    if (buf_add(out, text, size, err) != 0 || buf_reserve(out, (size_t)bytes, err) != 0 ||
        shard_file_read(file, offset, out->data + out->size, (size_t)bytes, err) != 0)
        return -1;
    out->size += (size_t)bytes;
    out->data[out->size] = '\0';
    return 0;
}

const struct format FORMAT_IDX = {.name = "idx", .is = is_idx, .scan = scan, .read = read_picture};
