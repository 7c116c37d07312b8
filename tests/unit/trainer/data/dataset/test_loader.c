#include "common/clock.h"
#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/dataset/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 30, SIDE = 24, BATCH = 4 };

static char folder[512];
static struct dataset set;

static void make_folder(void) {
    snprintf(folder, sizeof(folder), "%s/good", unit_temp_dir());
    for (int i = 0; i < PICTURES; i++)
        picture_write(folder, i % 3 == 0 ? "ant" : i % 3 == 1 ? "bee" : "cat", i, 40 + i, 70 - i);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(set.count, PICTURES);
}

static struct labelled recipe;
static struct source source;

static const struct source *source_of(const struct dataset *dataset, enum augment_mode mode) {
    recipe = (struct labelled){.set = dataset, .seed = 5};
    augment_defaults_train(&recipe.augment, SIDE);
    recipe.augment.mode = mode;
    CU_ASSERT_EQUAL_FATAL(labelled_source(&source, &recipe, BATCH, NULL), 0);
    return &source;
}

static struct loader_options options(int threads) {
    return (struct loader_options){
        .source = source_of(&set, AUGMENT_RANDOM_RESIZED_CROP),
        .sampler = {.count = set.count,
                    .ranks = 1,
                    .batch = BATCH,
                    .accumulate = 2,
                    .seed = 5,
                    .shuffle = true},
        .epochs = 2,
        .threads = threads,
        .depth = 3,
    };
}

static uint64_t hash_of(const struct batch *b) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < (size_t)BATCH * SIDE * SIDE * IMAGE_CHANNELS; i++)
        hash = (hash ^ ((uint8_t *)b->fields[LABELLED_IMAGE])[i]) * 1099511628211u;
    for (int i = 0; i < BATCH; i++)
        hash = (hash ^ (uint64_t)b->samples[i] ^
                (uint64_t)((int32_t *)b->fields[LABELLED_LABEL])[i] << 32) *
               1099511628211u;
    return hash;
}

