#include "trainer/app/command/prepare/prepare_sets.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/command/output/writing.h"
#include "trainer/app/options/shard_inputs.h"
#include "trainer/app/task/classes.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/data/dataset/splits.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/prepare/alike_names.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Gives the classes of the second part the numbers that they have in the first. */
static int place_classes(struct prepare_sets *s, struct error *err) {
    if (s->count < PREPARE_PARTS_MAX)
        return 0;
    struct dataset *first = &s->sets[0];
    struct dataset *second = &s->sets[1];
    const struct classes all = {first->class_names, first->classes, first->root};
    const struct classes own = {second->class_names, second->classes, second->root};
    cleanup_free int32_t *map = calloc(second->classes + 1, sizeof(*map));
    if (map == NULL)
        return error_no_memory(err, "classes");
    if (classes_map(&own, &all, map, err) != 0)
        return -1;
    return dataset_place_classes(second, all.names, all.count, map, err);
}

/* Warns of names that differ in case alone: of classes always, and of pictures where they become
 * files. */
static int warn_of_alike_names(const struct prepare_sets *sets, bool folders, struct error *err) {
    struct alike_names alike;
    for (size_t i = 0; i < sets->count; i++) {
        const struct dataset *set = &sets->sets[i];
        if (alike_names_of_classes(set, &alike, err) != 0)
            return -1;
        if (alike.count > 0)
            log_warning(
                "%s: the classes '%.200s' and '%.200s' differ in upper and lower case alone "
                "(%zu such pair%s): they stay two classes; if they are one, move the "
                "pictures together first",
                sets->parts[i].name, alike.first, alike.second, alike.count,
                STR_PLURAL(alike.count));
        if (folders && alike_names_of_pictures(set, &alike, err) != 0)
            return -1;
        if (folders && alike.count > 0)
            log_warning(
                "%s: the pictures '%.200s' and '%.200s' of a class differ in upper and lower "
                "case alone (%zu such pair%s): a file system that ignores case keeps one of "
                "them; shards (--format tar) keep both",
                sets->parts[i].name, alike.first, alike.second, alike.count,
                STR_PLURAL(alike.count));
    }
    return 0;
}

static void sum_up(const struct prepare_flags *f, const struct shard_set_result *result) {
    char form[128] = "folders of classes";
    if (result->shards > 0)
        (void)snprintf(form, sizeof(form), "%" PRId64 " shard%s of the format %s", result->shards,
                       STR_PLURAL(result->shards), f->format);
    printf("%s: %" PRId64 " picture%s in %s, %.1f MB", f->target, result->pictures,
           STR_PLURAL(result->pictures), form, (double)result->bytes / 1e6);
    if (result->kept > 0)
        printf("; %" PRId64 " of these were there already", result->kept);
    if (result->bad > 0)
        printf("; %" PRId64 " left out", result->bad);
    printf("; train with --data %s\n", f->target);
}

int prepare_sets_write(struct prepare_sets *sets, const struct prepare_flags *f,
                       struct error *err) {
    struct writing writing;
    struct shard_set_result result;
    int64_t pictures = 0;
    const bool folders = strcmp(f->format, "folder") == 0;
    if (place_classes(sets, err) != 0 || warn_of_alike_names(sets, folders, err) != 0)
        return -1;
    for (size_t i = 0; i < sets->count; i++)
        pictures += (int64_t)sets->sets[i].count;
    const struct shard_set_options o = {
        .target = f->target,
        .format = folders ? NULL : format_need(f->format, err),
        .shards = f->shards,
        .resize = (int)f->resize,
        .quality = (int)f->quality,
        .raw = f->raw,
        /* As ImageNet's converter to TFRecord has them: 0 is for the background. */
        .label_base = f->kind == PREPARE_IMAGENET && strcmp(f->format, "tfrecord") == 0,
        .threads = prepare_flags_threads(f),
        .bad_allowed = f->reading.bad_allowed,
        .written = writing_show,
        .context = &writing,
    };
    writing_open(&writing, STDERR_FILENO, pictures);
    int code = shard_set_write(&o, sets->parts, sets->count, &result, err);
    writing_close(&writing);
    if (code == 0)
        sum_up(f, &result);
    return code;
}
