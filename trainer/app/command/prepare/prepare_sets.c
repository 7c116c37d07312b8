#include "trainer/app/command/prepare/prepare_sets.h"

#include "common/log/log.h"
#include "trainer/app/options/shard_inputs.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/data/dataset/splits.h"

#include <limits.h>
#include <stdio.h>

void prepare_sets_done(struct prepare_sets *sets) {
    for (size_t i = 0; i < PREPARE_PARTS_MAX; i++)
        dataset_done(&sets->sets[i]);
    *sets = (struct prepare_sets){0};
}

struct dataset *prepare_sets_add(struct prepare_sets *sets, const char *name) {
    struct dataset *set = &sets->sets[sets->count];
    sets->parts[sets->count++] = (struct shard_set_part){name, set};
    return set;
}

int prepare_sets_open(struct prepare_sets *sets, const char *name, const char *path,
                      const struct shards_reading *reading, struct error *err) {
    return sample_health_open(prepare_sets_add(sets, name), path, reading, true, err);
}

/* The same for a folder BELOW another. */
static int open_below(struct prepare_sets *sets, const char *name, const char *dir,
                      const char *below, const struct shards_reading *reading, struct error *err) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", dir, below) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", dir);
    return prepare_sets_open(sets, name, path, reading, err);
}

static int open_shards(struct prepare_sets *sets, const struct shard_inputs *shards,
                       const struct shards_reading *reading, struct error *err) {
    if (shards->training[0] != '\0' &&
        prepare_sets_open(sets, "train", shards->training, reading, err) != 0)
        return -1;
    return shards->validation[0] == '\0'
               ? 0
               : prepare_sets_open(sets, "validation", shards->validation, reading, err);
}

int prepare_sets_open_source(struct prepare_sets *sets, const char *source,
                             const struct shards_reading *reading, struct error *err) {
    struct shard_inputs shards;
    struct splits splits = {.parts = false};
    if (shard_inputs_find(&shards, source, err) != 0)
        return -1;
    if (shards.found)
        return open_shards(sets, &shards, reading, err);
    if (splits_find(&splits, source, err) != 0)
        return -1;
    if (splits.note[0] != '\0')
        log_warning("%s", splits.note);
    if (!splits.parts)
        return prepare_sets_open(sets, "train", source, reading, err);
    if (splits.training[0] != '\0' &&
        open_below(sets, "train", source, splits.training, reading, err) != 0)
        return -1;
    return splits.validation[0] == '\0'
               ? 0
               : open_below(sets, "validation", source, splits.validation, reading, err);
}
