#include "tests/support/unit.h"
#include "trainer/app/run/learning_rate.h"

#include <stdint.h>

enum { STEPS = 100 }; /* of an epoch */

static void parse(struct options *ret, struct error *err, const char *const *words) {
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *err = (struct error){0};
    CU_ASSERT_EQUAL_FATAL(
        options_parse(ret, COMMAND_TRAIN, argc, (char *const *)(uintptr_t)words, err), 0);
}
static int settle(struct schedule *s, struct error *err, const char *const *words) {
    struct options o;
    parse(&o, err, words);
    return learning_rate_settle(s, &o, STEPS, 512, err);
}
/* The same without the data. */
static int check(struct error *err, const char *const *words) {
    struct options o;
    parse(&o, err, words);
    return learning_rate_check(&o, 512, err);
}
#define CHECK(...) check(&err, (const char *const[]){__VA_ARGS__, NULL})
#define SETTLE(...) settle(&s, &err, (const char *const[]){__VA_ARGS__, NULL})

static void epochs_become_steps(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--epochs", "12", "--warmup-epochs", "0.5", "--lr", "0.1"), 0);
    CU_ASSERT_EQUAL(s.total_steps, 1200);
    CU_ASSERT_EQUAL(s.warmup_steps, 50);
    CU_ASSERT_DOUBLE_EQUAL(s.peak, 0.2, 1e-15); /* of 512 images in place of 256 */
    CU_ASSERT_EQUAL(SETTLE("--steps", "30", "--warmup-epochs", "0.5"), 0);
    CU_ASSERT(s.total_steps == 30 && s.warmup_steps == 50);
    CU_ASSERT_EQUAL(SETTLE("--warmup-steps", "7", "--warmup-epochs", "2"), 0);
    CU_ASSERT_EQUAL(s.warmup_steps, 7);
}

/* torchvision's detection reference: MultiStepLR at 16 and 22, LinearLR from a thousandth. */
static void the_rate_falls_at_milestones(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--epochs", "26", "--schedule", "milestones", "--milestones", "16,22",
                           "--lr", "0.02", "--lr-batch", "0", "--warmup-steps", "1000",
                           "--warmup-from", "0.001"),
                    0);
    CU_ASSERT(s.milestone_count == 2 && s.milestones[0] == 1600 && s.milestones[1] == 2200);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 0), 0.02 * 0.001, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 1599), 0.02, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 1600), 0.002, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 2599), 0.0002, 1e-12);
    CU_ASSERT_EQUAL(
        SETTLE("--schedule", "milestones", "--milestones", "0.5", "--milestone-factor", "0.5"), 0);
    CU_ASSERT(s.milestones[0] == 50 && s.factor == 0.5);
}

static void milestones_that_cannot_be_are_refused(void) {
    static const char *const wrong[] = {
        "16,16", "22,16", "x", "16,,22", "-1", "1,2,3,4,5,6,7,8,9", "16,0.1.2"};
    struct schedule s;
    struct error err;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CU_ASSERT_EQUAL(SETTLE("--schedule", "milestones", "--milestones", wrong[i]), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--milestones: ");
    }
    CU_ASSERT_EQUAL(SETTLE("--schedule", "milestones"), -1);
    ASSERT_CONTAINS(err.text, "--schedule milestones needs --milestones");
    CU_ASSERT_EQUAL(SETTLE("--milestones", "8"), -1);
    ASSERT_CONTAINS(err.text, "--milestones needs --schedule milestones");
}

/* A run that is shorter than its warm-up is the beginning of the longer one. */
static void a_short_run_keeps_the_slope_of_its_warm_up(void) {
    static const char *const schedules[] = {"constant", "step", "poly2", "cosine"};
    struct schedule s, whole;
    struct error err;
    for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
        for (int from = 0; from < 2; from++) {
            const char *share = from == 0 ? "0" : "0.001";
            CU_ASSERT_EQUAL(SETTLE("--steps", "400", "--warmup-steps", "100", "--warmup-from",
                                   share, "--schedule", schedules[i]),
                            0);
            whole = s;
            CU_ASSERT_EQUAL(SETTLE("--steps", "5", "--warmup-steps", "100", "--warmup-from", share,
                                   "--schedule", schedules[i]),
                            0);
            for (int64_t step = 0; step < 5; step++)
                CU_ASSERT_EQUAL(schedule_rate(&s, step), schedule_rate(&whole, step));
        }
    }
}

#define TOLD(tell, ...) told(tell, (const char *const[]){__VA_ARGS__, NULL})

