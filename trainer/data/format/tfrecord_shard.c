/* Shards of TFRecord that hold an Example for each picture. */
#include "common/binary/tfrecord.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/whole.h"
#include "trainer/data/format/example.h"
#include "trainer/data/format/format.h"

#include <inttypes.h>
#include <string.h>

enum { RECORD_BYTES_MAX = 256 << 20 };

static bool is_tfrecord(const char *name, const uint8_t *bytes, size_t size) {
    uint64_t data_bytes = 0;
    (void)name;
    return size >= TFRECORD_HEAD && tfrecord_head_read(bytes, &data_bytes);
}

/* Reads the head of the record at OFFSET and checks that its data is in the file. Returns 1, 0 at
 * the end of the file, or -1: where the next record begins is then unknown. */
static int next_record(struct shard_window *window, uint64_t offset, uint64_t *ret_size,
                       struct error *err) {
    const struct shard_file *file = window->file;
    if (offset == file->size)
        return 0;
    const uint8_t *head = shard_window_get(window, offset, TFRECORD_HEAD, err);
    if (head == NULL)
        return -1;
    if (!tfrecord_head_read(head, ret_size))
        return shard_file_bad(file, offset, err,
                              "the checksum of a record's length is wrong: damaged, compressed or "
                              "not a TFRecord file; the records from here on are not readable");
    if (*ret_size > RECORD_BYTES_MAX)
        return shard_file_bad(file, offset, err,
                              "a record of %" PRIu64 " bytes; at most %d are allowed", *ret_size,
                              RECORD_BYTES_MAX);
    if (*ret_size + TFRECORD_HEAD + TFRECORD_FOOT > file->size - offset)
        return shard_file_bad(file, offset, err,
                              "the file ends within a record of %" PRIu64 " bytes", *ret_size);
    return 1;
}

/* Replaces OUT by the SIZE bytes of data of the record at OFFSET; a wrong checksum is an error. */
static int read_record(const struct shard_file *file, uint64_t offset, uint64_t size,
                       struct buf *out, struct error *err) {
    uint8_t foot[TFRECORD_FOOT];
    if (shard_file_load(file, offset + TFRECORD_HEAD, size, out, err) != 0 ||
        shard_file_read(file, offset + TFRECORD_HEAD + size, foot, sizeof(foot), err) != 0)
        return -1;
    return tfrecord_foot_fits(foot, out->data, out->size)
               ? 0
               : shard_file_bad(file, offset, err, "the checksum of a record is wrong");
}

static struct shard_text text_of(struct protobuf_view view) {
    return (struct shard_text){(const char *)view.bytes, view.size};
}

static int check(const struct example_look *look, struct error *err) {
    if (look->picture_bytes == 0)
        return error_set(err, EXIT_CODE_DATA, "no image/encoded: the record holds no picture");
    if (look->example.labelled && look->example.label < 0)
        return error_set(err, EXIT_CODE_DATA, "the label %" PRId64 " is negative",
                         look->example.label);
    return 0;
}

static int scan_record(struct shard_window *window, uint64_t offset, uint64_t size,
                       const struct shard_sink *sink, struct error *err) {
    struct example_look look;
    struct error why = {0};
    if (example_look(&look, window, offset + TFRECORD_HEAD, size, &why) != 0 ||
        check(&look, &why) != 0) {
        if (why.code == EXIT_CODE_DATA)
            (void)error_wrap(&why, "%s: at byte %" PRIu64, window->file->path, offset);
        return format_report_bad(sink, &why, err);
    }
    const struct example *e = &look.example;
    const struct shard_sample sample = {
        .offset = offset,
        .bytes = size,
        .picture_bytes = look.picture_bytes,
        .label = e->labelled ? e->label : SHARD_NO_LABEL,
        .class_name = text_of(e->synset.size > 0 ? e->synset : e->text),
        .name = text_of(e->filename),
    };
    return sink->add(sink->context, &sample, err);
}

static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct shard_window window = {.file = file};
    struct error why = {0};
    uint64_t size = 0;
    uint64_t at = 0;
    int more = 0;
    while ((more = next_record(&window, at, &size, &why)) == 1) {
        if (scan_record(&window, at, size, sink, err) != 0)
            return -1;
        at += TFRECORD_HEAD + size + TFRECORD_FOOT;
    }
    return more == 0 ? 0 : format_report_rest(sink, file, at, &why, err);
}

/* Moves the picture to the front of the buffer. */
static int read_picture(const struct shard_file *file, uint64_t offset, uint64_t bytes,
                        struct buf *out, struct error *err) {
    struct example e;
    if (read_record(file, offset, bytes, out, err) != 0)
        return -1;
    if (example_parse(&e, (struct protobuf_view){(const uint8_t *)out->data, out->size}, err) != 0)
        return error_wrap(err, "%s: at byte %" PRIu64, file->path, offset);
    if (e.encoded.size == 0)
        return shard_file_bad(file, offset, err, "no image/encoded: the record holds no picture");
    memmove(out->data, e.encoded.bytes, e.encoded.size);
    out->size = e.encoded.size;
    out->data[out->size] = '\0';
    return 0;
}

static struct protobuf_view view_of(const char *text) {
    return (struct protobuf_view){(const uint8_t *)text, strlen(text)};
}

/* Reads the size from the picture's header. A picture that is damaged is written all the same. */
static void find_size(const struct shard_record *record, int *ret_width, int *ret_height) {
    cleanup_jpeg_decoder struct jpeg_decoder decoder = {0};
    const struct whole_format *format = whole_format_of(record->picture, record->size);
    *ret_width = *ret_height = 0;
    if (format != NULL) {
        if (whole_size(format, record->picture, record->size, ret_width, ret_height, NULL) != 0)
            *ret_width = *ret_height = 0;
    } else if (jpeg_decoder_init(&decoder, NULL) == 0 &&
               jpeg_open(&decoder, record->picture, record->size, NULL) == 0) {
        *ret_width = decoder.width;
        *ret_height = decoder.height;
    }
}

static int write_picture(struct buf *out, const struct shard_record *record, struct error *err) {
    cleanup_buf struct buf message = {.max = RECORD_BYTES_MAX};
    struct example e = {
        .encoded = {record->picture, record->size},
        .synset = view_of(record->class_name),
        .text = view_of(record->class_name),
        .filename = view_of(record->name),
        .label = record->label,
        .labelled = true,
    };
    find_size(record, &e.width, &e.height);
    return example_write(&message, &e, err) != 0
               ? -1
               : tfrecord_write(out, message.data, message.size, err);
}

const struct format FORMAT_TFRECORD = {
    .name = "tfrecord",
    .suffix = ".tfrecord",
    .is = is_tfrecord,
    .scan = scan,
    .read = read_picture,
    .write = write_picture,
    .indexed = true,
};
