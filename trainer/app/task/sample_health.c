#include "trainer/app/task/sample_health.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/hosts/host_set.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Faults of samples, and how a run answers them: it logs each, counts them over all ranks, refuses
 * to continue above a limit, and sums up at the end.
 *
 * Loader threads record faults in bad_samples at any time; the functions here are called by the
 * main thread between batches. Every rank sees only the faults of its own samples.
 * sample_health_share, which is collective, tells them to all, so that a sample which two ranks
 * meet in different epochs counts once.
 *
 * The limit is tested on the sum in sample_health_share, where all ranks have the same numbers and
 * so decide alike. */

/* Faults that a rank sends in one round, and that the summary at the end names. */
enum { SHARED_AT_ONCE = 64, SUMMED_UP = 8 };

/* A note about files that were left out is a warning only if pictures are among them: other files
 * in a folder are common. */
static void log_found(const struct dataset *set, const char *path) {
    char left[2048];
    skipped_files_text(&set->left_out, left, sizeof(left));
    if (set->note != NULL)
        log_line(set->bad > 0 ? LOG_WARNING : LOG_INFO, "%s: %s", path, set->note);
    if (set->warning != NULL)
        log_warning("%s", set->warning);
    if (left[0] != '\0')
        log_line(set->left_out.pictures > 0 ? LOG_WARNING : LOG_INFO, "%s: %zu picture%s; %s", path,
                 set->count, STR_PLURAL(set->count), left);
}

/* COMM NULL: for this process alone. With COMM one rank of each host reads the set and shares it in
 * memory (hosts/host_set.h). ALOUD is for the rank that logs. */
static int open_set(struct dataset *set, const char *path, const struct shards_reading *reading,
                    struct comm *comm, bool aloud, struct error *err) {
    struct shards_reading how = *reading;
    how.aloud = aloud;
    if (aloud)
        log_info("looking for pictures in %s", path);
    if ((comm != NULL ? host_set_open(set, path, &how, comm, err)
                      : dataset_open_as(set, path, &how, err)) != 0)
        return -1;
    if (aloud)
        log_found(set, path);
    return 0;
}

/* For a process that reads alone, such as an inspection. */
int sample_health_open(struct dataset *set, const char *path, const struct shards_reading *reading,
                       bool aloud, struct error *err) {
    return open_set(set, path, reading, NULL, aloud, err);
}

int sample_health_open_shared(struct dataset *set, const char *path,
                              const struct shards_reading *reading, struct comm *comm,
                              struct error *err) {
    return open_set(set, path, reading, comm, comm_rank(comm) == 0, err);
}

/* "fail" is 0 and "skip" has no limit in practice. Returns -1 with EXIT_CODE_USAGE for anything
 * else that is no number. */
int sample_health_parse_allowed(const char *text, int64_t *ret, struct error *err) {
    if (strcmp(text, "fail") == 0) {
        *ret = 0;
        return 0;
    }
    if (strcmp(text, "skip") == 0) {
        *ret = INT64_MAX;
        return 0;
    }
    if (str_parse_whole(text, 0, DATASET_SAMPLES_MAX, ret, NULL) == 0)
        return 0;
    return error_set(
        err, EXIT_CODE_USAGE,
        "--bad-samples: unknown value '%.64s'; expected fail, skip or a number from 0 to %d", text,
        DATASET_SAMPLES_MAX);
}

/* The words fit before a file's name as well as after a count. */
static const char *words(enum bad_sample_kind kind, int64_t allowed) {
    if (kind == BAD_SAMPLE_DAMAGED)
        return "damaged, decoded as far as possible";
    return allowed > 0 ? "skipped" : "cannot be used";
}

/* Takes the faults that were not logged yet, one by one; a loader may add more meanwhile. */
void sample_health_log(struct sample_health *samples, int64_t allowed) {
    struct bad_sample fault;
    while (bad_samples_take(&samples->faults, &fault, 1) == 1) {
        char name[PATH_MAX];
        samples->source.table->sample_name(&samples->source, (size_t)fault.sample, name,
                                           sizeof(name));
        log_warning("%s: %s: %s", words(fault.kind, allowed), name, fault.why);
    }
}

/* ERR holds the fault of one file when this is called, and the refusal with its advice afterwards.
 * The code stays that of the file. Returns -1. */
int sample_health_refuse(struct sample_health *samples, int64_t allowed, struct error *err) {
    struct error first = *err;
    int64_t bad = bad_samples_count(&samples->faults, BAD_SAMPLE_BAD);
    sample_health_log(samples, allowed);
    if (allowed > 0)
        return error_set(err, first.code,
                         "%.500s (%" PRId64 " files cannot be used; --bad-samples %" PRId64
                         " are allowed)",
                         first.text, bad, allowed);
    return error_set(err, first.code,
                     "%.500s (%" PRId64 " such files so far; ringtrain inspect %s finds all, "
                     "--bad-samples skip continues without them)",
                     first.text, bad, samples->source.table->inspect);
}

