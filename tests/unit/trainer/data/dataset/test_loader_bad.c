/* What the loader does with pictures that cannot be used. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/dataset/loader.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { SIDE = 24, BATCH = 4, SIZE = SIDE * SIDE * IMAGE_CHANNELS };

static int64_t soon(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

enum { BAD_PICTURES = 24 };

/* A folder of one class where some pictures are cut and some are damaged. */
struct bad_set {
    char folder[600];
    struct dataset set;
    struct bad_samples faults;
};

static bool is_listed(const char *list, int number) {
    char text[16];
    char all[256];
    snprintf(text, sizeof(text), " %d ", number);
    snprintf(all, sizeof(all), " %s ", list);
    return strstr(all, text) != NULL;
}

/* CUT and DAMAGED list numbers with blanks between them. */
static void make_bad(struct bad_set *bad, const char *name, const char *cut, const char *damaged) {
    char path[4096];
    *bad = (struct bad_set){0};
    snprintf(bad->folder, sizeof(bad->folder), "%s/%s", unit_temp_dir(), name);
    for (int i = 0; i < BAD_PICTURES; i++) {
        cleanup_buf struct buf bytes = {0};
        picture_write(bad->folder, "a", i, 50, 50);
        if (!is_listed(damaged, i) && !is_listed(cut, i))
            continue;
        picture_encode(&bytes, 50, 50, i);
        snprintf(path, sizeof(path), "%s/a/%03d.jpg", bad->folder, i);
        if (is_listed(damaged, i)) /* an end marker in the middle */
            memcpy(bytes.data + bytes.size * 3 / 4, "\xff\xd9", 2);
        if (is_listed(cut, i))
            bytes.size = bytes.size / 2;
        CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes.data, bytes.size, 0644, NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&bad->set, bad->folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&bad->faults, bad->set.count, NULL), 0);
}

static void bad_done(struct bad_set *bad) {
    bad_samples_done(&bad->faults);
    dataset_done(&bad->set);
}

/* Whole pictures in the order of the folder, four a batch. */
static struct loader_options in_order(struct bad_set *bad, int threads) {
    static struct labelled recipe;
    static struct source source;
    recipe = (struct labelled){.set = &bad->set};
    augment_defaults_eval(&recipe.augment, SIDE);
    CU_ASSERT_EQUAL_FATAL(labelled_source(&source, &recipe, BATCH, NULL), 0);
    return (struct loader_options){
        .source = &source,
        .faults = &bad->faults,
        .sampler = {.count = bad->set.count, .ranks = 1, .batch = BATCH, .accumulate = 1},
        .epochs = 1,
        .threads = threads,
        .depth = 3,
    };
}

static void take(struct loader *loader, int batches) {
    const struct batch *batch = NULL;
    for (int i = 0; i < batches; i++) {
        CU_ASSERT_EQUAL_FATAL(loader_next(loader, soon(), &batch, NULL), LOADER_BATCH);
        loader_release(loader, batch);
    }
}

/* Pictures 9 and 11 are in one batch, 14 and 19 in the next two, 20 too far ahead. */
static void a_broken_picture_is_named_in_its_place_and_those_ahead_are_known(void) {
    for (int threads = 1; threads <= 4; threads += 3) {
        struct bad_set bad;
        struct bad_sample faults[8];
        char first[700];
        make_bad(&bad, "bad", "9 11 14 19 20", "");
        snprintf(first, sizeof(first), "%s/a/009.jpg", bad.folder);
        struct loader_options o = in_order(&bad, threads);
        cleanup_loader struct loader *loader = NULL;
        const struct batch *batch = NULL;
        struct error err;
        CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
        take(loader, 2);
        CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BAD);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, first);
        ASSERT_CONTAINS(err.text, "truncated");
        CU_ASSERT_EQUAL_FATAL(bad_samples_take(&bad.faults, faults, 8), 4);
        CU_ASSERT(faults[0].sample == 9 && faults[1].sample == 11);
        CU_ASSERT(faults[2].sample == 14 && faults[3].sample == 19);
        CU_ASSERT_EQUAL(strncmp(faults[0].why, "JPEG: truncated", 15), 0);
        loader_done(TAKE_PTR(loader));
        bad_done(&bad);
    }
}

