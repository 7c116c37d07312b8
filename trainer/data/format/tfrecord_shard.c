/* Shards of TFRecord that hold an Example for each picture.
 *
 * A record is a length, its checksum, the data and their checksum (common/binary/tfrecord.h). A
 * scan goes by the lengths and verifies only their checksums: to verify the data it would have to
 * read all pictures. Reading a sample verifies its data. After a wrong length nothing later can be
 * found; wrong data are one bad record. */
#include "common/binary/tfrecord.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/whole.h"
#include "trainer/data/format/example.h"
#include "trainer/data/format/format.h"

#include <inttypes.h>
#include <string.h>

enum { RECORD_BYTES_MAX = 256 << 20 }; /* ceiling of a buffer, against lengths that lie */

/* The checksum of the first length is 32 bits, which other files hardly have right by chance. */
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
    /* The ceiling above keeps the sum from overflowing. */
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

/* Valid as long as the look that the view is of, which the sink's call does not outlive. */
static struct shard_text text_of(struct protobuf_view view) {
    return (struct shard_text){(const char *)view.bytes, view.size};
}

/* Refuses an Example that cannot be a sample. One without a label may still have its class in a
 * name. */
static int check(const struct example_look *look, struct error *err) {
    if (look->picture_bytes == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "no image/encoded; expected the bytes of a picture in each record");
    if (look->example.labelled && look->example.label < 0)
        return error_set(err, EXIT_CODE_DATA, "the label %" PRId64 "; expected a class from 0 on",
                         look->example.label);
    return 0;
}

/* Reports one record. Its own faults go to the sink as a bad record; the scan then continues with
 * the next. Returns nonzero for errors of the sink and of the system alone. */
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
    /* Synsets are short and distinct, which names in words need not be: they come first. */
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

/* What is after the last readable record is reported as lost, with an unknown number of records. */
static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct shard_window window = {.file = file};
    struct error why = {0};
    uint64_t size = 0;
    /* Offset at which the next record begins, and on damage the first byte that is lost. */
    uint64_t at = 0;
    int more = 0;
    while ((more = next_record(&window, at, &size, &why)) == 1) {
        if (scan_record(&window, at, size, sink, err) != 0)
            return -1;
        at += TFRECORD_HEAD + size + TFRECORD_FOOT;
    }
    return more == 0 ? 0 : format_report_rest(sink, file, at, &why, err);
}

/* Reads a record and moves its picture to the start of the buffer, over the rest of the message. */
static int read_picture(const struct shard_file *file, uint64_t offset, uint64_t bytes,
                        struct buf *out, struct error *err) {
    struct example e;
    if (read_record(file, offset, bytes, out, err) != 0)
        return -1;
    if (example_parse(&e, (struct protobuf_view){(const uint8_t *)out->data, out->size}, err) != 0)
        return error_wrap(err, "%s: at byte %" PRIu64, file->path, offset);
    /* The scan has checked the record, but the file may have changed since. */
    if (e.encoded.size == 0)
        return shard_file_bad(file, offset, err,
                              "no image/encoded; expected the bytes of a picture in each record");
    memmove(out->data, e.encoded.bytes, e.encoded.size);
    out->size = e.encoded.size;
    out->data[out->size] = '\0';
    return 0;
}

/* The text without its NUL. */
static struct protobuf_view view_of(const char *text) {
    return (struct protobuf_view){(const uint8_t *)text, strlen(text)};
}

/* Reads the sides from the picture's header; 0 if it has none that can be read. A picture that is
 * damaged is written all the same: whether it can be used is for its readers to say. */
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

/* The class name is written as synset and as text, since readers ask for either. */
static int write_picture(struct buf *out, const struct shard_record *record, struct error *err) {
    /* Built as a whole, since a record has its length and the checksum of that first. */
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

/* TFRecord has no end mark and no index of its own: `finish` and `index_suffix` are NULL. */
const struct format FORMAT_TFRECORD = {
    .name = "tfrecord",
    .suffix = ".tfrecord",
    .is = is_tfrecord,
    .scan = scan,
    .read = read_picture,
    .write = write_picture,
    .indexed = true,
};
