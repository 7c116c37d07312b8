/* A loader of a source that is no labelled set: threads and slots have data of their own, and a
 * batch is finished once, after its last place. */
#include "trainer/data/dataset/source.h"

#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/loader.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { SAMPLES = 23, PLACES = 4 };

static atomic_int workers, slots, finished;

static int worker_open(const struct source *source, void **ret_worker, struct error *err) {
    (void)source, (void)err;
    *ret_worker = malloc(1);
    atomic_fetch_add(&workers, 1);
    return 0;
}

static void worker_close(void *worker) {
    free(worker);
    atomic_fetch_sub(&workers, 1);
}

static int batch_open(const struct source *source, struct batch *batch, struct error *err) {
    (void)source, (void)err;
    batch->own = calloc(PLACES, sizeof(int64_t));
    atomic_fetch_add(&slots, 1);
    return 0;
}

static void batch_close(struct batch *batch) {
    if (batch->own != NULL)
        atomic_fetch_sub(&slots, 1);
    free(batch->own);
}

static int fill(const struct source *source, void *worker, const struct batch *batch, int place,
                const char **ret_damage, struct error *err) {
    (void)source, (void)ret_damage, (void)err;
    CU_ASSERT_PTR_NOT_NULL(worker);
    ((int64_t *)batch->own)[place] = 100 + batch->samples[place];
    return 0;
}

static void clear(const struct source *source, const struct batch *batch, int place) {
    (void)source;
    ((int64_t *)batch->own)[place] = 0;
}

/* The field is the sum over places: wrong where it is made before all are filled. */
static int finish(const struct source *source, const struct batch *batch, struct error *err) {
    int64_t sum = 0;
    for (int i = 0; i < PLACES; i++)
        sum += ((int64_t *)batch->own)[i];
    *(int64_t *)batch->fields[0] = sum;
    atomic_fetch_add(&finished, 1);
    return batch->step == *(const int64_t *)source->set
               ? error_set(err, EXIT_CODE_DATA, "no room in step %d", (int)batch->step)
               : 0;
}

static void sample_name(const struct source *source, size_t sample, char *text, size_t size) {
    (void)source;
    snprintf(text, size, "sample %zu", sample);
}

static const struct source_table TABLE = {
    .worker_open = worker_open,
    .worker_close = worker_close,
    .batch_open = batch_open,
    .batch_close = batch_close,
    .fill = fill,
    .clear = clear,
    .finish = finish,
    .sample_name = sample_name,
};

static struct source source_of(const int64_t *bad_step) {
    struct source source = {.table = &TABLE, .set = bad_step, .count = SAMPLES, .batch = PLACES};
    (void)batch_layout_add(&source.layout, "sum", sizeof(int64_t));
    return source;
}

static struct loader *start(const struct source *source) {
    struct loader *loader = NULL;
    struct loader_options o = {
        .source = source,
        .sampler = {.count = SAMPLES, .ranks = 1, .batch = PLACES, .accumulate = 1},
        .epochs = 1,
        .threads = 3,
        .depth = 2};
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, NULL), 0);
    return loader;
}

static int64_t soon(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

static void a_batch_is_finished_once_behind_its_last_place(void) {
    const int64_t none = -1;
    const struct source source = source_of(&none);
    const struct batch *batch = NULL;
    atomic_store(&finished, 0);
    struct loader *loader = start(&source);
    for (int64_t step = 0; step < 6; step++) {
        int64_t first = step * PLACES, expected = 0;
        CU_ASSERT_EQUAL_FATAL(loader_next(loader, soon(), &batch, NULL), LOADER_BATCH);
        for (int64_t i = first; i < first + PLACES && i < SAMPLES; i++)
            expected += 100 + i;
        CU_ASSERT_EQUAL(*(const int64_t *)batch->fields[0], expected);
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, NULL), LOADER_END);
    CU_ASSERT_EQUAL(atomic_load(&finished), 6);
    CU_ASSERT_EQUAL(atomic_load(&slots), 2);
    loader_done(loader);
    CU_ASSERT_EQUAL(atomic_load(&slots), 0);
    CU_ASSERT_EQUAL(atomic_load(&workers), 0);
}

static void what_cannot_be_finished_is_an_error_in_its_place(void) {
    const int64_t bad = 2;
    const struct source source = source_of(&bad);
    const struct batch *batch = NULL;
    struct error err = {0};
    struct loader *loader = start(&source);
    for (int step = 0; step < 2; step++) {
        CU_ASSERT_EQUAL_FATAL(loader_next(loader, soon(), &batch, NULL), LOADER_BATCH);
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BAD);
    CU_ASSERT_STRING_EQUAL(err.text, "no room in step 2");
    loader_done(loader);
}

UNIT_SUITE("data.source", UNIT(a_batch_is_finished_once_behind_its_last_place),
           UNIT(what_cannot_be_finished_is_an_error_in_its_place))
