/* Opening of COCO's JSON files, and a key of their content. */
#ifndef TRAINER_DATA_COCO_COCO_JSON_H
#define TRAINER_DATA_COCO_COCO_JSON_H

#include "common/error.h"
#include "common/json/json_stream.h"

#include <stdint.h>

/* Key that distinguishes the content of files. */
struct coco_key {
    uint64_t size; /* bytes */
    uint64_t hash;
};

/* Calls json_stream_open. A file that is not UTF-8 JSON (compressed, UTF-16, with a byte order
 * mark) is refused with an error that names its format. */
int coco_json_open(struct json_stream *s, const char *path, struct error *err);

/* Reads the whole file of FD and keeps its position. The hash takes eight bytes a step, and each
 * step is a bijection, so that files that differ in one word never have the same key. PATH is for
 * the error. */
int coco_json_key(int fd, const char *path, struct coco_key *ret, struct error *err);

#endif