#define MASKS_WITHOUT_ROOM                                                                         \
    "masks, the smallest of a batch, did not fit into it; their boxes and labels are used"

/* The first batch with dropped masks is reported; the total is logged at the end. */
void sample_health_count(struct sample_health *samples, const struct batch *batch) {
    if (samples->source.table->dropped == NULL)
        return;
    const struct source_dropped now = samples->source.table->dropped(batch);
    if (now.masks > 0 && samples->masks_dropped == 0)
        log_warning("%s: %" PRId64 " " MASKS_WITHOUT_ROOM "; further ones are only counted",
                    samples->source.name, now.masks);
    samples->masks_dropped += now.masks;
    samples->dropped += now.objects + now.masks;
}

/* One round: distributes the faults of each rank to all. Returns how many are left over all
 * ranks. A rank may have more faults than fit into one message, so RET_MORE tells all ranks to
 * come again. */
static int share_round(struct comm *comm, struct bad_samples *faults, bool *ret_more,
                       struct error *err) {
    struct share {
        int64_t count;
        int64_t left;
        int64_t numbers[SHARED_AT_ONCE];
    } mine = {0};
    int ranks = comm_size(comm);
    cleanup_free struct share *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "faults of the data");
    mine.count = bad_samples_unshared(faults, mine.numbers, SHARED_AT_ONCE, &mine.left);
    if (comm_gather(comm, &mine, sizeof(mine), all, err) != 0)
        return -1;
    *ret_more = false;
    for (int rank = 0; rank < ranks; rank++) {
        /* A rank also learns its own faults again, which changes nothing. */
        for (int64_t i = 0; i < all[rank].count && i < SHARED_AT_ONCE; i++)
            bad_samples_learn(faults, all[rank].numbers[i]);
        *ret_more = *ret_more || all[rank].left > 0;
    }
    return 0;
}

/* The first sum tells if anyone has news: without, which is the usual case, no further message is
 * sent. Dropped objects are those since the last call. */
int sample_health_share(struct comm *comm, struct sample_health *samples, int64_t allowed,
                        struct sample_counts *ret, struct error *err) {
    struct bad_samples *faults = &samples->faults;
    /* Places of the numbers that are summed. */
    enum { FRESH, DROPPED, SUMS };
    /* They are taken before the faults are logged; faults that come meanwhile are shared the next
     * time. */
    double sums[SUMS] = {(double)bad_samples_fresh(faults), (double)samples->dropped};
    sample_health_log(samples, allowed);
    if (comm_size(comm) > 1) {
        if (comm_sum(comm, sums, SUMS, COMM_F64, err) != 0)
            return -1;
        for (bool more = sums[FRESH] > 0; more;)
            if (share_round(comm, faults, &more, err) != 0)
                return -1;
    }
    samples->dropped = 0;
    *ret = (struct sample_counts){.bad = bad_samples_count(faults, BAD_SAMPLE_BAD),
                                  .damaged = bad_samples_count(faults, BAD_SAMPLE_DAMAGED),
                                  .dropped = (int64_t)sums[DROPPED]};
    if (allowed == 0 || ret->bad <= allowed)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: %" PRId64 " files cannot be used; --bad-samples %" PRId64 " are allowed",
                     samples->source.name, ret->bad, allowed);
}

/* Names the first few files of a kind in the order of the set, and how many there are. */
static void sum_up(struct sample_health *samples, enum bad_sample_kind kind, int64_t allowed) {
    const struct source *source = &samples->source;
    struct bad_samples *faults = &samples->faults;
    char names[4096];
    size_t used = 0;
    int64_t count = bad_samples_count(faults, kind);
    int64_t at = bad_samples_next(faults, kind, 0);
    names[0] = '\0';
    for (int i = 0; i < SUMMED_UP && at >= 0; i++) {
        char name[PATH_MAX];
        source->table->sample_name(source, (size_t)at, name, sizeof(name));
        /* snprintf returns the length that it would have written, so USED may pass the end. */
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                     name);
        at = bad_samples_next(faults, kind, at + 1);
    }
    if (count > 0)
        log_warning("%s: of %zu files %" PRId64 " %s: %s%s", source->name, source->count, count,
                    words(kind, allowed), names, at >= 0 ? ", ..." : "");
}

/* Called once, when the work on SAMPLES is over. */
void sample_health_sum_up(struct sample_health *samples, int64_t allowed) {
    sum_up(samples, BAD_SAMPLE_BAD, allowed);
    sum_up(samples, BAD_SAMPLE_DAMAGED, allowed);
    if (samples->masks_dropped > 0)
        log_warning("%s: in all %" PRId64 " " MASKS_WITHOUT_ROOM, samples->source.name,
                    samples->masks_dropped);
}
