/* Data sets that a command writes, in up to two parts.
 *
 * One is for training, the other for evaluation; prepare_write.h writes them. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_SETS_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_SETS_H

#include "common/error.h"
#include "trainer/app/command/prepare/prepare_flags.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/prepare/shard_set.h"

enum { PREPARE_PARTS_MAX = 2 };

/* Zeroed, it is empty. */
struct prepare_sets {
    struct dataset sets[PREPARE_PARTS_MAX]; /* owned */
    struct shard_set_part parts[PREPARE_PARTS_MAX];
    size_t count;
};

void prepare_sets_done(struct prepare_sets *sets);

/* Adds an empty set as part NAME, to be opened by the caller. */
struct dataset *prepare_sets_add(struct prepare_sets *sets, const char *name);

/* Opens the shards or the folder at PATH as part NAME. */
int prepare_sets_open(struct prepare_sets *sets, const char *name, const char *path,
                      const struct shards_reading *reading, struct error *err);

/* Opens the parts of SOURCE, a folder of class folders, one that holds parts, or shards. */
int prepare_sets_open_source(struct prepare_sets *sets, const char *source,
                             const struct shards_reading *reading, struct error *err);

#define cleanup_prepare_sets __attribute__((cleanup(prepare_sets_done)))

#endif
