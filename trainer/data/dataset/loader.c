#include "trainer/data/dataset/loader.h"

#include "common/clock.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/dataset/loader_slot.h"
#include "trainer/data/order/sampler_epoch.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* The ring, its threads and all waiting; loader_slot.c has what one batch is made of. A single lock
 * is enough: it is held to take a number or to report one, never while a sample is read or decoded.
 *
 * Workers take single samples, not batches. All of them thus work on the next batch, which is ready
 * as early as it can be. A slow picture delays its batch, and no share of later ones.
 *
 * A failed sample is kept in its slot until the consumer comes to that batch. Batches before it are
 * as they would have been, so that a run ends in the same step on any number of threads. */

/* Batches are numbered from the loader's start: number n uses slot n mod depth. Three counters
 * advance over them: `handed` (next sample for a worker), `given` (next batch for the consumer) and
 * `released` (first batch still held). A worker may take samples of batch n while n < released +
 * depth, so a slot is never written while the consumer holds it. */
struct loader {
    struct loader_options options;
    int64_t steps; /* of an epoch */
    int64_t total; /* batches in all */

    struct loader_slot *slots;
    pthread_t *threads; /* owned; the first `started` run */
    int started;

    /* Written by one worker, without the lock, while all others wait; read with the lock held. */
    struct sampler_epoch order;

    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t work;  /* signals workers: a slot is free, or the end */
    pthread_cond_t ready; /* signals the consumer */
    bool stopping;
    bool interrupted; /* by loader_interrupt, until loader_next has returned once */
    bool ordering;    /* a worker is making the order of the next batch's epoch */
    int64_t handed_batch;
    int handed_place; /* 0: that batch has not begun */
    int64_t given;
    int64_t released;
    struct loader_figures figures;
};

/* Valid for batches from `released` to `released` + depth - 1; other numbers have the slot of
 * another batch. */
static struct loader_slot *slot_of(struct loader *l, int64_t number) {
    return &l->slots[number % l->options.depth];
}

/* Call with the lock held; releases it meanwhile, so that ready batches can be taken. No other
 * worker reads the order then: `ordering` makes them wait, and all places of earlier epochs have
 * been handed out. */
static void make_order(struct loader *l, uint32_t epoch) {
    l->ordering = true;
    pthread_mutex_unlock(&l->lock);
    sampler_epoch_make(&l->order, epoch);
    pthread_mutex_lock(&l->lock);
    l->ordering = false;
    pthread_cond_broadcast(&l->work);
}

/* Call with the lock held: waits until a sample can be taken. Returns false at the end. The loop
 * looks at everything again after each wait, as another worker may have been faster. */
static bool wait_for_work(struct loader *l) {
    while (!l->stopping && l->handed_batch < l->total) {
        const uint32_t epoch = loader_slot_epoch(&l->options, l->steps, l->handed_batch);
        if (l->ordering || l->handed_batch >= l->released + l->options.depth)
            pthread_cond_wait(&l->work, &l->lock);
        else if (!sampler_epoch_has(&l->order, epoch))
            make_order(l, epoch);
        else
            return true;
    }
    return false;
}

/* Call with the lock held: waits for a free slot and takes the next sample. Returns false at the
 * end. */
static bool take_work(struct loader *l, struct loader_slot **ret_slot, int *ret_place) {
    if (!wait_for_work(l))
        return false;
    if (l->handed_place == 0)
        loader_slot_begin(slot_of(l, l->handed_batch), &l->options, &l->order, l->steps,
                          l->handed_batch);
    *ret_slot = slot_of(l, l->handed_batch);
    *ret_place = l->handed_place++;
    if (l->handed_place == l->options.sampler.batch) {
        l->handed_place = 0;
        l->handed_batch++;
    }
    return true;
}

/* Call with the lock held, which it releases meanwhile, after the last place of SLOT is filled. No
 * other thread touches the slot then: it has no free place left, and is not ready yet. */
static int finish_slot(struct loader *l, const struct loader_slot *slot, struct error *err) {
    const struct source *source = l->options.source;
    if (source->table->finish == NULL)
        return 0;
    pthread_mutex_unlock(&l->lock);
    int result = source->table->finish(source, &slot->batch, err);
    pthread_mutex_lock(&l->lock);
    return result;
}

/* A worker that could not be opened takes samples all the same, and fails them: the error reaches
 * the consumer in order, like any other. The worker that delivers the last place of a batch
 * finishes it. */