static const char *told(int what, const char *const *words) {
    static struct buf out;
    struct options o;
    struct schedule s;
    struct error err = {0};
    int argc = 0;
    buf_done(&out);
    buf_init(&out, 4096);
    while (words[argc] != NULL)
        argc++;
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&o, COMMAND_TRAIN, argc, (char *const *)(uintptr_t)words, &err), 0);
    CU_ASSERT_EQUAL_FATAL(learning_rate_settle(&s, &o, STEPS, 32, &err), 0);
    CU_ASSERT_EQUAL(what == 0   ? learning_rate_scale_text(&out, &o, &s, 32, &err)
                    : what == 1 ? learning_rate_unreached_text(&out, &o, &s, &err)
                                : learning_rate_images_text(&out, &o, 32, &err),
                    0);
    return buf_text(&out);
}

static void what_becomes_of_the_rate_is_reported(void) {
    CU_ASSERT_STRING_EQUAL(TOLD(0, "--lr", "0.1"), "lr 0.1 for 256 images a step: 0.0125 for 32\n");
    CU_ASSERT_STRING_EQUAL(TOLD(0, "--lr", "0.1", "--lr-batch", "32"), "");
    CU_ASSERT_STRING_EQUAL(TOLD(0, "--lr", "0.1", "--lr-batch", "0"), "");
}

/* The job takes 32 images a step. */
static void a_rate_for_other_images_a_step_is_reported(void) {
    CU_ASSERT_STRING_EQUAL(
        TOLD(2, "--recipe", "aws-dlami-256", "--batch-size", "32"),
        "--recipe aws-dlami-256: its --lr 3.7 is for 65536 images a step and does not follow "
        "them; this job takes 32: give a --lr of your own, or --lr-batch 65536 to scale it\n");
    ASSERT_CONTAINS(TOLD(2, "--recipe", "cifar-he", "--batch-size", "32"),
                    "for 128 images a step and does not follow them; this job takes 32");
    CU_ASSERT_STRING_EQUAL(
        TOLD(2, "--recipe", "aws-dlami-256", "--batch-size", "32", "--lr", "0.1"), "");
    CU_ASSERT_STRING_EQUAL(
        TOLD(2, "--recipe", "aws-dlami-256", "--batch-size", "32", "--lr-batch", "65536"), "");
    CU_ASSERT_STRING_EQUAL(TOLD(2, "--recipe", "goyal", "--batch-size", "32"), "");
    CU_ASSERT_STRING_EQUAL(TOLD(2, "--recipe", "mlperf-resnet", "--batch-size", "32"), "");
    CU_ASSERT_STRING_EQUAL(TOLD(2, "--lr-batch", "0", "--batch-size", "32"), "");
}

static const char *told_of(int64_t global_batch, const char *recipe) {
    static struct buf out;
    const char *const words[] = {"--recipe", recipe};
    struct options o;
    struct error err = {0};
    buf_done(&out);
    buf_init(&out, 4096);
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&o, COMMAND_TRAIN, 2, (char *const *)(uintptr_t)words, &err), 0);
    CU_ASSERT_EQUAL(learning_rate_images_text(&out, &o, global_batch, &err), 0);
    return buf_text(&out);
}

/* What only the steps of an epoch decide is left to them. */
static void a_check_without_data_refuses_nothing_that_may_be(void) {
    struct error err;
    CU_ASSERT_EQUAL(CHECK("--schedule", "milestones", "--milestones", "0.001,0.002"), 0);
    CU_ASSERT_EQUAL(CHECK("--schedule", "one-cycle", "--epochs", "1"), 0);
    CU_ASSERT_EQUAL(CHECK("--schedule", "poly2", "--lr", "0.1", "--lr-end", "0.2"), 0);
    CU_ASSERT_EQUAL(CHECK("--recipe", "mlperf-resnet"), 0);
}

/* Three ranks with the recipe's batch each take three times its images. */
static void the_share_of_each_rank_is_suggested(void) {
    ASSERT_CONTAINS(told_of(288, "flowers"),
                    "its --lr 0.05 is for 96 images a step and does not follow them; this job "
                    "takes 288: give --batch-size 32, a --lr of your own, or --lr-batch 96");
    ASSERT_CONTAINS(told_of(480, "flowers"), "this job takes 480: give a --lr of your own");
    CU_ASSERT_STRING_EQUAL(told_of(96, "flowers"), "");
    CU_ASSERT_STRING_EQUAL(told_of(65536, "aws-dlami-256"), "");
}

