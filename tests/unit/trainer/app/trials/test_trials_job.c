#include "trainer/app/trials/trials_job.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <string.h>

static void plan_of(struct trials_plan *ret, const char *text) {
    struct error err = {0};
    cleanup_json json_t *root = json_loads(text, 0, NULL);
    CU_ASSERT_EQUAL_FATAL(trials_plan_parse(ret, root, "plan", &err), 0);
}

static bool has(const struct argv *a, const char *word) {
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], word) == 0)
            return true;
    return false;
}

static void a_trial_has_its_settings_and_folders(void) {
    struct trials_plan p;
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    const struct trials_number n = {1, 1, 1};
    plan_of(&p,
            "{\"flags\": {\"model\": \"resnet20\"}, \"grid\": {\"lr\": [0.1, 0.2]}, \"metric\": "
            "\"top1\", \"seeds\": [5, 6], \"halving\": {\"rungs\": [1, 3]}}");
    CU_ASSERT_EQUAL(trials_job_check(&p, &err), 0);
    CU_ASSERT_EQUAL_FATAL(trials_job_argv(&p, &n, "out/trial-1", 2, &a, &err), 0);
    CU_ASSERT_STRING_EQUAL(a.items[1], "train");
    CU_ASSERT_TRUE(has(&a, "--model=resnet20"));
    CU_ASSERT_TRUE(has(&a, "--lr=0.2"));
    CU_ASSERT_TRUE(has(&a, "--epochs=3"));
    CU_ASSERT_TRUE(has(&a, "--seed=6"));
    CU_ASSERT_TRUE(has(&a, "--threads=2"));
    CU_ASSERT_TRUE(has(&a, "--log-dir=out/trial-1"));
    trials_plan_done(&p);
}

static void the_best_is_trained_where_a_training_is(void) {
    struct trials_plan p;
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    plan_of(&p,
            "{\"flags\": {\"epochs\": 90}, \"grid\": {\"threads\": [1, 2]}, \"metric\": \"top1\", "
            "\"halving\": {\"rungs\": [1, 3]}}");
    CU_ASSERT_EQUAL_FATAL(trials_job_train(&p, 1, &a, &err), 0);
    CU_ASSERT_EQUAL(a.count, 4);
    CU_ASSERT_TRUE(has(&a, "--epochs=90"));
    CU_ASSERT_TRUE(has(&a, "--threads=2"));
    trials_plan_done(&p);
}

static void flags_are_checked_before_anything_runs(void) {
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{\"flags\": {\"modle\": 1}, \"grid\": {\"lr\": [1]}, \"metric\": \"a\"}",
         "did you mean --model"},
        {"{\"grid\": {\"lr\": [1, \"fast\"]}, \"metric\": \"a\"}", "trial 1: --lr"},
        {"{\"grid\": {\"model_dir\": [\"a\"]}, \"metric\": \"a\"}", "each trial has its own"},
        {"{\"grid\": {\"lr\": [1]}, \"metric\": \"a\", \"halving\": {\"flag\": \"time\", "
         "\"rungs\": "
         "[1, 2]}}",
         "unknown flag --time"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trials_plan p;
        struct error err = {0};
        plan_of(&p, cases[i].text);
        CU_ASSERT_EQUAL(trials_job_check(&p, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        trials_plan_done(&p);
    }
}

UNIT_SUITE("trainer.app.trials.trials_job", UNIT(a_trial_has_its_settings_and_folders),
           UNIT(the_best_is_trained_where_a_training_is),
           UNIT(flags_are_checked_before_anything_runs))
