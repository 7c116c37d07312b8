/* Samples as a shard describes them.
 *
 * A scan of a shard hands them to a sink one by one. The same file has samples to be written to a
 * shard. */
#ifndef TRAINER_DATA_FORMAT_SHARD_SAMPLE_H
#define TRAINER_DATA_FORMAT_SHARD_SAMPLE_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

/* A text that is valid during the call; size 0: none. */
struct shard_text {
    const char *bytes;
    size_t size;
};

enum { SHARD_NO_LABEL = -1 };

struct shard_sample {
    uint64_t offset;        /* of the record in the shard, as the format's read expects it */
    uint64_t bytes;         /* of the record */
    uint64_t picture_bytes; /* of the encoded picture alone */
    int64_t label;          /* at least 0; SHARD_NO_LABEL: the record has none */
    struct shard_text class_name;
    struct shard_text name; /* path of the picture, as its set's folder had it */
    uint64_t id;            /* RecordIO's number of the record */
};

/* A sample to be written to a shard; all borrowed. */
struct shard_record {
    const char *class_name;
    const char *name; /* path below the folder of the class */
    int64_t label;
    uint64_t number; /* of the sample in its set */
    const uint8_t *picture;
    size_t size;
};

/* Bytes of a shard in which damage hides where the samples are. */
struct shard_loss {
    uint64_t begin;   /* offset of the first byte that was not read */
    uint64_t end;     /* offset after the last one */
    uint64_t records; /* that lie there; 0: not known */
};

/* Callbacks of a scan. Each ends the scan by returning nonzero with an error. */
struct shard_sink {
    int (*add)(void *context, const struct shard_sample *sample, struct error *err);
    /* A record that cannot be used; WHY names the shard and the place. */
    int (*bad)(void *context, const struct error *why, struct error *err);
    /* Records that cannot be found. */
    int (*lost)(void *context, const struct shard_loss *loss, const struct error *why,
                struct error *err);
    void *context;
};

#endif
