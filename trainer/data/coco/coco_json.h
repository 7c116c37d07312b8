/* Opening COCO's JSON files, and telling one from another by content. */
#ifndef TRAINER_DATA_COCO_COCO_JSON_H
#define TRAINER_DATA_COCO_COCO_JSON_H

#include "common/error.h"
#include "common/json_stream.h"

#include <stdint.h>

/* What tells a file's content from another's. */
struct coco_key {
    uint64_t size; /* bytes */
    uint64_t hash;
};

/* As json_stream_open; what is no JSON in UTF-8 but was meant to be (packed, UTF-16, with a byte
 * order mark) is refused with what it is. */
int coco_json_open(struct json_stream *s, const char *path, struct error *err);

/* Reads the whole file behind FD, whose place stays. The hash takes eight bytes a step and every
 * step is one to one, so that files that differ in one word never agree; PATH is for the error. */
int coco_json_key(int fd, const char *path, struct coco_key *ret, struct error *err);

#endif
