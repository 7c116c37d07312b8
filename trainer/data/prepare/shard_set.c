#include "trainer/data/prepare/shard_set.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/prepare/folder_make.h"
#include "trainer/data/prepare/rank_lock.h"
#include "trainer/data/prepare/set_room.h"
#include "trainer/data/prepare/shard_make.h"
#include "trainer/data/prepare/staging.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A set is written in steps that shard_set.h names. A single rank takes them all by
 * shard_set_write. Several ranks take them together (trainer/app/command/prepare/prepare_write.c):
 * rank 0 owns the target, and the others join it and write their shards beside it.
 *
 * Work is divided in two levels without any messages: shard s of all parts belongs to rank s mod
 * ranks, and threads of a rank take theirs from a counter. A set in folders has blocks of pictures
 * in place of shards.
 *
 * Whatever the plan depends on is part of its text, which lies in the target. A run that would
 * write other bytes into the same folder is refused by comparing texts. */

/* Seconds that another rank waits to see what rank 0 has made: network file systems may take a
 * while to show it. */
enum { SHARED_SECONDS = 20 };

/* Size of a shard where the user gives no number, in bytes. */
static const int64_t shard_bytes = (int64_t)128 << 20;

/* Folders of classes have no format of shards. */
static bool is_folders(const struct shard_set_options *o) {
    return o->format == NULL;
}

static int ranks_of(const struct shard_set_options *o) {
    return o->ranks > 1 ? o->ranks : 1;
}

/* Pictures that need no more work. Call with the lock held. */
static int64_t done(struct shard_set *w) {
    return w->result.pictures + w->result.bad;
}

/* Called by all threads. The caller's function runs with the lock held, so that its calls never
 * overlap and its numbers ascend. */
static void show_progress(void *context, int64_t pictures, int64_t bad) {
    struct shard_set *w = context;
    (void)pthread_mutex_lock(&w->lock);
    w->result.pictures += pictures;
    w->result.bad += bad;
    if (w->options->written != NULL)
        w->options->written(w->options->context, done(w));
    (void)pthread_mutex_unlock(&w->lock);
}

/* The first failure is kept, and ends all threads after their current sample. */
static void fail(struct shard_set *w, const struct error *why) {
    (void)pthread_mutex_lock(&w->lock);
    if (!atomic_exchange(&w->failed, true))
        w->why = *why;
    (void)pthread_mutex_unlock(&w->lock);
}

/* Returns the part of shard NUMBER and subtracts the shards of the parts before it; COUNT: there is
 * no such shard. */
static size_t part_of(const struct shard_set *w, int64_t *number) {
    size_t part = 0;
    while (part < w->count && *number >= w->shards[part])
        *number -= w->shards[part++];
    return part;
}

/* Makes one shard, or one block of a folder, and adds to the result. Bad pictures are counted by
 * show_progress meanwhile, and compared here with what is allowed. */
