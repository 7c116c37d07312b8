/* Samples of a set in shards: labels, names, classes and places, in the order of the set.
 *
 * Where all samples have a name and a class, they are ordered as the pictures of a folder
 * (dataset/folder.h), so that a set trains the same, bit for bit, in any format. Else they keep the
 * order of the shards. */
#ifndef TRAINER_DATA_DATASET_SHARDS_H
#define TRAINER_DATA_DATASET_SHARDS_H

#include "common/error.h"
#include "trainer/data/dataset/shard_store.h"
#include "trainer/data/format/picture_labels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARDS_NOTE_MAX = 512 };

/* The number of the first class: found out, or given. */
enum shards_base { SHARDS_BASE_AUTO, SHARDS_BASE_0, SHARDS_BASE_1 };

/* How shards are understood. */
struct shards_reading {
    int64_t bad_allowed; /* records that may be unusable */
    enum shards_base base;
    const struct picture_labels *labels; /* borrowed; classes of the pictures. NULL: as the records
                                          * and their folders have them */
    bool unindexed;  /* an index beside the shards (shard_index.h) is not read */
    bool keep_index; /* one is written where it is missing, or does not belong to them */
    bool aloud;      /* a scan, which can take long, is logged before it begins */
};

/* The source of a listing. */
enum shards_source { SHARDS_SCANNED, SHARDS_SCANNED_AND_KEPT, SHARDS_FROM_INDEX };

struct shards_listing {
    size_t count;
    int32_t *labels;            /* owned, all of them; [count] */
    struct shard_place *places; /* [count] */
    char *names;                /* paths below the class folder, or numbers; each with its NUL */
    size_t *name_at;            /* [count] */
    size_t classes;
    char **class_names;
    uint64_t hash;   /* the same as that of the folder, where names and classes are known */
    int64_t bytes;   /* of all pictures */
    uint64_t bad;    /* records that cannot be used, and were left out; at least so many if `unread`
                      * is not 0 */
    uint64_t unread; /* bytes after damage that hold an unknown number of records */
    char note[SHARDS_NOTE_MAX]; /* how labels were understood, for the log; empty: as they are */
    char first_bad[SHARDS_NOTE_MAX];
    enum shards_source source;
    char index_fault[SHARDS_NOTE_MAX]; /* why an index was not used, or could not be written; empty:
                                        * nothing of the kind */
};

void shards_listing_done(struct shards_listing *list);

/* Reads the index of the shards of STORE, or else scans all of them; PATH is the set as it was
 * given. Errors of the data are EXIT_CODE_DATA. */
int shards_list(struct shards_listing *ret, const struct shard_store *store, const char *path,
                const struct shards_reading *reading, struct error *err);

#define cleanup_shards_listing __attribute__((cleanup(shards_listing_done)))

#endif
