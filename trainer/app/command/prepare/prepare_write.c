#include "trainer/app/command/prepare/prepare_write.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/command/prepare/prepare_ranks.h"
#include "trainer/app/device/cpus.h"
#include "trainer/app/task/classes.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/prepare/alike_names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The sets are written in steps, each finished by all ranks before the next begins: open, plan and
 * agree, begin, join, make, finish. Rank 0 alone begins and finishes, since it owns the target; the
 * others join what it has begun. One process does the same steps, with a communicator of its own,
 * so that there is one sequence to test.
 *
 * Errors are made common step by step: prepare_ranks_run gives all ranks the outcome of each step,
 * so no rank can continue where another has stopped. The plan needs no exchange of its own. It is
 * computed by each rank from its own flags and data, and compared. */

/* Gives the classes of the second part the numbers that they have in the first: shards have
 * numbers, and a training reads both parts with one list of names. A class that the first part
 * lacks is an error. */
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

/* FORMAT is a name of a shard format, or "folder": class folders with a file for each picture. */
static bool writes_folders(const struct prepare_flags *f) {
    return strcmp(f->format, "folder") == 0;
}

/* Warns of names that differ in case alone: of classes always, as they are often one class by
 * mistake, and of pictures where they become files. */
static int warn_of_alike_names(const struct prepare_sets *sets, const struct prepare_flags *f,
                               struct error *err) {
    const bool folders = writes_folders(f);
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

/* Prints the line that ends the command: what was made, and how a training reads it. */
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

/* What the steps of all ranks work on. */
struct sets_work {
    struct prepare_sets *sets;
    const struct prepare_flags *flags;
    int (*open)(struct prepare_sets *sets, const struct prepare_flags *flags, struct error *err);
    struct prepare_ranks ranks;
    struct shard_set set;
    uint64_t job; /* random; the same on all ranks */
};

/* Rank 0 owns the target: it makes the plan's file, verifies the shards, and prints. */
static bool is_first(const struct sets_work *w) {
    return comm_rank(w->ranks.comm) == 0;
}

/* Checks classes and names of the opened sets. Rank 0 alone warns: all ranks have the same sets. */
static int ready_sets(struct sets_work *w, struct error *err) {
    if (place_classes(w->sets, err) != 0)
        return -1;
    return is_first(w) ? warn_of_alike_names(w->sets, w->flags, err) : 0;
}

/* First step with several ranks: each opens all sets, as each writes shards of every part. One
 * process has opened them before it comes here. */
static int open_sets(void *context, struct error *err) {
    struct sets_work *w = context;
    return w->open(w->sets, w->flags, err) != 0 ? -1 : ready_sets(w, err);
}

/* Callbacks of the steps (struct prepare_step), each of which has a thread of its own where there
 * are several ranks; CONTEXT is a struct sets_work.
 *
 * The random number of the job goes into the target with its plan. By it the others recognize the
 * target that rank 0 has begun, and no leftover of an earlier job on a disk that is not shared. */
static int begin(void *context, struct error *err) {
    struct sets_work *w = context;
    return is_first(w) ? shard_set_begin(&w->set, w->job, err) : 0;
}

static int join(void *context, struct error *err) {
    struct sets_work *w = context;
    return is_first(w) ? 0 : shard_set_join(&w->set, w->job, err);
}

static int make(void *context, struct error *err) {
    struct sets_work *w = context;
    return shard_set_make(&w->set, err);
}

static void stop(void *context) {
    struct sets_work *w = context;
    shard_set_stop(&w->set);
}

static int64_t tell(void *context) {
    struct sets_work *w = context;
    return shard_set_pictures(&w->set);
}

/* Last step, by rank 0 alone: all shards are on the disk by now. */
static int finish(void *context, struct error *err) {
    struct sets_work *w = context;
    return is_first(w) ? shard_set_finish(&w->set, err) : 0;
}

/* Does the steps, each on all ranks before the next. Only the writing is long enough to be stopped
 * early and to have a line of progress. Without random bytes the time distinguishes jobs. */
static int run_steps(struct sets_work *w, struct writing *writing, struct error *err) {
    const struct prepare_step steps[] = {
        {.run = begin, .context = w},
        {.run = join, .context = w},
        {.run = make,
         .context = w,
         .stop = stop,
         .tell = tell,
         .show = writing_show,
         .show_context = writing},
    };
    if (is_first(w) && getrandom(&w->job, sizeof(w->job), 0) != (ssize_t)sizeof(w->job))
        w->job = (uint64_t)clock_wall();
    if (prepare_ranks_spread(&w->ranks, &w->job, sizeof(w->job), err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (prepare_ranks_run(&w->ranks, &steps[i], err) != 0)
            return -1;
    return 0;
}

/* Adds up what the ranks have made, and verifies it. Each rank has counted only its own pictures,
 * so the limit of bad ones is checked once more for all of them together. */
static int end(struct sets_work *w, struct shard_set_result *result, struct error *err) {
    const struct prepare_step step = {.run = finish, .context = w};
    *result = w->set.result;
    /* In the order of struct shard_set_result, which is filled from them again. */
    int64_t numbers[] = {result->pictures, result->shards, result->kept, result->bad,
                         result->bytes};
    if (prepare_ranks_add(&w->ranks, numbers, sizeof(numbers) / sizeof(numbers[0]), err) != 0)
        return -1;
    *result = (struct shard_set_result){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
    if (result->bad > w->flags->reading.bad_allowed)
        return error_set(err, EXIT_CODE_DATA,
                         "%" PRId64 " pictures cannot be used on all ranks together; --bad-samples "
                         "allows %" PRId64,
                         result->bad, w->flags->reading.bad_allowed);
    return prepare_ranks_run(&w->ranks, &step, err);
}

/* Finds the threads of this rank: its share of those CPUs that it has in common with others. A
 * number on the command line counts as it is. */
static int settle_threads(struct sets_work *w, int *ret, struct error *err) {
    struct cpus cpus;
    const int ranks = comm_size(w->ranks.comm);
    *ret = prepare_flags_threads(w->flags);
    if (ranks == 1 || w->flags->threads > 0)
        return 0;
    /* An exchange that failed on this rank may have succeeded on another, so they cannot end
     * together. */
    w->ranks.lost = cpus_find(&cpus, w->ranks.comm, err) != 0;
    if (w->ranks.lost)
        return -1;
    const int share = cpus_threads(&cpus, ranks, comm_local_size(w->ranks.comm));
    *ret = share < *ret ? share : *ret;
    return 0;
}

/* Plans the sets, compares the plans of all ranks, and does the steps. The text of the error stands
 * for a plan that failed, so ranks with the same error agree as well, and each fails with its
 * own. */
static int write_sets(struct sets_work *w, const struct shard_set_options *o,
                      struct writing *writing, struct shard_set_result *result, struct error *err) {
    struct error why = {0};
    /* Never fails on a rank alone: the agreement compares the plans, or what is wrong with them. */
    const bool planned = shard_set_plan(&w->set, o, w->sets->parts, w->sets->count, &why) == 0;
    if (prepare_ranks_agree(&w->ranks, "the data set, or a flag of `ringtrain prepare`,",
                            planned ? buf_text(&w->set.plan) : why.text, err) != 0)
        return -1;
    if (!planned && err != NULL)
        *err = why;
    return planned && run_steps(w, writing, err) == 0 ? end(w, result, err) : -1;
}

/* Writes the sets, which are open, and prints what was made. One process reports its progress
 * directly; several do so through their exchanges (struct prepare_step), by rank 0. */
static int write_opened(struct sets_work *w, struct error *err) {
    const struct prepare_flags *f = w->flags;
    struct writing writing;
    struct shard_set_result result = {0};
    int64_t pictures = 0;
    int threads = 0;
    for (size_t i = 0; i < w->sets->count; i++)
        pictures += (int64_t)w->sets->sets[i].count;
    if (settle_threads(w, &threads, err) != 0)
        return -1;
    /* FORMAT NULL: folders. WRITTEN is for one process; ranks have struct prepare_step instead. */
    const struct shard_set_options o = {
        .target = f->target,
        .format = writes_folders(f) ? NULL : format_need(f->format, err),
        .shards = f->shards,
        .resize = (int)f->resize,
        .quality = (int)f->quality,
        .raw = f->raw,
        /* As ImageNet's converter to TFRecord has them: 0 is for the background. */
        .label_base = f->kind == PREPARE_IMAGENET && strcmp(f->format, "tfrecord") == 0,
        .threads = threads,
        .ranks = comm_size(w->ranks.comm),
        .rank = comm_rank(w->ranks.comm),
        .bad_allowed = f->reading.bad_allowed,
        .written = comm_size(w->ranks.comm) == 1 ? writing_show : NULL,
        .context = &writing,
    };
    /* Descriptor -1 is a line of progress that shows nothing. */
    writing_open(&writing, is_first(w) ? STDERR_FILENO : -1, pictures);
    int code = write_sets(w, &o, &writing, &result, err);
    writing_close(&writing);
    if (code == 0 && is_first(w))
        sum_up(f, &result);
    shard_set_done(&w->set);
    return code;
}

/* The caller has opened the sets. The communicator of one rank makes each collective call a
 * no-operation, so that this is run_steps as well. */
int prepare_write_alone(struct prepare_sets *sets, const struct prepare_flags *f,
                        struct error *err) {
    struct sets_work w = {.sets = sets, .flags = f, .set = SHARD_SET_CLOSED};
    if (comm_self_open(&w.ranks.comm, err) != 0)
        return -1;
    const int code = ready_sets(&w, err) != 0 ? -1 : write_opened(&w, err);
    prepare_ranks_close(&w.ranks);
    return code;
}

/* Folders have a file for each picture, which the shards' division among ranks does not cover. */
static int refuse_folders(const struct prepare_flags *f, struct error *err) {
    int ranks = 1;
    if (!writes_folders(f))
        return 0;
    if (prepare_ranks_count(&ranks, err) != 0)
        return -1;
    return ranks == 1 ? 0
                      : error_set(err, EXIT_CODE_USAGE,
                                  "--format folder on %d ranks: only shards are written by several "
                                  "ranks; start it once, without mpirun and WORLD_SIZE",
                                  ranks);
}

/* The ranks are counted before they are connected: a refusal then needs no agreement. */
int prepare_write_together(const struct prepare_flags *f,
                           int (*open)(struct prepare_sets *sets, const struct prepare_flags *flags,
                                       struct error *err),
                           struct error *err) {
    cleanup_prepare_sets struct prepare_sets sets = {0};
    struct sets_work w = {.sets = &sets, .flags = f, .open = open, .set = SHARD_SET_CLOSED};
    /* A rank that cannot open its sets must not leave the others in their first exchange. */
    const struct prepare_step opening = {.run = open_sets, .context = &w};
    if (refuse_folders(f, err) != 0 || prepare_ranks_open(&w.ranks, err) != 0)
        return -1;
    int code = prepare_ranks_run(&w.ranks, &opening, err);
    if (code == 0)
        code = write_opened(&w, err);
    prepare_ranks_close(&w.ranks);
    return code;
}
