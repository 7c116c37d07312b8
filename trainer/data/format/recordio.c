#include "trainer/data/format/recordio.h"

#include "common/binary/little_endian.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The container alone: records, their parts and padding. recordio_shard.c makes samples of them.
 * Its framing has no checksums, so that damage shows only where the next magic number should be. A
 * damaged length therefore loses all records after it.
 *
 * Scanning reads the heads of parts and skips their payloads. Reading loads a record with all of
 * its parts and joins them in place, which never needs more room than the parts themselves. */

/* Kinds of parts, in the upper three bits of the second word. */
enum { KIND_WHOLE, KIND_FIRST, KIND_MIDDLE, KIND_LAST };
enum { KIND_SHIFT = 29, ALIGNMENT = 4 };

static const uint32_t MAGIC = 0xced7230a;

/* All numbers of the format are little-endian, on any machine. */
static uint32_t u32_at(const uint8_t *bytes) {
    return (uint32_t)little_endian_get(bytes, sizeof(uint32_t));
}

/* Size of a payload with the zeros after it. */
static size_t padded(size_t size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A shard begins with a record, not with a later part of one. */
bool recordio_is(const uint8_t *bytes, size_t size) {
    return size >= RECORDIO_HEAD && u32_at(bytes) == MAGIC &&
           u32_at(bytes + 4) >> KIND_SHIFT <= KIND_FIRST;
}

/* Checks the head of a part and sets its kind and size. A record begins with FIRST or WHOLE and
 * continues to LAST; BEGINS says which of the two is due. All other kinds are damage. */
static int read_head(const struct shard_file *file, const uint8_t *head, uint64_t offset,
                     bool begins, unsigned *ret_kind, size_t *ret_size, struct error *err) {
    if (u32_at(head) != MAGIC)
        return shard_file_bad(file, offset, err,
                              "no record begins here: damaged or not a RecordIO file; the records "
                              "from here on are not readable");
    /* Three bits; four of the eight kinds are not used. */
    const unsigned kind = u32_at(head + 4) >> KIND_SHIFT;
    const bool good = begins ? kind <= KIND_FIRST : kind == KIND_MIDDLE || kind == KIND_LAST;
    if (!good)
        return shard_file_bad(file, offset, err, "a part of kind %u %s", kind,
                              begins ? "where a record begins" : "within a record");
    *ret_kind = kind;
    *ret_size = u32_at(head + 4) & RECORDIO_BYTES_MAX;
    return 0;
}

/* Follows a record from part to part. The magic that a writer left out at each split counts for the
 * payload. Ceilings are checked after each part, so that a chain of parts cannot continue without
 * end. */
int recordio_next(struct shard_window *window, uint64_t offset, struct recordio_record *ret,
                  struct error *err) {
    const struct shard_file *file = window->file;
    unsigned kind = KIND_WHOLE;
    *ret = (struct recordio_record){0};
    if (offset == file->size)
        return 0;
    do {
        size_t size = 0;
        /* The next part begins where the last one's padding ends. */
        const uint64_t at = offset + ret->bytes;
        const uint8_t *head = shard_window_get(window, at, RECORDIO_HEAD, err);
        if (head == NULL || read_head(file, head, at, ret->bytes == 0, &kind, &size, err) != 0)
            return -1;
        ret->payload += size + (ret->bytes > 0 ? sizeof(MAGIC) : 0);
        ret->bytes += RECORDIO_HEAD + padded(size);
        if (ret->payload > RECORDIO_BYTES_MAX)
            return shard_file_bad(file, offset, err, "a record of more than %d bytes",
                                  RECORDIO_BYTES_MAX);
        if (ret->bytes > file->size - offset)
            return shard_file_bad(file, offset, err, "the file ends within a record");
    } while (kind == KIND_FIRST || kind == KIND_MIDDLE);
    return 1;
}

/* Joins the parts in OUT, in place, and puts the magic back at each split: it is copied from the
 * head of the part that follows. The target never overtakes the source, as heads and padding are
 * dropped. The file may have changed since the scan, so that all is checked again. */
static int join(const struct shard_file *file, uint64_t offset, struct buf *out,
                struct error *err) {
    uint8_t *bytes = (uint8_t *)out->data;
    size_t from = 0;
    size_t to = 0;
    unsigned kind = KIND_WHOLE;
    do {
        size_t size = 0;
        if (out->size - from < RECORDIO_HEAD ||
            read_head(file, bytes + from, offset + from, from == 0, &kind, &size, err) != 0 ||
            out->size - from - RECORDIO_HEAD < size)
            return shard_file_bad(file, offset, err, "the record has changed since it was found");
        if (from > 0) { /* the magic at which the writer split */
            memmove(bytes + to, bytes + from, sizeof(MAGIC));
            to += sizeof(MAGIC);
        }
        memmove(bytes + to, bytes + from + RECORDIO_HEAD, size);
        to += size;
        from += RECORDIO_HEAD + padded(size);
    } while (kind == KIND_FIRST || kind == KIND_MIDDLE);
    out->size = to;
    out->data[to] = '\0';
    return 0;
}

/* A failure in the middle leaves OUT with some of the record's bytes. */
int recordio_read(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                  struct error *err) {
    return shard_file_load(file, offset, bytes, out, err) != 0 ? -1 : join(file, offset, out, err);
}

/* Parses a label, an f32. The comparison is written so that NaN fails it. */
static int whole_label(const uint8_t *bytes, int64_t *ret, struct error *err) {
    const uint32_t bits = u32_at(bytes);
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    if (!(value >= 0) || value != floorf(value) || value > (float)INT32_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "the label %g is not a class; expected a whole number from 0 on",
                         (double)value);
    *ret = (int64_t)value;
    return 0;
}

/* FLAG counts the labels in a list after the header; 0 means that the only label is in the header
 * itself. A number that no list could have is typical of SageMaker's own RecordIO, which the
 * message names. */
int recordio_image_parse(struct recordio_image *ret, const uint8_t *bytes, size_t size,
                         struct error *err) {
    if (size < RECORDIO_IMAGE_HEAD)
        return error_set(err, EXIT_CODE_DATA,
                         "a record of %zu bytes; expected %d or more, the header of a picture",
                         size, RECORDIO_IMAGE_HEAD);
    const uint32_t flag = u32_at(bytes);
    if (flag > RECORDIO_LABELS_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "a record of %" PRIu32 " labels; at most %d are allowed (im2rec's image "
                         "records are read, not SageMaker's protobuf records)",
                         flag, RECORDIO_LABELS_MAX);
    *ret = (struct recordio_image){.labels = flag == 0 ? 1 : flag,
                                   .id = little_endian_get(bytes + 8, sizeof(uint64_t)),
                                   .size = RECORDIO_IMAGE_HEAD + flag * sizeof(float)};
    if (ret->size > size)
        return error_set(err, EXIT_CODE_DATA,
                         "a record of %zu bytes; expected %zu or more for %" PRIu32 " labels", size,
                         ret->size, flag);
    return whole_label(flag == 0 ? bytes + 4 : bytes + RECORDIO_IMAGE_HEAD, &ret->label, err);
}

static int add_u32(struct buf *out, uint32_t value, struct error *err) {
    uint8_t bytes[sizeof(value)];
    little_endian_put(bytes, value, sizeof(bytes));
    return buf_add(out, bytes, sizeof(bytes), err);
}

/* Appends a part: head, payload, and zeros up to a multiple of four. */
static int add_part(struct buf *out, unsigned kind, const uint8_t *bytes, size_t size,
                    struct error *err) {
    static const uint8_t zeros[ALIGNMENT];
    return add_u32(out, MAGIC, err) != 0 ||
                   add_u32(out, kind << KIND_SHIFT | (uint32_t)size, err) != 0 ||
                   buf_add(out, bytes, size, err) != 0
               ? -1
               : buf_add(out, zeros, padded(size) - size, err);
}

/* Appends a payload, split where the magic stands at a multiple of four. A reader that looks for
 * the magic after damage can thus trust that it begins a part. */
static int add_payload(struct buf *out, const uint8_t *bytes, size_t size, struct error *err) {
    size_t begin = 0;
    for (size_t at = 0; at + ALIGNMENT <= size; at += ALIGNMENT) {
        if (u32_at(bytes + at) != MAGIC)
            continue;
        if (add_part(out, begin == 0 ? KIND_FIRST : KIND_MIDDLE, bytes + begin, at - begin, err) !=
            0)
            return -1;
        begin = at + ALIGNMENT;
    }
    return add_part(out, begin == 0 ? KIND_WHOLE : KIND_LAST, bytes + begin, size - begin, err);
}

/* A header without a list: FLAG and the second id are 0. Class numbers are exact as f32, as they
 * are far below 2^24. */
int recordio_write(struct buf *out, int64_t label, uint64_t id, const void *picture, size_t size,
                   struct error *err) {
    /* Header and picture are put together first, since the magic may stand across their border. */
    cleanup_buf struct buf payload = {.max = size + RECORDIO_IMAGE_HEAD};
    const float value = (float)label;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    if (size > RECORDIO_BYTES_MAX - RECORDIO_IMAGE_HEAD)
        return error_set(err, EXIT_CODE_DATA,
                         "a picture of %zu bytes; a RecordIO record has at most %d", size,
                         RECORDIO_BYTES_MAX);
    if (add_u32(&payload, 0, err) != 0 || add_u32(&payload, bits, err) != 0 ||
        add_u32(&payload, (uint32_t)id, err) != 0 ||
        add_u32(&payload, (uint32_t)(id >> 32), err) != 0 || add_u32(&payload, 0, err) != 0 ||
        add_u32(&payload, 0, err) != 0 || buf_add(&payload, picture, size, err) != 0)
        return -1;
    return add_payload(out, (const uint8_t *)payload.data, payload.size, err);
}