/* The first picture's thread waits until the other thread has reached the next batch: by then all
 * later pictures of its batch have been found broken. */
static sem_t behind_is_known;
static const struct source_table *unstaged;

static int fill_the_first_last(const struct source *source, void *worker, const struct batch *batch,
                               int place, const char **ret_damage, struct error *err) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (batch->step == 1 && place == 0)
        (void)sem_post(&behind_is_known);
    if (batch->step == 0 && place == 0 && sem_timedwait(&behind_is_known, &until) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "the next batch was never begun");
    return unstaged->fill(source, worker, batch, place, ret_damage, err);
}

/* Without `faults` nobody waits for the batches ahead. */
static void of_broken_pictures_the_first_is_reported_though_it_is_known_last(void) {
    struct bad_set bad;
    char first[700];
    make_bad(&bad, "two", "0 1 2 3", "");
    snprintf(first, sizeof(first), "%s/a/000.jpg", bad.folder);
    struct loader_options o = in_order(&bad, 2);
    struct source staged = *o.source;
    struct source_table table = *o.source->table;
    cleanup_loader struct loader *loader = NULL;
    const struct batch *batch = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(sem_init(&behind_is_known, 0, 0), 0);
    unstaged = o.source->table;
    table.fill = fill_the_first_last;
    staged.table = &table;
    o.source = &staged;
    o.faults = NULL;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BAD);
    ASSERT_CONTAINS(err.text, first);
    loader_done(TAKE_PTR(loader));
    (void)sem_destroy(&behind_is_known);
    bad_done(&bad);
}

static void a_skipped_picture_keeps_its_place_without_weight(void) {
    struct bad_set bad;
    make_bad(&bad, "skip", "1 9 10", "4");
    struct loader_options o = in_order(&bad, 3);
    o.bad_allowed = 3;
    cleanup_loader struct loader *loader = NULL;
    const struct batch *batch = NULL;
    struct bad_sample faults[8];
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, NULL), 0);
    for (int64_t at = 0; loader_next(loader, soon(), &batch, NULL) == LOADER_BATCH;) {
        for (int i = 0; i < BATCH; i++, at++) {
            bool skipped = at == 1 || at == 9 || at == 10;
            const uint8_t *pixels = (uint8_t *)batch->fields[LABELLED_IMAGE] + (size_t)i * SIZE;
            CU_ASSERT_EQUAL(batch->samples[i], at);
            CU_ASSERT(((float *)batch->fields[LABELLED_WEIGHT])[i] == (skipped ? 0.0f : 1.0f));
            CU_ASSERT_EQUAL(pixels[0] == 128 && memcmp(pixels, pixels + 1, 1000) == 0, skipped);
        }
        CU_ASSERT_EQUAL(batch->count, BATCH);
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(bad_samples_count(&bad.faults, BAD_SAMPLE_BAD), 3);
    CU_ASSERT_EQUAL(bad_samples_count(&bad.faults, BAD_SAMPLE_DAMAGED), 1);
    CU_ASSERT_EQUAL(bad_samples_take(&bad.faults, faults, 8), 4);
    CU_ASSERT(faults[1].sample == 4 && faults[1].kind == BAD_SAMPLE_DAMAGED);
    ASSERT_CONTAINS(faults[1].why, "premature end of data segment");
    bad_done(&bad);
}

static void one_broken_picture_too_many_ends_it(void) {
    struct bad_set bad;
    make_bad(&bad, "many", "1 9 10", "");
    struct loader_options o = in_order(&bad, 1);
    o.bad_allowed = 2;
    cleanup_loader struct loader *loader = NULL;
    const struct batch *batch = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, NULL), 0);
    take(loader, 2);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BAD);
    ASSERT_CONTAINS(err.text, "/a/010.jpg");
    bad_done(&bad);
}

