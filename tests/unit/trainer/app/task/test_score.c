/* An evaluation without a network: what a pass would tell is made up. */
#include "trainer/app/task/score.h"

#include "tests/support/unit.h"

#include <string.h>

static const struct model_metric LIST[] = {
    [METRIC_LOSS] = {"loss", 0, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", 1, METRIC_SUM, true},
    {"top1", 2, METRIC_MEAN, false},
    {"dropped", 3, METRIC_SUM, false},
    {NULL, 0, METRIC_SUM, false},
};
static const struct model MODEL = {.name = "m", .task = MODEL_CLASSIFY, .metrics = LIST};

static void by_default_figures_are_means_over_samples_and_the_loss_comes_last(void) {
    static const struct task plain = {0};
    struct task_data data = {.task = &plain, .model = &MODEL};
    static const float told[2][MODEL_METRICS_MAX] = {{6, 4, 3, 1}, {3, 2, 0, 5}};
    cleanup_comm struct comm *alone = NULL;
    struct score score;
    struct evaluation e = {.images = 6};
    int64_t images = 0;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(score_open(&score, &data, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct task_outputs outputs = {.metrics = told[i]};
        CU_ASSERT_EQUAL(score_batch(&score, NULL, &outputs, &images, NULL), 0);
    }
    CU_ASSERT_EQUAL(score_end(&score, alone, &e, NULL), 0);
    score_close(&score);
    CU_ASSERT_EQUAL(images, 6);
    CU_ASSERT_EQUAL_FATAL(e.count, 3);
    CU_ASSERT_STRING_EQUAL(e.figures[0].name, "top1");
    CU_ASSERT_DOUBLE_EQUAL(e.figures[0].value, 0.5, 1e-15);
    CU_ASSERT_STRING_EQUAL(e.figures[1].name, "dropped");
    CU_ASSERT_EQUAL(e.figures[1].value, 6);
    CU_ASSERT_STRING_EQUAL(e.figures[2].name, "loss");
    CU_ASSERT_DOUBLE_EQUAL(e.figures[2].value, 1.5, 1e-15);
}

/* A task that counts the batches that it sees. */
struct counted {
    int batches, read;
    bool open;
};
static struct counted seen;

static int count_open(struct task_data *data, void **ret_score, struct error *err) {
    (void)data, (void)err;
    seen = (struct counted){.open = true};
    *ret_score = &seen;
    return 0;
}

static int count_batch(void *score, const struct batch *batch, const struct task_outputs *outputs,
                       int64_t *ret_images, struct error *err) {
    struct counted *c = score;
    int value = 0;
    CU_ASSERT_EQUAL(outputs->read(outputs->user, "box", &value, sizeof(value), err), 0);
    c->batches += batch->count;
    *ret_images += batch->count;
    c->read += value;
    return 0;
}

static int count_end(void *score, struct comm *comm, struct evaluation *ret, struct error *err) {
    (void)comm, (void)err;
    const struct counted *c = score;
    evaluation_add(ret, "batches", c->batches);
    evaluation_add(ret, "read", c->read);
    return 0;
}

static void count_close(void *score) {
    ((struct counted *)score)->open = false;
}

static int read_seven(void *user, const char *name, void *ret_values, size_t bytes,
                      struct error *err) {
    (void)user, (void)err;
    CU_ASSERT(strcmp(name, "box") == 0 && bytes == sizeof(int));
    *(int *)ret_values = 7;
    return 0;
}

static void a_task_may_score_in_its_own_way(void) {
    static const struct task counting = {.score_open = count_open,
                                         .score_batch = count_batch,
                                         .score_end = count_end,
                                         .score_close = count_close};
    struct task_data data = {.task = &counting, .model = &MODEL};
    const struct batch batch = {.count = 3};
    const struct task_outputs outputs = {.read = read_seven};
    struct score score;
    struct evaluation e = {0};
    int64_t images = 0;
    CU_ASSERT_EQUAL_FATAL(score_open(&score, &data, NULL), 0);
    CU_ASSERT(seen.open);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(score_batch(&score, &batch, &outputs, &images, NULL), 0);
    CU_ASSERT_EQUAL(score_end(&score, NULL, &e, NULL), 0);
    CU_ASSERT_EQUAL(images, 6);
    CU_ASSERT_EQUAL(evaluation_figure(&e, "batches"), 6);
    CU_ASSERT_EQUAL(evaluation_figure(&e, "read"), 14);
    CU_ASSERT_EQUAL(evaluation_figure(&e, "none"), 0);
    score_close(&score);
    CU_ASSERT(!seen.open);
}

static const float LOGITS[] = {1, 2, 3, 4, 5, 6};
static size_t logits_size;

static size_t size_of(void *user, const char *name) {
    (void)user;
    return strcmp(name, "logits") == 0 ? logits_size : 0;
}

static int read_logits(void *user, const char *name, void *ret_values, size_t bytes,
                       struct error *err) {
    (void)user, (void)name, (void)err;
    memcpy(ret_values, LOGITS, bytes);
    return 0;
}

static void logits_have_a_row_for_each_picture(void) {
    const struct task_outputs outputs = {.bytes = size_of, .read = read_logits};
    struct batch batch = {.count = 1};
    struct score_logits logits = {0};
    struct error err = {0};
    logits_size = 3 * sizeof(float);
    CU_ASSERT_EQUAL(score_logits_read(&logits, &outputs, &batch, 3, NULL), 0);
    CU_ASSERT_EQUAL(logits.values[2], 3);
    batch.count = 2;
    CU_ASSERT_EQUAL(score_logits_read(&logits, &outputs, &batch, 3, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    ASSERT_CONTAINS(err.text, "12 bytes, and not 12 for each of 2 pictures");
    logits_size = sizeof(LOGITS);
    CU_ASSERT_EQUAL(score_logits_read(&logits, &outputs, &batch, 3, NULL), 0);
    CU_ASSERT_EQUAL(logits.values[5], 6);
    CU_ASSERT_EQUAL(score_logits_read(&logits, &outputs, &batch, 4, NULL), -1);
    logits_size = 0;
    CU_ASSERT_EQUAL(score_logits_read(&logits, &outputs, &batch, 3, NULL), -1);
    score_logits_done(&logits);
    CU_ASSERT_PTR_NULL(logits.values);
}

UNIT_SUITE("app.score", UNIT(by_default_figures_are_means_over_samples_and_the_loss_comes_last),
           UNIT(a_task_may_score_in_its_own_way), UNIT(logits_have_a_row_for_each_picture))