static int64_t soon(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

/* Stores the hashes of all batches, and returns their number. */
static int run(const struct loader_options *o, uint64_t hashes[64]) {
    cleanup_loader struct loader *loader = NULL;
    struct error err;
    int count = 0;
    CU_ASSERT_EQUAL_FATAL(loader_start(o, &loader, &err), 0);
    for (;;) {
        const struct batch *batch = NULL;
        enum loader_result result = loader_next(loader, soon(), &batch, &err);
        if (result == LOADER_END)
            return count;
        CU_ASSERT_EQUAL_FATAL(result, LOADER_BATCH);
        hashes[count++] = hash_of(batch);
        loader_release(loader, batch);
    }
}

static void the_number_of_threads_changes_nothing(void) {
    uint64_t one[64] = {0};
    uint64_t many[64] = {0};
    struct loader_options o = options(1);
    CU_ASSERT_EQUAL(run(&o, one), 2 * 3 * 2); /* epochs, steps, micro-batches */
    o = options(7);
    CU_ASSERT_EQUAL(run(&o, many), 2 * 3 * 2);
    CU_ASSERT_EQUAL(memcmp(one, many, sizeof(one)), 0);
    CU_ASSERT(one[0] != one[6]); /* another epoch has another crop */
}

static void a_later_start_gives_the_rest_exactly(void) {
    uint64_t all[64] = {0};
    struct loader_options o = options(2);
    CU_ASSERT_EQUAL_FATAL(run(&o, all), 12);
    for (int step = 0; step <= 6; step++) {
        uint64_t rest[64] = {0};
        o.epoch = (uint32_t)step / 3;
        o.step = step % 3;
        CU_ASSERT_EQUAL(run(&o, rest), 12 - 2 * step);
        CU_ASSERT_EQUAL(memcmp(rest, all + 2 * step, (size_t)(12 - 2 * step) * sizeof(all[0])), 0);
    }
    uint64_t rest[64] = {0};
    o.epoch = 0;
    o.step = 3; /* the end of epoch 0 is the start of epoch 1 */
    CU_ASSERT_EQUAL(run(&o, rest), 6);
    CU_ASSERT_EQUAL(rest[0], all[6]);
}

static void ranks_together_see_what_one_rank_sees(void) {
    uint64_t one[64] = {0};
    struct loader_options o = options(2);
    CU_ASSERT_EQUAL_FATAL(run(&o, one), 12);
    for (int rank = 0; rank < 2; rank++) {
        uint64_t part[64] = {0};
        o.sampler.ranks = 2;
        o.sampler.rank = rank;
        o.sampler.accumulate = 1;
        CU_ASSERT_EQUAL(run(&o, part), 6);
        for (int i = 0; i < 6; i++)
            CU_ASSERT_EQUAL(part[i], one[2 * i + rank]);
    }
}

static void evaluation_pads_the_last_batch(void) {
    struct loader_options o = options(3);
    o.sampler.shuffle = false;
    o.sampler.accumulate = 1;
    o.epochs = 1;
    augment_defaults_eval(&recipe.augment, SIDE);
    cleanup_loader struct loader *loader = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    const struct batch *batch = NULL;
    int64_t expected = 0;
    while (loader_next(loader, soon(), &batch, &err) == LOADER_BATCH) {
        for (int i = 0; i < BATCH; i++, expected++) {
            bool real = expected < PICTURES;
            CU_ASSERT_EQUAL(batch->samples[i], real ? expected : SAMPLER_PADDING);
            CU_ASSERT(((float *)batch->fields[LABELLED_WEIGHT])[i] == (real ? 1.0f : 0.0f));
            CU_ASSERT_EQUAL(((int32_t *)batch->fields[LABELLED_LABEL])[i],
                            real ? set.labels[expected] : 0);
        }
        CU_ASSERT_EQUAL(batch->count, batch->step == 7 ? 2 : 4);
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(expected, 32);
}

/* Files with different tables, and one without, which must not borrow those of its neighbours. */
static void a_mixed_folder_gives_the_same_with_any_threads(void) {
    static const char *const names[] = {"no_huffman_tables.jpg", "optimized.jpg", "progressive.jpg",
                                        "cmyk_bare.jpg",         "plain.jpg",     "deep.png"};
    char mixed[600];
    snprintf(mixed, sizeof(mixed), "%s/mixed", unit_temp_dir());
    for (int i = 0; i < 24; i++) {
        cleanup_buf struct buf bytes = {.max = 1 << 20};
        char path[4096];
        const char *name = names[i % 2 == 0 ? 0 : i / 2 % 6];
        snprintf(path, sizeof(path), RINGMASTER_TEST_DATA "/../golden/pictures/%s", name);
        CU_ASSERT_EQUAL_FATAL(file_read(path, &bytes, NULL), 0);
        snprintf(path, sizeof(path), "%s/%s", mixed, i < 12 ? "a" : "b");
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
        snprintf(path, sizeof(path), "%s/%s/%02d.jpg", mixed, i < 12 ? "a" : "b", i);
        CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes.data, bytes.size, 0644, NULL), 0);
    }
    cleanup_dataset struct dataset pictures = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&pictures, mixed, NULL), 0);
    uint64_t one[64] = {0};
    for (int threads = 1; threads <= 3; threads++)
        for (int repeat = 0; repeat < 5; repeat++) {
            uint64_t other[64] = {0};
            struct loader_options o = options(threads);
            o.source = source_of(&pictures, AUGMENT_RANDOM_RESIZED_CROP);
            o.sampler.count = pictures.count;
            CU_ASSERT_EQUAL(run(&o, threads == 1 && repeat == 0 ? one : other), 12);
            CU_ASSERT(threads * 5 + repeat == 5 || memcmp(one, other, sizeof(one)) == 0);
        }
}

static void it_stops_at_any_time(void) {
    for (int taken = 0; taken < 6; taken++) {
        struct loader_options o = options(3);
        struct loader *loader = NULL;
        struct error err;
        CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
        for (int i = 0; i < taken; i++) {
            const struct batch *batch = NULL;
            CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
            if (i < taken - 1) /* the last one is held to the end */
                loader_release(loader, batch);
        }
        loader_done(loader);
    }
    loader_done(NULL);
}

static void *interrupt(void *loader) {
    loader_interrupt(loader);
    return NULL;
}

static void an_interruption_ends_the_wait(void) {
    struct loader_options o = options(1);
    struct loader *loader = NULL;
    struct error err;
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, interrupt, loader), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_DEADLINE);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    loader_done(loader);
}

