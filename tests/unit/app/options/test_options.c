#include "optim/schedule.h"
#include "options/options.h"
#include "run/run_state.h"
#include "support/unit.h"

#include <stdint.h>

static int parse(struct options *o, unsigned command, struct error *err, const char *const *words) {
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *err = (struct error){0};
    return options_parse(o, command, argc, (char *const *)(uintptr_t)words, err);
}
#define PARSE(command, ...) parse(&o, command, &err, (const char *const[]){__VA_ARGS__, NULL})

static void nothing_given_is_a_run_that_makes_sense(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(parse(&o, COMMAND_TRAIN, &err, (const char *const[]){NULL}), 0);
    CU_ASSERT_STRING_EQUAL(o.model, "resnet50");
    CU_ASSERT_STRING_EQUAL(o.resume, "auto");
    CU_ASSERT(o.batch_size == 32 && o.accumulate == 1 && o.epochs == 90 && o.steps == 0);
    CU_ASSERT(o.lr == 0.1 && o.lr_batch == 256 && o.momentum == 0.9);
    CU_ASSERT(o.schedule == SCHEDULE_COSINE && o.dtype == OPTION_F32);
    CU_ASSERT(o.backend == OPTION_BACKEND_AUTO && o.log == OPTION_LOG_BOTH && o.flip);
}

static void hyperparameters_come_as_flags_with_underscores(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--batch_size", "96", "--warmup_epochs", "1", "--schedule",
                          "poly2", "--nesterov", "True", "--dtype", "bf16"),
                    0);
    CU_ASSERT(o.batch_size == 96 && o.warmup_epochs == 1 && o.schedule == SCHEDULE_POLY2);
    CU_ASSERT(o.nesterov && o.dtype == OPTION_BF16);
}

static void evaluation_refuses_flags_of_training(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_EVAL, "--model-dir", "m", "--data", "d"), 0);
    CU_ASSERT_EQUAL(PARSE(COMMAND_EVAL, "--momentum", "0.9"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

static void numbers_have_bounds(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--batch-size", "0"), -1);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--label-smoothing", "1.5"), -1);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--steps", "-1"), -1);
    ASSERT_CONTAINS(err.text, "--steps");
}

/* What a checkpoint tells of the recipe: every bit of a number, choices and truth as typed. */
static void what_changes_bits_is_recorded(void) {
    struct options o;
    struct error err;
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--lr", "0.30000000000000004", "--schedule", "step",
                          "--nesterov", "1", "--lr-batch", "0"),
                    0);
    CU_ASSERT_EQUAL_FATAL(options_record(&text, &o, &err), 0);
    CU_ASSERT(text.size < RUN_STATE_OPTIONS / 2);
    ASSERT_CONTAINS(buf_text(&text), "lr=0.30000000000000004 lr-batch=0 schedule=step ");
    ASSERT_CONTAINS(buf_text(&text), " momentum=0.9 ");
    ASSERT_CONTAINS(buf_text(&text), " nesterov=true ");
    ASSERT_CONTAINS(buf_text(&text), " bad-samples=fail ");
}

UNIT_MAIN("app.options", UNIT(nothing_given_is_a_run_that_makes_sense),
          UNIT(hyperparameters_come_as_flags_with_underscores),
          UNIT(evaluation_refuses_flags_of_training), UNIT(numbers_have_bounds),
          UNIT(what_changes_bits_is_recorded))