static struct schedule mlperf(int64_t global_batch, struct buf *said, const char *flag,
                              const char *value) {
    const char *const words[] = {"--recipe", "mlperf-resnet", flag, value};
    struct options o;
    struct schedule s = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(options_parse(&o, COMMAND_TRAIN, flag != NULL ? 4 : 2,
                                        (char *const *)(uintptr_t)words, &err),
                          0);
    CU_ASSERT_EQUAL(learning_rate_settle(&s, &o, STEPS, global_batch, &err), 0);
    buf_consume(said, said->size);
    CU_ASSERT_EQUAL(learning_rate_scale_text(said, &o, &s, global_batch, &err), 0);
    return s;
}

/* lars_util.py: its peak and warm-up are a function of the images a step. */
static void mlperfs_rate_follows_the_images_a_step(void) {
    static const struct {
        int64_t images;
        double peak;
        int64_t warmup;
        const char *said;
    } rows[] = {
        {256, 10, 5, "--recipe mlperf-resnet for 256 images a step: --lr 10 --warmup-epochs 5\n"},
        {16383, 10, 5, "16383 images a step: --lr 10 --warmup-epochs 5"},
        {16384, 25, 5, "16384 images a step: --lr 25 --warmup-epochs 5"},
        {32767, 25, 5, "32767 images a step: --lr 25 --warmup-epochs 5"},
        {32768, 31.2, 25, "32768 images a step: --lr 31.2 --warmup-epochs 25"},
        {65536, 31.2, 25, "65536 images a step: --lr 31.2 --warmup-epochs 25"},
    };
    cleanup_buf struct buf said = {0};
    buf_init(&said, 4096);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct schedule s = mlperf(rows[i].images, &said, NULL, NULL);
        CU_ASSERT_EQUAL(s.peak, rows[i].peak);
        CU_ASSERT_EQUAL(s.warmup_steps, rows[i].warmup * STEPS);
        ASSERT_CONTAINS(buf_text(&said), rows[i].said);
    }
}

static void flags_win_over_the_rule_of_a_recipe(void) {
    cleanup_buf struct buf said = {0};
    buf_init(&said, 4096);
    struct schedule s = mlperf(32768, &said, "--lr", "10");
    CU_ASSERT(s.peak == 10 && s.warmup_steps == 25 * STEPS);
    ASSERT_CONTAINS(buf_text(&said), "images a step: --warmup-epochs 25\n");
    s = mlperf(32768, &said, "--warmup-epochs", "5");
    CU_ASSERT(s.peak == 31.2 && s.warmup_steps == 5 * STEPS);
    s = mlperf(32768, &said, "--warmup-steps", "7");
    CU_ASSERT(s.peak == 31.2 && s.warmup_steps == 7);
    s = mlperf(32768, &said, "--lr-batch", "16384");
    CU_ASSERT_EQUAL(s.peak, 20);
    s = mlperf(32768, &said, "--schedule", "one-cycle");
    CU_ASSERT(s.peak == 31.2 && s.warmup_steps == 0);
}

static void what_a_run_has_no_steps_for_is_reported(void) {
    CU_ASSERT_STRING_EQUAL(TOLD(1, "--epochs", "2"), "");
    CU_ASSERT_STRING_EQUAL(TOLD(1, "--steps", "100", "--warmup-steps", "100"), "");
    CU_ASSERT_STRING_EQUAL(
        TOLD(1, "--steps", "5", "--warmup-steps", "100", "--lr-batch", "0"),
        "the run ends within its warm-up, after 5 of 100 steps: its last rate is 0.005, the peak "
        "would be 0.1\n");
    ASSERT_CONTAINS(TOLD(1, "--warmup-epochs", "0.004"), "--warmup-epochs 0.004 is less than half");
    ASSERT_CONTAINS(TOLD(1, "--warmup-from", "0.5"), "--warmup-from 0.5 has no effect");
    ASSERT_CONTAINS(TOLD(1, "--warmup-lr", "0.001"), "--warmup-lr 0.001 has no effect");
    ASSERT_CONTAINS(TOLD(1, "--warmup-steps", "9", "--warmup-lr", "0.5"),
                    "--warmup-lr 0.5 is above the peak, 0.0125 for the images of this job");
    /* Nobody asked for the share that a network or a recipe brings along. */
    CU_ASSERT_STRING_EQUAL(TOLD(1, "--model", "maskrcnn_tiny", "--warmup-steps", "0"), "");
    CU_ASSERT_STRING_EQUAL(
        TOLD(1, "--recipe", "coco-1x", "--warmup-steps", "0", "--milestones", "1"), "");
    CU_ASSERT_STRING_EQUAL(
        TOLD(1, "--schedule", "milestones", "--milestones", "1,2,3", "--steps", "200"),
        "2 of 3 milestones are after the last step, 200: the rate does not "
        "fall there (--milestones)\n");
}