static void *worker(void *argument) {
    struct loader *l = argument;
    const struct source *source = l->options.source;
    struct error err;
    void *own = NULL;
    int made =
        source->table->worker_open == NULL ? 0 : source->table->worker_open(source, &own, &err);
    struct loader_slot *slot;
    int place;
    pthread_mutex_lock(&l->lock);
    while (take_work(l, &slot, &place)) {
        pthread_mutex_unlock(&l->lock);
        loader_slot_read_ahead(slot, &l->options, place);
        int rc = made == 0 ? loader_slot_fill(slot, &l->options, own, place, &err) : -1;
        pthread_mutex_lock(&l->lock);
        if (rc != 0)
            loader_slot_fail(slot, place, &err);
        if (slot->missing == 1 && slot->failed == INT_MAX && finish_slot(l, slot, &err) != 0)
            loader_slot_fail(slot, 0, &err);
        if (--slot->missing == 0)
            pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    if (source->table->worker_close != NULL)
        source->table->worker_close(own);
    return NULL;
}

/* Refuses options that the rest of this file could not work with. A set that is divided among hosts
 * has more samples than its sampler (sampler.part), which then must lie within the set. */
static int check_options(const struct loader_options *o, struct error *err) {
    if (sampler_check(&o->sampler, err) != 0)
        return -1;
    if (o->threads < 1 || o->threads > LOADER_THREADS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d data threads; expected 1 to %d", o->threads,
                         LOADER_THREADS_MAX);
    if (o->depth < 2 || o->depth > LOADER_DEPTH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d batches ahead; expected 2 to %d", o->depth,
                         LOADER_DEPTH_MAX);
    const bool part =
        o->sampler.part.steps > 0 && o->sampler.part.first + o->sampler.count <= o->source->count;
    if ((o->sampler.count != o->source->count && !part) || o->sampler.batch != o->source->batch)
        return error_set(
            err, EXIT_CODE_INTERNAL,
            "the sampler is for %zu pictures in batches of %d, the source has %zu in batches of %d",
            o->sampler.count, o->sampler.batch, o->source->count, o->source->batch);
    if (o->bad_allowed > 0 && (o->faults == NULL || o->faults->samples != o->source->count))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "bad samples are allowed, but no list counts them");
    if (o->step < 0 || o->step > sampler_steps(&o->sampler) || o->epoch > o->epochs)
        return error_set(err, EXIT_CODE_DATA, "no step %lld in an epoch of %lld, or epoch %u of %u",
                         (long long)o->step, (long long)sampler_steps(&o->sampler), o->epoch,
                         o->epochs);
    return 0;
}

/* The default memory of batches, for callers without a device's own (struct loader_memory). */
static void *heap_alloc(void *user, size_t bytes, struct error *err) {
    (void)user;
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        (void)error_no_memory(err, "batches");
    return memory;
}

static void heap_free(void *user, void *memory) {
    (void)user;
    free(memory);
}

/* Allocates all slots before the first thread starts. Each has the size of the largest layout:
 * batches of smaller canvases use the beginning of it. */
static int slots_make(struct loader *l, struct error *err) {
    const struct loader_options *o = &l->options;
    l->slots = calloc((size_t)o->depth, sizeof(*l->slots));
    l->threads = calloc((size_t)o->threads, sizeof(*l->threads));
    if (l->slots == NULL || l->threads == NULL)
        return error_no_memory(err, "batches");
    for (int i = 0; i < o->depth; i++)
        if (loader_slot_make(&l->slots[i], o, err) != 0)
            return -1;
    return 0;
}

/* Deadlines are on the monotonic clock, so the conditions use it. */
static int sync_make(struct loader *l, struct error *err) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0)
        return error_no_memory(err, "loader");
    int rc = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_mutex_init(&l->lock, NULL);
    if (rc == 0)
        rc = pthread_cond_init(&l->work, &monotonic);
    if (rc == 0)
        rc = pthread_cond_init(&l->ready, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return rc == 0 ? 0 : error_set(err, EXIT_CODE_INTERNAL, "loader: no lock");
}

/* The options are copied; what they point to is borrowed. On failure nothing is left, and
 * *RET_LOADER stays as it was. */
int loader_start(const struct loader_options *options, struct loader **ret_loader,
                 struct error *err) {
    if (check_options(options, err) != 0)
        return -1;
    struct loader *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return error_no_memory(err, "loader");
    l->options = *options;
    if (l->options.memory.alloc == NULL)
        l->options.memory = (struct loader_memory){heap_alloc, heap_free, NULL};
    l->steps = sampler_steps(&options->sampler);
    l->total = ((int64_t)(options->epochs - options->epoch) * l->steps - options->step) *
               options->sampler.accumulate;
    /* Only from here on may loader_done be called, which destroys the lock and the conditions. */
    if (sync_make(l, err) != 0) {
        free(l);
        return -1;
    }
    int rc = slots_make(l, err);
    if (rc == 0)
        rc = sampler_epoch_init(&l->order, &options->sampler, err);
    for (; rc == 0 && l->started < options->threads; l->started++)
        if (pthread_create(&l->threads[l->started], NULL, worker, l) != 0) {
            rc = error_set(err, EXIT_CODE_INTERNAL, "data thread %d of %d cannot start",
                           l->started + 1, options->threads);
            break;
        }
    if (rc != 0) {
        loader_done(l);
        return -1;
    }
    *ret_loader = l;
    return 0;
}