/* With no descriptor left no file can be opened: no file's fault, however many may be bad. */
static void a_machine_without_descriptors_is_no_bad_picture(void) {
    struct bad_set bad;
    struct rlimit old;
    make_bad(&bad, "descriptors", "", "");
    struct loader_options o = in_order(&bad, 1);
    o.bad_allowed = INT64_MAX;
    cleanup_loader struct loader *loader = NULL;
    const struct batch *batch = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &old), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    int started = loader_start(&o, &loader, NULL);
    enum loader_result result = started == 0 ? loader_next(loader, soon(), &batch, &err) : -1;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &old), 0);
    CU_ASSERT_EQUAL(started, 0);
    CU_ASSERT_EQUAL(result, LOADER_ERROR);
    CU_ASSERT_EQUAL(err.os_errno, EMFILE);
    CU_ASSERT_EQUAL(bad_samples_count(&bad.faults, BAD_SAMPLE_BAD), 0);
    loader_done(TAKE_PTR(loader));
    bad_done(&bad);
}

static void a_broken_picture_counts_once_in_all_epochs(void) {
    struct bad_set bad;
    make_bad(&bad, "epochs", "1 9", "4");
    struct loader_options o = in_order(&bad, 2);
    o.sampler.shuffle = true;
    o.epochs = 5;
    o.bad_allowed = 2;
    for (o.threads = 1; o.threads <= 5; o.threads += 4) {
        cleanup_loader struct loader *loader = NULL;
        CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, NULL), 0);
        take(loader, 30);
    }
    CU_ASSERT_EQUAL(bad_samples_count(&bad.faults, BAD_SAMPLE_BAD), 2);
    CU_ASSERT_EQUAL(bad_samples_count(&bad.faults, BAD_SAMPLE_DAMAGED), 1);
    bad_done(&bad);
}

/* The worker waits for a lock that the test holds, so nothing can be ready. */
static void a_deadline_ends_the_wait_and_one_in_the_past_does_not_wait(void) {
    struct bad_set bad;
    make_bad(&bad, "late", "0", "");
    struct loader_options o = in_order(&bad, 1);
    o.bad_allowed = 1;
    struct loader *loader = NULL;
    struct error err;
    const struct batch *batch = NULL;
    pthread_mutex_lock(&bad.faults.lock);
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, &err), 0);
    int64_t begin = clock_now();
    CU_ASSERT_EQUAL(loader_next(loader, 0, &batch, &err), LOADER_DEADLINE);
    CU_ASSERT(clock_now() - begin < 60 * CLOCK_SECOND); /* which else would have no end */
    begin = clock_now();
    int64_t until = begin + CLOCK_SECOND / 50;
    CU_ASSERT_EQUAL(loader_next(loader, until, &batch, &err), LOADER_DEADLINE);
    CU_ASSERT(clock_now() >= until);
    pthread_mutex_unlock(&bad.faults.lock);
    CU_ASSERT_EQUAL(loader_next(loader, soon(), &batch, &err), LOADER_BATCH);
    loader_done(loader);
    bad_done(&bad);
}

UNIT_SUITE("data.loader_bad",
           UNIT(a_broken_picture_is_named_in_its_place_and_those_ahead_are_known),
           UNIT(of_broken_pictures_the_first_is_reported_though_it_is_known_last),
           UNIT(a_skipped_picture_keeps_its_place_without_weight),
           UNIT(one_broken_picture_too_many_ends_it),
           UNIT(a_machine_without_descriptors_is_no_bad_picture),
           UNIT(a_broken_picture_counts_once_in_all_epochs),
           UNIT(a_deadline_ends_the_wait_and_one_in_the_past_does_not_wait))
