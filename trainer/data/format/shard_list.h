/* The shards of a data set: which files they are, and what format they have.
 *
 * A set is given as a shard, as a folder of shards, or as FOLDER/PREFIX*, those with names that
 * begin with PREFIX. Files that begin like no format are ignored, as are names that begin with a
 * dot. A folder that has folders is one of classes, whatever else lies in it. Shards are sorted by
 * name, with numbers in it by value. */
#ifndef TRAINER_DATA_FORMAT_SHARD_LIST_H
#define TRAINER_DATA_FORMAT_SHARD_LIST_H

#include "common/error.h"
#include "trainer/data/format/format.h"

#include <stdbool.h>
#include <stddef.h>

enum { SHARD_LIST_MAX = 100000 };

/* Zeroed, it is empty. */
struct shard_list {
    const struct format *format;
    char **paths; /* owned; [count] */
    size_t count;
    size_t capacity;
};

void shard_list_done(struct shard_list *list);

/* Finds the shards of the set at PATH. The list is empty if there are none, and PATH exists.
 * Several formats in one set are an error, EXIT_CODE_DATA. */
int shard_list_find(struct shard_list *ret, const char *path, struct error *err);

/* Sets *RET to the format of the file PATH; NULL: it is no shard. */
int shard_list_format(const char *path, const struct format **ret, struct error *err);

/* Words by which shards and folders for evaluation are known, in order of preference; ends with
 * NULL. */
extern const char *const SHARD_VALIDATION_WORDS[];

/* A folder whose shards are of two sets. */
struct shard_parts {
    bool found;             /* there are shards */
    const char *training;   /* prefix of their names: "train"; "": all are for training */
    const char *validation; /* "": none */
};
/* Looks at the names of the shards in FOLDER. */
int shard_list_parts(struct shard_parts *ret, const char *folder, struct error *err);

#define cleanup_shard_list __attribute__((cleanup(shard_list_done)))

#endif
