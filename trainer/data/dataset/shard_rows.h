/* Samples gathered from shards, before their classes and their order are settled. */
#ifndef TRAINER_DATA_DATASET_SHARD_ROWS_H
#define TRAINER_DATA_DATASET_SHARD_ROWS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/shard_store.h"
#include "trainer/data/format/name_table.h"
#include "trainer/data/format/picture_labels.h"
#include "trainer/data/format/shard_sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shard_row {
    struct shard_place place;
    uint64_t picture_bytes;
    int64_t label;      /* SHARD_NO_LABEL: none */
    int32_t class_name; /* number in `classes`; -1: none */
    size_t name_at;     /* offset into `names` */
    uint64_t id;        /* number that the record gives itself; 0: none */
};

/* Initialize with shard_rows_init. */
struct shard_rows {
    struct shard_row *items; /* owned */
    size_t count;
    size_t room;
    struct buf names; /* each with its NUL */
    struct name_table classes;
    size_t labelled; /* rows that have a label */
    size_t named;    /* rows that have a class name */
    size_t pathed;   /* rows that have a name of their own; others have a number */
    bool ordered;    /* as the pictures of a folder */
};

void shard_rows_init(struct shard_rows *rows);
void shard_rows_done(struct shard_rows *rows);

int shard_rows_add(struct shard_rows *rows, uint32_t shard, const struct shard_sample *sample,
                   struct error *err);

/* Takes the class of each row from the folders in its name: the first component, below folders that
 * all rows have in common. */
int shard_rows_name_by_path(struct shard_rows *rows, struct error *err);

/* Takes the class of each row from LABELS. Fails with EXIT_CODE_DATA if these are not those of the
 * rows. */
int shard_rows_name_by_labels(struct shard_rows *rows, const struct picture_labels *labels,
                              struct error *err);

/* Sorts the rows by class, folder and name, if each has a name that no other of its class has;
 * `ordered` tells. Names that begin with the folder of their class lose it. Rows without names are
 * sorted by their ids, if these are 0 to count - 1 (im2rec's are). Labels are settled, and
 * CLASS_NAMES are theirs. */
int shard_rows_order(struct shard_rows *rows, char *const *class_names, struct error *err);

#define cleanup_shard_rows __attribute__((cleanup(shard_rows_done)))

#endif
