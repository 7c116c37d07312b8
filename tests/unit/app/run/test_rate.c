#include "run/rate.h"
#include "support/unit.h"

#include <stdint.h>

enum { STEPS = 100 }; /* of an epoch */

static int settle(struct schedule *s, struct error *err, const char *const *words) {
    struct options o;
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *err = (struct error){0};
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&o, COMMAND_TRAIN, argc, (char *const *)(uintptr_t)words, err), 0);
    return rate_settle(s, &o, STEPS, 512, err);
}
#define SETTLE(...) settle(&s, &err, (const char *const[]){__VA_ARGS__, NULL})

static void epochs_become_steps(void) {
    struct schedule s;
    struct error err;
    CU_ASSERT_EQUAL(SETTLE("--epochs", "12", "--warmup-epochs", "0.5", "--lr", "0.1"), 0);
    CU_ASSERT_EQUAL(s.total_steps, 1200);
    CU_ASSERT_EQUAL(s.warmup_steps, 50);
    CU_ASSERT_DOUBLE_EQUAL(s.peak, 0.2, 1e-15); /* of 512 images in place of 256 */
    CU_ASSERT_EQUAL(SETTLE("--steps", "30", "--warmup-epochs", "0.5"), 0);
    CU_ASSERT(s.total_steps == 30 && s.warmup_steps == 30);
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
    ASSERT_CONTAINS(err.text, "--milestones says at which epochs");
    CU_ASSERT_EQUAL(SETTLE("--milestones", "8"), -1);
    ASSERT_CONTAINS(err.text, "without --schedule milestones");
}

UNIT_MAIN("app.rate", UNIT(epochs_become_steps), UNIT(the_rate_falls_at_milestones),
          UNIT(milestones_that_cannot_be_are_refused))
