/* Formats of shards: a row for each, in a table.
 *
 *     tar        WebDataset's naming, or class folders       (tar_shard.c)
 *     tfrecord   tf.train.Example in TFRecord                (tfrecord_shard.c)
 *     recordio   MXNet's image records                       (recordio_shard.c)
 *
 * A new format is one more row and one more file. */
#ifndef TRAINER_DATA_FORMAT_FORMAT_H
#define TRAINER_DATA_FORMAT_FORMAT_H

#include "common/buf.h"
#include "trainer/data/format/shard_file.h"
#include "trainer/data/format/shard_sample.h"

#include <stdbool.h>

enum { FORMAT_HEAD_SIZE = 512 };

struct format {
    const char *name;
    const char *suffix; /* of the files that `ringtrain prepare` writes: ".tar" */

    /* Returns true if a file that begins with SIZE bytes, fewer than FORMAT_HEAD_SIZE only if it is
     * shorter, is a shard of this format. */
    bool (*is)(const uint8_t *bytes, size_t size);

    /* Reports each sample of a shard, in the shard's order. Damage after which the rest cannot be
     * found is reported as one bad record; only errors of the system and of the sink end the
     * scan. */
    int (*scan)(const struct shard_file *file, const struct shard_sink *sink, struct error *err);

    /* Replaces OUT by the encoded picture of the record of BYTES bytes at OFFSET. */
    int (*read)(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                struct error *err);

    /* Appends the record of a sample to a shard. */
    int (*write)(struct buf *out, const struct shard_record *record, struct error *err);
    /* Appends what ends a shard; NULL: nothing. */
    int (*finish)(struct buf *out, struct error *err);
    /* Suffix of a file with a line "NUMBER<tab>OFFSET" for each record; NULL: none. */
    const char *index_suffix;
};

extern const struct format FORMAT_TAR;
extern const struct format FORMAT_TFRECORD;
extern const struct format FORMAT_RECORDIO;

/* Returns the format of a file by its first bytes; NULL: none. */
const struct format *format_of(const uint8_t *bytes, size_t size);
/* Returns the format NAME, or NULL with EXIT_CODE_USAGE. */
const struct format *format_need(const char *name, struct error *err);
/* The names of all formats, for messages: "tar, tfrecord, recordio". */
const char *format_names(void);

/* For scans: reports ERR as a bad record, unless it is an error of the system. */
int format_report_bad(const struct shard_sink *sink, const struct error *why, struct error *err);

#endif
