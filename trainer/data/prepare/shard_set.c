#include "trainer/data/prepare/shard_set.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/prepare/folder_make.h"
#include "trainer/data/prepare/set_room.h"
#include "trainer/data/prepare/shard_make.h"
#include "trainer/data/prepare/staging.h"
#include "trainer/data/prepare/target.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 2 };

static const int64_t shard_bytes = (int64_t)128 << 20;

/* The work of all threads. */
struct set_writing {
    const struct shard_set_options *options;
    const struct shard_set_part *parts;
    int64_t shards[PARTS_MAX]; /* of each part */
    size_t count;              /* parts */
    atomic_llong next;         /* shard, counted over all parts */
    atomic_bool failed;
    pthread_mutex_t lock; /* for the rest */
    struct shard_set_result result;
    struct error why;
};

static bool is_folders(const struct shard_set_options *o) {
    return o->format == NULL;
}

static int64_t done(struct set_writing *w) {
    return w->result.pictures + w->result.bad;
}

static void show_progress(void *context, int64_t pictures, int64_t bad) {
    struct set_writing *w = context;
    (void)pthread_mutex_lock(&w->lock);
    w->result.pictures += pictures;
    w->result.bad += bad;
    if (w->options->written != NULL)
        w->options->written(w->options->context, done(w));
    (void)pthread_mutex_unlock(&w->lock);
}

static void fail(struct set_writing *w, const struct error *why) {
    (void)pthread_mutex_lock(&w->lock);
    if (!atomic_exchange(&w->failed, true))
        w->why = *why;
    (void)pthread_mutex_unlock(&w->lock);
}

/* Returns the part of shard NUMBER and subtracts the shards of the parts before it; COUNT: there is
 * no such shard. */
static size_t part_of(const struct set_writing *w, int64_t *number) {
    size_t part = 0;
    while (part < w->count && *number >= w->shards[part])
        *number -= w->shards[part++];
    return part;
}

static int make(struct set_writing *w, struct shard_maker *maker, size_t part, int64_t shard,
                struct error *err) {
    const struct shard_order order = {
        .options = w->options,
        .set = w->parts[part].set,
        .part = w->parts[part].name,
        .shard = shard,
        .shards = w->shards[part],
        .stop = &w->failed,
        .progress = show_progress,
        .context = w,
    };
    bool shard_kept = false;
    int64_t kept = 0;
    int64_t bytes = 0;
    if (is_folders(w->options) ? folder_make(maker, &order, &kept, &bytes, err) != 0
                               : shard_make(maker, &order, &shard_kept, &bytes, err) != 0)
        return -1;
    (void)pthread_mutex_lock(&w->lock);
    w->result.shards += !is_folders(w->options);
    w->result.kept += shard_kept + kept;
    w->result.bytes += bytes;
    bool too_many = w->result.bad > w->options->bad_allowed;
    (void)pthread_mutex_unlock(&w->lock);
    return too_many ? error_set(err, EXIT_CODE_DATA,
                                "more pictures than --bad-samples allows "
                                "cannot be used")
                    : 0;
}

static void *run(void *context) {
    struct set_writing *w = context;
    struct error why = {0};
    struct shard_maker maker;
    int result = shard_maker_init(&maker, &why);
    while (result == 0 && !atomic_load(&w->failed)) {
        int64_t number = atomic_fetch_add(&w->next, 1);
        const size_t part = part_of(w, &number);
        if (part == w->count)
            break;
        result = make(w, &maker, part, number, &why);
    }
    shard_maker_done(&maker);
    if (result != 0)
        fail(w, &why);
    return NULL;
}

static int run_threads(struct set_writing *w, struct error *err) {
    pthread_t threads[SHARD_SET_THREADS_MAX];
    int started = 0;
    while (started < w->options->threads && pthread_create(&threads[started], NULL, run, w) == 0)
        started++;
    if (started == 0)
        (void)run(w);
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (!atomic_load(&w->failed))
        return 0;
    *err = w->why;
    return -1;
}

/* --- before it ------------------------------------------------------------------------------- */

/* No more shards than pictures. */
static int64_t shards_of(const struct dataset *set, int64_t wanted) {
    const int64_t count = (int64_t)set->count;
    wanted = wanted < 1 ? 1 : wanted;
    return wanted < count ? wanted : count;
}

/* Estimates the bytes of all pictures of SET as they are written. */
static int64_t expected_bytes(const struct shard_set_options *o, const struct dataset *set) {
    enum { COMPRESSION = 10 }; /* of JPEGs, about */
    if (!o->raw)
        return set->bytes;
    return o->resize > 0 ? (int64_t)set->count * o->resize * o->resize * 4
                         : set->bytes * COMPRESSION;
}

