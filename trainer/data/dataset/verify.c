#include "trainer/data/dataset/verify.h"

#include "common/str.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/dataset/source.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Threads take samples one by one from a counter and write to items of their own; pixels are summed
 * for each thread and merged at its end. The first error that is no fault of the data, such as a
 * lack of memory, stops all threads, because what follows from it would be reported as bad
 * pictures.
 *
 * Duplicates are found by sorting hashes, over several sets at once: a picture that is in the
 * training and in the evaluation set makes the score better than it is. `ringtrain inspect data`
 * prints both (trainer/app/command/command_inspect_data.c). */

struct verify_work {
    struct verification *v;
    atomic_size_t next;   /* the next sample to be taken, beyond the last one at the end */
    atomic_bool failed;   /* ends all threads; set once, with `error` */
    pthread_mutex_t lock; /* protects error, and v->pixels */
    struct error error;   /* the first that is not the data's fault */
};

/* Reads and decodes a sample as a whole, and fills its item. Returns -1 for an error that is not
 * the file's fault; the item is then unfinished. A file that can be read but not decoded has a
 * hash, and can still be a duplicate. */
static int look_at(struct fetcher *fetcher, const struct dataset *set, size_t sample,
                   struct verified *item, struct pixel_statistics *pixels, struct error *err) {
    const char *why = NULL;
    int failed = dataset_read(set, sample, &fetcher->encoded, err);
    if (failed == 0) {
        const uint8_t *bytes = (const uint8_t *)fetcher->encoded.data;
        item->read = true;
        item->bytes = (int64_t)fetcher->encoded.size;
        item->hash = str_hash(STR_HASH_START, bytes, fetcher->encoded.size);
        failed = fetch_whole(fetcher, bytes, fetcher->encoded.size, err);
    }
    /* Pixels count whether or not damage was decoded over: training sees the same. */
    if (failed == 0) {
        item->width = fetcher->picture.width;
        item->height = fetcher->picture.height;
        pixel_statistics_add(pixels, &fetcher->picture);
        why = fetcher->damage;
        item->state = why != NULL ? VERIFIED_DAMAGED : VERIFIED_GOOD;
    } else if (bad_sample_at_fault(err)) {
        char name[PATH_MAX];
        dataset_sample_name(set, sample, name, sizeof(name));
        why = bad_sample_reason(name, err->text);
        item->state = VERIFIED_BAD;
    } else {
        return -1;
    }
    item->why = why != NULL ? strdup(why) : NULL;
    return why != NULL && item->why == NULL ? error_no_memory(err, "what is wrong with files") : 0;
}

/* Keeps the first error alone. run reads it after all threads have ended. */
static void keep_error(struct verify_work *work, const struct error *err) {
    pthread_mutex_lock(&work->lock);
    if (!atomic_exchange(&work->failed, true))
        work->error = *err;
    pthread_mutex_unlock(&work->lock);
}

/* One thread's work. A fetcher that could not be made sets `failed`, so that the loop is not
 * entered; what it has can be freed in any case. */
static void *verify_some(void *argument) {
    struct verify_work *work = argument;
    struct verification *v = work->v;
    struct fetcher fetcher;
    struct pixel_statistics pixels = {0};
    struct error err = {0};
    if (fetcher_init(&fetcher, &err) != 0)
        keep_error(work, &err);
    while (!atomic_load(&work->failed)) {
        /* Each sample has one taker, and its item no other writer. */
        size_t sample = atomic_fetch_add(&work->next, 1);
        if (sample >= v->set->count)
            break;
        if (look_at(&fetcher, v->set, sample, &v->items[sample], &pixels, &err) != 0)
            keep_error(work, &err);
    }
    fetcher_done(&fetcher);
    pthread_mutex_lock(&work->lock);
    pixel_statistics_merge(&v->pixels, &pixels);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Fewer threads than asked for are no error: the rest does the work, or this thread alone if none
 * could be started. */
static int run(struct verify_work *work, int threads, struct error *err) {
    pthread_t started[VERIFY_THREADS_MAX];
    int count = 0;
    while (count < threads && pthread_create(&started[count], NULL, verify_some, work) == 0)
        count++;
    if (count == 0)
        (void)verify_some(work);
    for (int i = 0; i < count; i++)
        pthread_join(started[i], NULL);
    /* All threads have been joined, so that the error is complete. */
    if (!atomic_load(&work->failed))
        return 0;
    *err = work->error;
    return -1;
}

/* Counts are made at the end from the items, so that threads do not share counters. On failure RET
 * holds what was found until then and is to be freed. */
int verify_set(struct verification *ret, const struct dataset *set, int threads,
               struct error *err) {
    *ret = (struct verification){.set = set};
    if (threads < 1 || threads > VERIFY_THREADS_MAX ||
        (set->kind != DATASET_FOLDER && set->kind != DATASET_SHARDS))
        return error_set(err, EXIT_CODE_USAGE, "%d threads; expected 1 to %d", threads,
                         VERIFY_THREADS_MAX);
    ret->items = calloc(set->count + 1, sizeof(*ret->items));
    if (ret->items == NULL)
        return error_no_memory(err, "pictures");
    struct verify_work work = {.v = ret};
    struct error failed = {0};
    if (pthread_mutex_init(&work.lock, NULL) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no lock");
    int result = run(&work, threads, &failed);
    pthread_mutex_destroy(&work.lock);
    if (result != 0 && err != NULL)
        *err = failed;
    for (size_t i = 0; i < set->count; i++) {
        ret->damaged += ret->items[i].state == VERIFIED_DAMAGED;
        ret->bad += ret->items[i].state == VERIFIED_BAD;
    }
    return result;
}

/* The set must still be there: its number of samples is that of the items. */
void verification_done(struct verification *v) {
    for (size_t i = 0; v->items != NULL && i < v->set->count; i++)
        free(v->items[i].why);
    free(v->items);
    *v = (struct verification){0};
}

/* Orders by content, and equal contents by set and sample, so that the report is the same each
 * time. */
static int compare_contents(const void *first, const void *second) {
    const struct content *a = first;
    const struct content *b = second;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* Files that could not be read are left out: they have no hash. Two files count as equal by 64 bits
 * of hash and their size, and are not compared byte by byte. */
int duplicates_find(struct duplicates *ret, const struct verification *sets, size_t count,
                    struct error *err) {
    size_t all = 0;
    *ret = (struct duplicates){0};
    for (size_t s = 0; s < count; s++)
        all += sets[s].set->count;
    ret->items = calloc(all + 1, sizeof(*ret->items));
    if (ret->items == NULL)
        return error_no_memory(err, "pictures");
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sets[s].set->count; i++) {
            const struct verified *item = &sets[s].items[i];
            if (item->read)
                ret->items[ret->count++] = (struct content){item->hash, item->bytes, s, i};
        }
    qsort(ret->items, ret->count, sizeof(*ret->items), compare_contents);
    return 0;
}

/* The verifications that the items refer to are left alone. */
void duplicates_done(struct duplicates *d) {
    free(d->items);
    *d = (struct duplicates){0};
}

/* Equal contents are neighbours. A caller continues at *RET_FIRST plus the size. Without a further
 * group *RET_FIRST has no meaning. */
size_t duplicates_next(const struct duplicates *d, size_t at, size_t *ret_first) {
    while (at < d->count) {
        const struct content *first = &d->items[at];
        size_t end = at + 1;
        while (end < d->count && d->items[end].hash == first->hash &&
               d->items[end].bytes == first->bytes)
            end++;
        *ret_first = at;
        if (end - at > 1)
            return end - at;
        at = end;
    }
    return 0;
}