/* Workers finish the sample that they have. Batches stay valid, so that the consumer may still hold
 * some. */
void loader_stop(struct loader *l) {
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->started; i++)
        pthread_join(l->threads[i], NULL);
    l->started = 0;
}

void loader_done(struct loader *l) {
    if (l == NULL)
        return;
    loader_stop(l);
    for (int i = 0; l->slots != NULL && i < l->options.depth; i++)
        loader_slot_done(&l->slots[i], &l->options);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    sampler_epoch_done(&l->order);
    free(l->slots);
    free(l->threads);
    free(l);
}

/* Returns true if all workers have delivered batch NUMBER. Its slot only counts once work on it
 * has begun. */
static bool is_ready(struct loader *l, int64_t number) {
    bool begun = number < l->handed_batch || (number == l->handed_batch && l->handed_place > 0);
    return begun && slot_of(l, number)->missing == 0;
}

static bool is_next_ready(struct loader *l) {
    return is_ready(l, l->given);
}

/* Call with the lock held: returns true when IT is true, false at the deadline or an interruption,
 * which it uses up. A deadline that has passed still looks once. The time counts as a stall of the
 * consumer. */
static bool wait_until(struct loader *l, bool (*it)(struct loader *l), int64_t deadline) {
    const struct timespec until = {.tv_sec = (time_t)(deadline / CLOCK_SECOND),
                                   .tv_nsec = (long)(deadline % CLOCK_SECOND)};
    int64_t begin = clock_now();
    bool timed_out = deadline <= begin;
    while (!it(l) && !l->interrupted && !timed_out)
        timed_out = pthread_cond_timedwait(&l->ready, &l->lock, &until) != 0;
    l->figures.wait_ns += clock_now() - begin;
    if (it(l))
        return true;
    l->interrupted = false;
    return false;
}

/* Returns true if all batches that may be read ahead are ready: no worker can find another fault
 * until the consumer releases a batch. */
static bool is_all_ready(struct loader *l) {
    int64_t end = l->released + l->options.depth;
    bool ready = true;
    for (int64_t n = l->given; n < l->total && n < end; n++)
        ready = ready && is_ready(l, n);
    return ready;
}

/* Call with the lock held, when the next batch is ready: returns it, or its error. Before an error
 * of the data it waits for all that is being read, so that the report has the faults of all of it.
 * `given` does not move then, and each later call returns the error again. */
static enum loader_result give(struct loader *l, int64_t deadline, const struct batch **ret_batch,
                               struct error *err) {
    const struct loader_slot *slot = slot_of(l, l->given);
    if (slot->failed == INT_MAX) {
        *ret_batch = &slot->batch;
        l->given++;
        l->figures.batches++;
        return LOADER_BATCH;
    }
    bool of_data = bad_sample_at_fault(slot->error);
    if (of_data && l->options.faults != NULL && !wait_until(l, is_all_ready, deadline))
        return LOADER_DEADLINE;
    if (err != NULL)
        *err = *slot->error;
    return of_data ? LOADER_BAD : LOADER_ERROR;
}

enum loader_result loader_next(struct loader *l, int64_t deadline, const struct batch **ret_batch,
                               struct error *err) {
    enum loader_result result = LOADER_BATCH;
    pthread_mutex_lock(&l->lock);
    if (l->given >= l->total) {
        result = LOADER_END;
    } else if (l->given >= l->released + l->options.depth) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "all %d batches are held", l->options.depth);
        result = LOADER_ERROR;
    } else if (l->interrupted || !wait_until(l, is_next_ready, deadline)) {
        l->interrupted = false;
        result = LOADER_DEADLINE;
    } else {
        result = give(l, deadline, ret_batch, err);
    }
    pthread_mutex_unlock(&l->lock);
    return result;
}

void loader_release(struct loader *l, const struct batch *batch) {
    (void)batch; /* batches are released in order, so it is the oldest one held */
    pthread_mutex_lock(&l->lock);
    if (l->released < l->given)
        l->released++;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

void loader_interrupt(struct loader *l) {
    pthread_mutex_lock(&l->lock);
    l->interrupted = true;
    pthread_cond_signal(&l->ready);
    pthread_mutex_unlock(&l->lock);
}

/* Counts ready batches without a gap from the next one on: those that steps can take without
 * waiting. */
void loader_figures(struct loader *l, struct loader_figures *ret_figures) {
    pthread_mutex_lock(&l->lock);
    *ret_figures = l->figures;
    for (int64_t n = l->given; n < l->total && is_ready(l, n); n++)
        ret_figures->ready++;
    pthread_mutex_unlock(&l->lock);
}