/* A recipe's own way of saying it must not outrank what was asked for. */
static void flags_lift_what_a_recipe_has_in_their_place(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--warmup-epochs", "2"), 0);
    CU_ASSERT_EQUAL(s.warmup_steps, 200);
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--warmup-epochs", "0"), 0);
    CU_ASSERT_EQUAL(s.warmup_steps, 0);
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--schedule", "cosine"), 0);
    CU_ASSERT(s.kind == SCHEDULE_COSINE && s.milestone_count == 0 && s.warmup_steps == 1000);
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--schedule", "milestones"), 0);
    CU_ASSERT(s.milestone_count == 2 && s.milestones[0] == 8 * STEPS);
}

/* The seeds' rule: 0.001 + (peak - 0.001) * step / steps of warm-up. */
static void a_warm_up_begins_at_a_rate(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--lr", "0.1", "--warmup-steps", "50", "--warmup-lr", "0.001"), 0);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 0), 0.001, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 20), 0.001 + (0.2 - 0.001) * 20 / 50, 1e-15);
    CU_ASSERT_EQUAL(SETTLE("--lr", "0.1", "--warmup-steps", "50", "--warmup-lr", "0.3"), 0);
    CU_ASSERT_EQUAL(schedule_rate(&s, 0), s.peak);
    /* The later way of saying it counts. */
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--warmup-from", "0.5"), 0);
    CU_ASSERT_EQUAL(s.warmup_from, 0.5);
}

static void a_decay_ends_at_a_rate(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--lr", "0.1", "--schedule", "poly2", "--lr-end", "0.01"), 0);
    CU_ASSERT(s.end == 0.01 && s.peak == 0.2); /* of 512 images in place of 256; the end is not */
    CU_ASSERT_EQUAL(SETTLE("--lr", "0.1", "--schedule", "one-cycle", "--steps", "4"), 0);
    CU_ASSERT_EQUAL(s.kind, SCHEDULE_ONE_CYCLE);
    CU_ASSERT_EQUAL(SETTLE("--recipe", "coco-1x", "--schedule", "one-cycle"), 0);
    CU_ASSERT(s.warmup_steps == 0 && s.warmup_from == 0);
}

static void rates_that_cannot_be_are_refused(void) {
    static const struct {
        const char *words[8], *text;
    } wrong[] = {
        {{"--warmup-lr", "0.1", "--warmup-from", "0.5", "--warmup-steps", "5"}, "give one of them"},
        {{"--lr-end", "0.3"}, "--lr-end 0.3 is above the peak, 0.2"},
        {{"--lr-end", "0.01", "--schedule", "step"}, "--lr-end needs --schedule poly2 or cosine"},
        {{"--schedule", "one-cycle", "--steps", "3"}, "needs at least 4 steps; this run has 3"},
        {{"--schedule", "one-cycle", "--warmup-steps", "3"}, "begins with a rise of its own"},
    };
    struct schedule s;
    struct error err;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CU_ASSERT_EQUAL(settle(&s, &err, wrong[i].words), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, wrong[i].text);
        CU_ASSERT_EQUAL(check(&err, wrong[i].words), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, wrong[i].text);
    }
}

UNIT_SUITE("app.learning_rate", UNIT(epochs_become_steps), UNIT(a_warm_up_begins_at_a_rate),
           UNIT(a_decay_ends_at_a_rate), UNIT(rates_that_cannot_be_are_refused),
           UNIT(a_short_run_keeps_the_slope_of_its_warm_up),
           UNIT(what_becomes_of_the_rate_is_reported),
           UNIT(a_rate_for_other_images_a_step_is_reported),
           UNIT(a_check_without_data_refuses_nothing_that_may_be),
           UNIT(the_share_of_each_rank_is_suggested), UNIT(mlperfs_rate_follows_the_images_a_step),
           UNIT(flags_win_over_the_rule_of_a_recipe), UNIT(what_a_run_has_no_steps_for_is_reported),
           UNIT(flags_lift_what_a_recipe_has_in_their_place), UNIT(the_rate_falls_at_milestones),
           UNIT(milestones_that_cannot_be_are_refused))