static void holding_every_batch_is_our_fault(void) {
    struct loader_options o = options(2);
    struct loader *loader = NULL;
    struct error err;
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    for (int i = 0; i < o.depth; i++)
        CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_ERROR);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    loader_done(loader);
}

static void a_release_too_many_frees_nothing(void) {
    struct loader_options o = options(2);
    cleanup_loader struct loader *loader = NULL;
    struct error err;
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    for (int i = 0; i < 3; i++)
        loader_release(loader, batch);
    for (int i = 0; i < o.depth; i++)
        CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_ERROR);
    ASSERT_CONTAINS(err.text, "all 3 batches are held");
}

static void options_that_cannot_work_are_refused(void) {
    struct loader_options bad = options(0);
    struct loader *loader = NULL;
    struct error err;
    CU_ASSERT_EQUAL(loader_start(&bad, &loader, &err), -1);
    bad = options(1);
    bad.depth = 1;
    CU_ASSERT_EQUAL(loader_start(&bad, &loader, &err), -1);
    bad = options(1);
    bad.step = 4;
    CU_ASSERT_EQUAL(loader_start(&bad, &loader, &err), -1);
    bad = options(1);
    bad.bad_allowed = 1; /* without a counter */
    CU_ASSERT_EQUAL(loader_start(&bad, &loader, &err), -1);
    ASSERT_CONTAINS(err.text, "bad samples are allowed, but no list counts them");
    bad = options(1);
    bad.sampler.batch = BATCH + 1; /* the source has another batch size */
    CU_ASSERT_EQUAL(loader_start(&bad, &loader, &err), -1);
    recipe.augment.image_size = 0;
    CU_ASSERT_EQUAL(labelled_source(&source, &recipe, BATCH, &err), -1);
    CU_ASSERT_PTR_NULL(loader);
}

static void figures_count_batches(void) {
    struct loader_options o = options(2);
    struct loader *loader = NULL;
    struct error err;
    const struct batch *batch = NULL;
    struct loader_figures figures;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    loader_figures(loader, &figures);
    CU_ASSERT_EQUAL(figures.batches, 1);
    CU_ASSERT(figures.wait_ns > 0);
    CU_ASSERT(figures.ready >= 0 && figures.ready <= 2);
    loader_done(loader);
    dataset_done(&set);
}

/* An allocator that counts its calls, up to a limit. */
struct lender {
    int lent, given_back, most;
};

static void *lend(void *user, size_t bytes, struct error *err) {
    struct lender *l = user;
    if (l->lent == l->most) {
        (void)error_set(err, EXIT_CODE_DEVICE, "nothing left to pin");
        return NULL;
    }
    l->lent++;
    return calloc(1, bytes);
}

static void take_back(void *user, void *memory) {
    ((struct lender *)user)->given_back++;
    free(memory);
}

static void batches_lie_where_the_device_wants_them(void) {
    uint64_t heap[64] = {0}, lent[64] = {0};
    struct lender lender = {.most = 100};
    struct loader_options o = options(2);
    (void)run(&o, heap);
    o.memory = (struct loader_memory){lend, take_back, &lender};
    (void)run(&o, lent);
    CU_ASSERT_EQUAL(memcmp(heap, lent, sizeof(heap)), 0);
    CU_ASSERT_EQUAL(lender.lent, o.depth);
    CU_ASSERT_EQUAL(lender.given_back, lender.lent);
    struct loader *loader = NULL;
    struct error err = {0};
    lender = (struct lender){.most = 2};
    CU_ASSERT_EQUAL(loader_start(&o, &loader, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "nothing left to pin");
    CU_ASSERT_EQUAL(lender.given_back, 2);
}

UNIT_SUITE("data.loader", UNIT(make_folder), UNIT(the_number_of_threads_changes_nothing),
           UNIT(a_later_start_gives_the_rest_exactly), UNIT(ranks_together_see_what_one_rank_sees),
           UNIT(evaluation_pads_the_last_batch),
           UNIT(a_mixed_folder_gives_the_same_with_any_threads), UNIT(it_stops_at_any_time),
           UNIT(an_interruption_ends_the_wait), UNIT(holding_every_batch_is_our_fault),
           UNIT(a_release_too_many_frees_nothing), UNIT(options_that_cannot_work_are_refused),
           UNIT(batches_lie_where_the_device_wants_them), UNIT(figures_count_batches))