static void plan_shards(struct set_writing *w) {
    const struct dataset *first = w->parts[0].set;
    for (size_t i = 0; i < w->count; i++) {
        const struct dataset *set = w->parts[i].set;
        int64_t wanted = (expected_bytes(w->options, set) + shard_bytes - 1) / shard_bytes;
        if (is_folders(w->options))
            wanted = ((int64_t)set->count + FOLDER_MAKE_PICTURES - 1) / FOLDER_MAKE_PICTURES;
        else if (w->options->shards > 0)
            wanted = (w->options->shards * (int64_t)set->count + (int64_t)first->count - 1) /
                     (int64_t)first->count;
        w->shards[i] = shards_of(set, wanted);
    }
}

static int describe(const struct set_writing *w, struct buf *out, struct error *err) {
    const struct shard_set_options *o = w->options;
    if (buf_printf(out, err, "format %s\nresize %d\nquality %d\n%s",
                   is_folders(o) ? "folder" : o->format->name, o->resize,
                   o->resize > 0 && !o->raw ? o->quality : 0, o->raw ? "raw\n" : "") != 0 ||
        (o->label_base > 0 && buf_printf(out, err, "labels from %d\n", o->label_base) != 0))
        return -1;
    for (size_t i = 0; i < w->count; i++)
        if (buf_printf(out, err, "%s: %zu pictures, hash %016llx, %lld shards\n", w->parts[i].name,
                       w->parts[i].set->count, (unsigned long long)w->parts[i].set->hash,
                       (long long)w->shards[i]) != 0)
            return -1;
    return 0;
}

static int write_classes(const struct set_writing *w, struct error *err) {
    const struct dataset *set = w->parts[0].set;
    cleanup_buf struct buf text = {.max = 64 << 20};
    char path[4096];
    for (size_t c = 0; c < set->classes; c++)
        if (buf_printf(&text, err, "%s\n", set->class_names[c]) != 0)
            return -1;
    (void)snprintf(path, sizeof(path), "%s/classes.txt", w->options->target);
    return file_publish(path, text.data, text.size, 0644, err);
}

static int check_room(const struct set_writing *w, const char *folder, struct error *err) {
    int64_t bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        int64_t part = 0;
        if (set_room(w->options, w->parts[i].set, &part, err) != 0)
            return -1;
        bytes += part;
    }
    return target_check_room(folder, bytes, err);
}

static int prepare(struct set_writing *w, struct target *target, struct error *err) {
    cleanup_buf struct buf plan = {.max = 4096};
    if (describe(w, &plan, err) != 0 ||
        target_open(target, w->options->target, buf_text(&plan), err) != 0)
        return -1;
    if (!target->resumed && check_room(w, target->folder, err) != 0)
        return -1;
    /* The plan comes first: a folder without one is refused unless it is empty. */
    if (target_commit(target, err) != 0)
        return -1;
    return is_folders(w->options) ? staging_begin(target->folder, err) : write_classes(w, err);
}

/* Writes the index of each part, from a scan of what was made: the shards are read back by it. */
static int write_indexes(const struct set_writing *w, struct error *err) {
    static const struct shards_reading reading = {.keep_index = true};
    for (size_t i = 0; i < w->count; i++) {
        cleanup_dataset struct dataset set = {0};
        char path[PATH_MAX];
        bool found = false;
        if (snprintf(path, sizeof(path), "%s/%s-*", w->options->target, w->parts[i].name) >=
            (int)sizeof(path))
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", w->options->target);
        if (dataset_open_shards_as(&set, path, &reading, &found, err) != 0)
            return -1;
        if (set.warning != NULL)
            return error_set(err, EXIT_CODE_CONFIG, "%s", set.warning);
    }
    return 0;
}

int shard_set_write(const struct shard_set_options *options, const struct shard_set_part *parts,
                    size_t count, struct shard_set_result *ret, struct error *err) {
    struct set_writing w = {.options = options, .parts = parts, .count = count};
    cleanup_target struct target target = TARGET_CLOSED;
    *ret = (struct shard_set_result){0};
    if (count == 0 || count > PARTS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu parts of a data set", count);
    plan_shards(&w);
    for (size_t i = 0; i < count; i++)
        if (!is_folders(options) && w.shards[i] > SHARD_SET_SHARDS_MAX)
            return error_set(err, EXIT_CODE_USAGE, "%lld shards; at most %d are allowed",
                             (long long)w.shards[i], SHARD_SET_SHARDS_MAX);
    if (prepare(&w, &target, err) != 0)
        return -1;
    if (pthread_mutex_init(&w.lock, NULL) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no lock");
    struct error why = {0};
    int result = run_threads(&w, &why);
    (void)pthread_mutex_destroy(&w.lock);
    if (result != 0 && err != NULL)
        *err = why;
    if (result == 0 && is_folders(options))
        staging_end(options->target);
    else if (result == 0)
        result = write_indexes(&w, err);
    *ret = w.result;
    return result;
}
