#include "trainer/app/step/next_batch.h"

#include "common/clock.h"
#include "common/system/stop_signal.h"
#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/dataset/loader.h"

#include <signal.h>
#include <stdio.h>

enum { PICTURES = 4, SIDE = 24 };

static struct dataset set;

static struct labelled recipe;
static struct source source;

static struct loader *start(const struct dataset *from, int batch) {
    recipe = (struct labelled){.set = from};
    augment_defaults_eval(&recipe.augment, SIDE);
    CU_ASSERT_EQUAL_FATAL(labelled_source(&source, &recipe, batch, NULL), 0);
    struct loader_options o = {
        .source = &source,
        .sampler = {.count = from->count, .ranks = 1, .batch = batch, .accumulate = 1},
        .epochs = 1,
        .threads = 1,
        .depth = 2,
    };
    struct loader *loader = NULL;
    CU_ASSERT_EQUAL_FATAL(loader_start(&o, &loader, NULL), 0);
    return loader;
}

static void batches_come_until_the_end(void) {
    char folder[512];
    snprintf(folder, sizeof(folder), "%s/good", unit_temp_dir());
    for (int i = 0; i < PICTURES; i++)
        picture_write(folder, i % 2 == 0 ? "ant" : "bee", i, 40, 30);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, NULL), 0);
    cleanup_loader struct loader *loader = start(&set, PICTURES);
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(next_batch_batch(loader, &batch, NULL), NEXT_BATCH_BATCH);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    loader_release(loader, batch);
    CU_ASSERT_EQUAL(next_batch_batch(loader, &batch, NULL), NEXT_BATCH_END);
}

static void a_picture_that_is_none_is_distinguished(void) {
    char folder[512], path[600];
    struct dataset bad;
    struct error err = {0};
    snprintf(folder, sizeof(folder), "%s/bad", unit_temp_dir());
    picture_write(folder, "ant", 0, 40, 30);
    snprintf(path, sizeof(path), "%s/ant/1.jpg", folder);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("no picture", file);
    fclose(file);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&bad, folder, NULL), 0);
    cleanup_loader struct loader *loader = start(&bad, 2);
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL(next_batch_batch(loader, &batch, &err), NEXT_BATCH_BAD);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "1.jpg");
    loader_done(loader);
    loader = NULL;
    dataset_done(&bad);
}

/* A wait that ends without a batch goes on, unless somebody wants to stop. */
static void a_stop_is_heard_while_nothing_comes(void) {
    cleanup_loader struct loader *loader = start(&set, 1);
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(stop_signal_listen(NULL), 0);
    loader_interrupt(loader);
    CU_ASSERT_EQUAL_FATAL(next_batch_batch(loader, &batch, NULL), NEXT_BATCH_BATCH);
    loader_release(loader, batch);
    CU_ASSERT_EQUAL(raise(SIGTERM), 0);
    loader_interrupt(loader);
    CU_ASSERT_EQUAL(next_batch_batch(loader, &batch, NULL), NEXT_BATCH_STOP);
    loader_done(loader);
    loader = NULL;
    dataset_done(&set);
}

UNIT_SUITE("app.next_batch", UNIT(batches_come_until_the_end),
           UNIT(a_picture_that_is_none_is_distinguished), UNIT(a_stop_is_heard_while_nothing_comes))
