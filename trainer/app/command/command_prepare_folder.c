#include "trainer/app/command/command_prepare_folder.h"

#include "common/log/log.h"
#include "common/system/cpus.h"
#include "common/text/wrap.h"
#include "trainer/app/command/output/writing.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/shard_inputs.h"
#include "trainer/app/task/classes.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/data/dataset/splits.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/prepare/shard_set.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PREPARE = 1, PARTS = 2, SIDE_MAX = 16384 };

struct folder_flags {
    const char *format;
    int64_t shards;
    int64_t resize;
    int64_t quality;
    bool raw;
    int64_t threads;
    const char *bad_samples;
};

#define ROW(name_, type_, field_, standard_, value_, help_)                                        \
    .name = (name_), .type = (type_), .offset = offsetof(struct folder_flags, field_),             \
    .standard = (standard_), .commands = PREPARE, .value = (value_), .help = (help_)
#define INT(name, field, standard, low, high, help)                                                \
    { ROW(name, FLAG_INT, field, standard, "N", help), .min = (low), .max = (high) }

static const struct flag FLAGS[] = {
    {ROW("format", FLAG_TEXT, format, "tar", "NAME", "tar, tfrecord or recordio")},
    INT("shards", shards, "0", 0, SHARD_SET_SHARDS_MAX,
        "shards of the training part, and as many for each picture of the other (0: shards of 128 "
        "MiB)"),
    INT("resize", resize, "0", 0, SIDE_MAX,
        "scale larger pictures down to this short side (0: copy all as they are)"),
    INT("quality", quality, "90", 1, 100, "quality of scaled JPEGs"),
    {ROW("raw", FLAG_BOOL, raw, "false", "true|false",
         "store pixels (PNM), which need no decoding: about ten times the size of JPEGs")},
    INT("threads", threads, "0", 0, SHARD_SET_THREADS_MAX, "threads (0: one for each CPU)"),
    {ROW("bad-samples", FLAG_TEXT, bad_samples, "fail", "fail|skip|N",
         "a picture that cannot be read, or decoded to be scaled: end, leave it out, or leave out "
         "at most N")},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* The set to be written, in up to two parts. */
struct sets {
    struct dataset sets[PARTS];
    struct shard_set_part parts[PARTS];
    size_t count;
};

static void sets_done(struct sets *s) {
    for (size_t i = 0; i < PARTS; i++)
        dataset_done(&s->sets[i]);
}

static int open_part(struct sets *s, const char *name, const char *dir, const char *below,
                     int64_t bad_allowed, struct error *err) {
    char path[PATH_MAX];
    struct dataset *set = &s->sets[s->count];
    if (snprintf(path, sizeof(path), "%s%s%s", dir, below[0] != '\0' ? "/" : "", below) >=
        (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", dir);
    s->parts[s->count++] = (struct shard_set_part){name, set};
    return sample_health_open(set, path, bad_allowed, true, err);
}

/* Opens the parts of SOURCE, folders or shards. */
static int open_source(struct sets *s, const char *source, int64_t bad_allowed, struct error *err) {
    struct shard_inputs shards;
    struct splits splits = {.parts = false};
    if (shard_inputs_find(&shards, source, err) != 0 ||
        (!shards.found && splits_find(&splits, source, err) != 0))
        return -1;
    if (splits.note[0] != '\0')
        log_warning("%s", splits.note);
    const char *training = shards.found ? shards.training : splits.training;
    const char *validation = shards.found ? shards.validation : splits.validation;
    const char *dir = shards.found ? "" : source;
    if (!shards.found && !splits.parts)
        return open_part(s, "train", source, "", bad_allowed, err);
    if (training[0] != '\0' && open_part(s, "train", shards.found ? training : dir,
                                         shards.found ? "" : training, bad_allowed, err) != 0)
        return -1;
    if (validation[0] == '\0')
        return 0;
    return open_part(s, "validation", shards.found ? validation : dir,
                     shards.found ? "" : validation, bad_allowed, err);
}

/* Gives the classes of the second part the numbers that they have in the first. */
static int place_classes(struct sets *s, struct error *err) {
    if (s->count < PARTS)
        return 0;
    struct dataset *first = &s->sets[0];
    struct dataset *second = &s->sets[1];
    const struct classes all = {first->class_names, first->classes, first->root};
    const struct classes own = {second->class_names, second->classes, second->root};
    int32_t *map = calloc(second->classes + 1, sizeof(*map));
    if (map == NULL)
        return error_no_memory(err, "classes");
    int result = classes_map(&own, &all, map, err);
    if (result == 0)
        result = dataset_place_classes(second, all.names, all.count, map, err);
    free(map);
    return result;
}

static int write_all(struct sets *s, const char *target, const struct folder_flags *f,
                     int64_t bad_allowed, struct shard_set_result *ret, struct error *err) {
    struct writing writing;
    int64_t pictures = 0;
    const struct format *format = format_need(f->format, err);
    if (format == NULL)
        return error_wrap(err, "--format");
    for (size_t i = 0; i < s->count; i++)
        pictures += (int64_t)s->sets[i].count;
    int threads = f->threads > 0 ? (int)f->threads : cpus_usable("");
    const struct shard_set_options o = {
        .target = target,
        .format = format,
        .shards = f->shards,
        .resize = (int)f->resize,
        .quality = (int)f->quality,
        .raw = f->raw,
        .threads = threads < SHARD_SET_THREADS_MAX ? threads : SHARD_SET_THREADS_MAX,
        .bad_allowed = bad_allowed,
        .written = writing_tell,
        .context = &writing,
    };
    writing_open(&writing, STDERR_FILENO, pictures);
    int result = shard_set_write(&o, s->parts, s->count, ret, err);
    writing_close(&writing);
    return result;
}

static void sum_up(const struct folder_flags *f, const char *target,
                   const struct shard_set_result *result) {
    printf("%s: %" PRId64 " picture%s in %" PRId64 " shard%s of the format %s, %.1f MB", target,
           result->pictures, result->pictures == 1 ? "" : "s", result->shards,
           result->shards == 1 ? "" : "s", f->format, (double)result->bytes / 1e6);
    if (result->kept > 0)
        printf("; %" PRId64 " of these were there already", result->kept);
    if (result->bad > 0)
        printf("; %" PRId64 " left out", result->bad);
    printf("; train with --data %s\n", target);
}

int command_prepare_folder(int argc, char *const *argv, struct error *err) {
    struct folder_flags f;
    struct shard_set_result result;
    struct sets sets = {0};
    int64_t bad_allowed = 0;
    if (argc < 2 || argv[0][0] == '-' || argv[1][0] == '-')
        return error_set(err, EXIT_CODE_USAGE,
                         "usage: ringtrain prepare folder SOURCE TARGET [--FLAG VALUE]...: the two "
                         "folders come first, flags after them");
    if (flags_parse(FLAGS, FLAG_COUNT, PREPARE, argc - 2, argv + 2, &f, err) != 0 ||
        format_need(f.format, err) == NULL ||
        sample_health_parse_allowed(f.bad_samples, &bad_allowed, err) != 0)
        return -1;
    int code = open_source(&sets, argv[0], bad_allowed, err);
    if (code == 0 && (code = place_classes(&sets, err)) == 0)
        code = write_all(&sets, argv[1], &f, bad_allowed, &result, err);
    sets_done(&sets);
    if (code == 0)
        sum_up(&f, argv[1], &result);
    return code;
}

void command_prepare_folder_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain prepare folder SOURCE TARGET [--FLAG VALUE]...\n\n"
                "Writes a data set as shards: large files that each hold many pictures. SOURCE "
                "is a folder of class folders, one that holds train/ and val/, or shards. An "
                "interrupted run goes on where it was.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, PREPARE, 0, NULL);
}
