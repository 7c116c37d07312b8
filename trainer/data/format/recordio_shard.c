/* Shards of RecordIO that hold an image record for each picture. */
#include "trainer/data/format/format.h"
#include "trainer/data/format/recordio.h"

#include <inttypes.h>
#include <string.h>

/* Parses the image header of the record at OFFSET. A split within the header, where an id equals
 * the magic, is rare: then the whole record is read. */
static int look(struct shard_window *window, uint64_t offset, const struct recordio_record *record,
                struct recordio_image *ret, struct error *err) {
    enum { LABELS_AT_ONCE = 64, WANTED = RECORDIO_IMAGE_HEAD + LABELS_AT_ONCE * 4 };
    const bool whole = record->bytes - record->payload < RECORDIO_HEAD + 4;
    const size_t size = record->payload < WANTED ? (size_t)record->payload : WANTED;
    const uint8_t *bytes =
        whole ? shard_window_get(window, offset + RECORDIO_HEAD, size, err) : NULL;
    if (whole && bytes == NULL)
        return -1;
    if (whole && (size == record->payload || recordio_image_parse(ret, bytes, size, NULL) == 0))
        return recordio_image_parse(ret, bytes, size, err);
    cleanup_buf struct buf payload = {.max = RECORDIO_BYTES_MAX};
    return recordio_read(window->file, offset, record->bytes, &payload, err) != 0
               ? -1
               : recordio_image_parse(ret, (const uint8_t *)payload.data, payload.size, err);
}

static int scan_record(struct shard_window *window, uint64_t offset,
                       const struct recordio_record *record, const struct shard_sink *sink,
                       struct error *err) {
    struct recordio_image image;
    struct error why = {0};
    if (look(window, offset, record, &image, &why) != 0) {
        if (why.code == EXIT_CODE_DATA)
            (void)error_wrap(&why, "%s: at byte %" PRIu64, window->file->path, offset);
        return format_report_bad(sink, &why, err);
    }
    const struct shard_sample sample = {
        .offset = offset,
        .bytes = record->bytes,
        .picture_bytes = record->payload - image.size,
        .label = image.label,
        .id = image.id,
    };
    return sink->add(sink->context, &sample, err);
}

static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct shard_window window = {.file = file};
    struct recordio_record record;
    struct error why = {0};
    uint64_t at = 0;
    int more = 0;
    while ((more = recordio_next(&window, at, &record, &why)) == 1) {
        if (scan_record(&window, at, &record, sink, err) != 0)
            return -1;
        at += record.bytes;
    }
    return more == 0 ? 0 : format_report_rest(sink, file, at, &why, err);
}

/* Moves the picture to the front of the buffer. */
static int read_picture(const struct shard_file *file, uint64_t offset, uint64_t bytes,
                        struct buf *out, struct error *err) {
    struct recordio_image image;
    if (recordio_read(file, offset, bytes, out, err) != 0)
        return -1;
    if (recordio_image_parse(&image, (const uint8_t *)out->data, out->size, err) != 0)
        return error_wrap(err, "%s: at byte %" PRIu64, file->path, offset);
    buf_consume(out, image.size);
    return 0;
}

static int write_picture(struct buf *out, const struct shard_record *record, struct error *err) {
    return recordio_write(out, record->label, record->number, record->picture, record->size, err);
}

static bool is_recordio(const char *name, const uint8_t *bytes, size_t size) {
    (void)name;
    return recordio_is(bytes, size);
}

const struct format FORMAT_RECORDIO = {
    .name = "recordio",
    .suffix = ".rec",
    .is = is_recordio,
    .scan = scan,
    .read = read_picture,
    .write = write_picture,
    .index_suffix = ".idx",
    .indexed = true,
};
