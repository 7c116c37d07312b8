/* Interface of a format of shards: how samples are found, read and written. */
#ifndef TRAINER_DATA_FORMAT_FORMAT_H
#define TRAINER_DATA_FORMAT_FORMAT_H

#include "common/buf.h"
#include "trainer/data/format/shard_file.h"
#include "trainer/data/format/shard_sample.h"

#include <stdbool.h>

enum { FORMAT_HEAD_SIZE = 512 };

struct format {
    const char *name;
    const char *suffix; /* of the files that `ringtrain prepare` writes: ".tar"; NULL: none */

    /* Returns true if the file NAME, without its folder, which begins with SIZE bytes, is a shard
     * of this format. The bytes are fewer than FORMAT_HEAD_SIZE only if the file is shorter. */
    bool (*is)(const char *name, const uint8_t *bytes, size_t size);

    /* Reports each sample of a shard, in the shard's order. Damage after which the rest cannot be
     * found is reported as a loss; only errors of the system and of the sink end the scan. */
    int (*scan)(const struct shard_file *file, const struct shard_sink *sink, struct error *err);

    /* Replaces OUT by the encoded picture of the record of BYTES bytes at OFFSET. */
    int (*read)(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                struct error *err);

    /* Appends the record of a sample to a shard. NULL: the format is only read. */
    int (*write)(struct buf *out, const struct shard_record *record, struct error *err);
    /* Appends what ends a shard; NULL: nothing. */
    int (*finish)(struct buf *out, struct error *err);
    /* Suffix of a file with a line "NUMBER<tab>OFFSET" for each record; NULL: none. */
    const char *index_suffix;
    /* All that a scan finds lies in the shard itself, and takes a while to find: an index of the
     * set is worth while (dataset/shard_index.h). */
    bool indexed;
};

/* For scans: reports WHY as a bad record, unless it is an error of the system. */
int format_report_bad(const struct shard_sink *sink, const struct error *why, struct error *err);
/* The same for what lies in LOSS. */
int format_report_lost(const struct shard_sink *sink, const struct shard_loss *loss,
                       const struct error *why, struct error *err);
/* The same for all bytes of FILE from BEGIN on. */
int format_report_rest(const struct shard_sink *sink, const struct shard_file *file, uint64_t begin,
                       const struct error *why, struct error *err);

#endif