static int make(struct shard_set *w, struct shard_maker *maker, size_t part, int64_t shard,
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

/* One thread. Numbers are taken over all parts, so that threads go from the end of one part to the
 * next without waiting. */
static void *run(void *context) {
    struct shard_set *w = context;
    struct error why = {0};
    struct shard_maker maker;
    int result = shard_maker_init(&maker, &why);
    while (result == 0 && !atomic_load(&w->failed)) {
        int64_t number = atomic_fetch_add(&w->next, 1) * ranks_of(w->options) + w->options->rank;
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

void shard_set_stop(struct shard_set *w) {
    atomic_store(&w->failed, true);
}

/* From any thread, while shard_set_make runs. */
int64_t shard_set_pictures(struct shard_set *w) {
    (void)pthread_mutex_lock(&w->lock);
    const int64_t pictures = done(w);
    (void)pthread_mutex_unlock(&w->lock);
    return pictures;
}

/* Fewer threads than asked for are enough; without any the work is done here. `failed` without a
 * reason means shard_set_stop. */
int shard_set_make(struct shard_set *w, struct error *err) {
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
    /* No thread of this rank has failed. */
    if (w->why.code == EXIT_CODE_OK)
        return error_set(err, EXIT_CODE_STOPPED, "another rank has failed");
    if (err != NULL)
        *err = w->why;
    return -1;
}

/* --- before it ------------------------------------------------------------------------------- */

/* Returns the number of shards of SET: as many as are wanted, but at least one, and no more than
 * pictures. */
static int64_t shards_of(const struct dataset *set, int64_t wanted) {
    const int64_t count = (int64_t)set->count;
    wanted = wanted < 1 ? 1 : wanted;
    return wanted < count ? wanted : count;
}

/* Estimates the bytes of all pictures of SET as they are written. A resized raw picture has three
 * bytes for each pixel, on short side times long side; 4 allows for sides of 4:3. */
static int64_t expected_bytes(const struct shard_set_options *o, const struct dataset *set) {
    enum { COMPRESSION = 10 }; /* of JPEGs, about */
    if (!o->raw)
        return set->bytes;
    return o->resize > 0 ? (int64_t)set->count * o->resize * o->resize * 4
                         : set->bytes * COMPRESSION;
}

/* Numbers of shards: by the user's number for the first part, and in proportion for others; else by
 * the expected bytes. Divisions round up, so that no part is without a shard. */
static void plan_shards(struct shard_set *w) {
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

/* Writes the plan as text. The hash stands for the files of the set. Threads and ranks are not part
 * of it, as they change no byte. */
static int describe(const struct shard_set *w, struct buf *out, struct error *err) {
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

/* Writes the names of the classes beside the shards, in the order of their numbers, where
 * format/class_names.h looks for them. */
static int write_classes(const struct shard_set *w, struct error *err) {
    const struct dataset *set = w->parts[0].set;
    cleanup_buf struct buf text = {.max = 64 << 20};
    char path[4096];
    for (size_t c = 0; c < set->classes; c++)
        if (buf_printf(&text, err, "%s\n", set->class_names[c]) != 0)
            return -1;
    (void)snprintf(path, sizeof(path), "%s/classes.txt", w->options->target);
    return file_publish(path, text.data, text.size, 0644, err);
}

/* Fails if the disk has too little room for all parts. A resumed run is not checked: part of it is
 * there already. */
static int check_room(const struct shard_set *w, struct error *err) {
    int64_t bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        int64_t part = 0;
        if (set_room(w->options, w->parts[i].set, &part, err) != 0)
            return -1;
        bytes += part;
    }
    return target_check_room(w->target.folder, bytes, err);
}

/* Depends on the options and the sets alone, so that all ranks come to the same plan. */
int shard_set_plan(struct shard_set *ret, const struct shard_set_options *options,
                   const struct shard_set_part *parts, size_t count, struct error *err) {
    ret->options = options;
    ret->parts = parts;
    ret->count = count;
    ret->plan.max = 4096;
    if (count == 0 || count > SHARD_SET_PARTS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu parts of a data set", count);
    ret->has_lock = pthread_mutex_init(&ret->lock, NULL) == 0;
    if (!ret->has_lock)
        return error_set(err, EXIT_CODE_INTERNAL, "no lock");
    plan_shards(ret);
    for (size_t i = 0; i < count; i++)
        if (!is_folders(options) && ret->shards[i] > SHARD_SET_SHARDS_MAX)
            return error_set(err, EXIT_CODE_USAGE, "%lld shards; at most %d are allowed",
                             (long long)ret->shards[i], SHARD_SET_SHARDS_MAX);
    return describe(ret, &ret->plan, err);
}

/* The order of the steps is what makes an interruption harmless: the target is locked before it is
 * looked at, and the mark for other ranks comes last. */
int shard_set_begin(struct shard_set *w, uint64_t job, struct error *err) {
    struct target *target = &w->target;
    if (target_open(target, w->options->target, buf_text(&w->plan), err) != 0 ||
        rank_lock_clear(w->options->target, err) != 0 ||
        (!target->resumed && check_room(w, err) != 0))
        return -1;
    /* The plan comes first: a folder without one is refused unless it is empty. */
    if (target_commit(target, err) != 0 ||
        (is_folders(w->options) ? staging_begin(target->folder, err) : write_classes(w, err)) != 0)
        return -1;
    return ranks_of(w->options) > 1 ? rank_lock_mark(target->folder, job, err) : 0;
}

/* The lock of the rank is held until shard_set_done. */
int shard_set_join(struct shard_set *w, uint64_t job, struct error *err) {
    w->rank_lock = rank_lock_take(w->options->target, job, w->options->rank, SHARED_SECONDS, err);
    return w->rank_lock >= 0 ? 0 : -1;
}

/* --- after it -------------------------------------------------------------------------------- */

/* Looks for each shard of a part: other ranks may have made it. */
static int verify_shards(const struct shard_set *w, size_t part, struct error *err) {
    struct shard_order order = {
        .options = w->options, .part = w->parts[part].name, .shards = w->shards[part]};
    char path[PATH_MAX];
    for (; order.shard < order.shards; order.shard++) {
        if (shard_make_name(&order, w->options->format->suffix, path, err) != 0)
            return -1;
        if (access(path, F_OK) != 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s: was made and cannot be found", path);
    }
    return 0;
}

/* Writes the index of a part, from a scan of what was made: the shards are read back by it, and
 * fewer samples than the set has are noticed. */
static int write_index(const struct shard_set *w, size_t part, struct error *err) {
    static const struct shards_reading reading = {.keep_index = true};
    cleanup_dataset struct dataset set = {0};
    const size_t count = w->parts[part].set->count;
    char path[PATH_MAX];
    bool found = false;
    if (snprintf(path, sizeof(path), "%s/%s-*", w->options->target, w->parts[part].name) >=
        (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", w->options->target);
    if (dataset_open_shards_as(&set, path, &reading, &found, err) != 0)
        return -1;
    if (set.warning != NULL)
        return error_set(err, EXIT_CODE_CONFIG, "%s", set.warning);
    if (set.count > count || (set.count < count && w->options->bad_allowed == 0))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: %zu pictures in the shards and %zu in the set; remove the folder and "
                         "prepare the set again",
                         path, set.count, count);
    return 0;
}

/* Only now is it known that all ranks are done: the caller has waited for them. Folders have
 * neither shards nor an index to verify. */
int shard_set_finish(struct shard_set *w, struct error *err) {
    if (is_folders(w->options)) {
        staging_end(w->options->target);
        return 0;
    }
    /* The folder changes by it, so that no listing of a network file system is out of date. */
    if (ranks_of(w->options) > 1)
        rank_lock_remove(w->options->target);
    for (size_t i = 0; i < w->count; i++)
        if (verify_shards(w, i, err) != 0 || write_index(w, i, err) != 0)
            return -1;
    return 0;
}

/* Closes the target or the lock of the rank, and with it the right to write there. */
void shard_set_done(struct shard_set *w) {
    target_done(&w->target);
    if (w->rank_lock >= 0)
        (void)close(w->rank_lock);
    if (w->has_lock)
        (void)pthread_mutex_destroy(&w->lock);
    buf_done(&w->plan);
    *w = (struct shard_set)SHARD_SET_CLOSED;
}

/* RET has what was done, on failure as well. */
int shard_set_write(const struct shard_set_options *options, const struct shard_set_part *parts,
                    size_t count, struct shard_set_result *ret, struct error *err) {
    cleanup_shard_set struct shard_set w = SHARD_SET_CLOSED;
    *ret = (struct shard_set_result){0};
    if (shard_set_plan(&w, options, parts, count, err) != 0 || shard_set_begin(&w, 0, err) != 0)
        return -1;
    const int result = shard_set_make(&w, err) != 0 ? -1 : shard_set_finish(&w, err);
    *ret = w.result;
    return result;
}
