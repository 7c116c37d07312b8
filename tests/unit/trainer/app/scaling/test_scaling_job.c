#include "trainer/app/scaling/scaling_job.h"

#include "tests/support/unit.h"

#include <string.h>

static void flags_of_the_measurement_come_last(void) {
    const char *const flags[] = {"--model", "resnet20", "--validation", "pictures", NULL};
    const struct scaling_job job = {(char *const *)flags, 4, 60, 3};
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    CU_ASSERT_EQUAL(scaling_job_check(&job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(scaling_job_argv(&job, "", "out/ranks-2", &a, &err), 0);
    CU_ASSERT_STRING_EQUAL(a.items[1], "train");
    CU_ASSERT_STRING_EQUAL(a.items[2], "--model");
    CU_ASSERT_STRING_EQUAL(a.items[a.count - 1], "--threads=3");
    CU_ASSERT_STRING_EQUAL(a.items[a.count - 5], "--report-every=10");
}

static void threads_of_the_user_stay(void) {
    const char *const flags[] = {"--threads=1", NULL};
    const struct scaling_job job = {(char *const *)flags, 1, 6, 3};
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    CU_ASSERT_EQUAL_FATAL(scaling_job_argv(&job, "", "out", &a, &err), 0);
    CU_ASSERT_STRING_EQUAL(a.items[a.count - 1], "--checkpoint-dir=out/checkpoints");
}

static void what_it_sets_itself_is_refused(void) {
    const char *const own[] = {"--steps", "7", NULL}, *const unknown[] = {"--modle=x", NULL};
    const struct scaling_job steps = {(char *const *)own, 2, 6, 1},
                             wrong = {(char *const *)unknown, 1, 6, 1};
    struct error err = {0};
    CU_ASSERT_EQUAL(scaling_job_check(&steps, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--steps"));
    CU_ASSERT_EQUAL(scaling_job_check(&wrong, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "did you mean --model"));
}

static void strategies_are_listed(void) {
    const char *const none[] = {"--model=resnet20", NULL}, *const own[] = {"--strategy=sharded",
                                                                           NULL};
    const struct scaling_job job = {(char *const *)none, 1, 6, 1},
                             has = {(char *const *)own, 1, 6, 1};
    static const char *const bad[] = {"", "gossip", "ps-sync", "sharded,sharded", "allreduce,"};
    struct scaling_names names = {0};
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    CU_ASSERT_EQUAL(scaling_job_strategies(&job, "allreduce,sharded,local-sgd", &names, &err), 0);
    CU_ASSERT_EQUAL(names.count, 3);
    CU_ASSERT_STRING_EQUAL(names.list[1], "sharded");
    CU_ASSERT_EQUAL_FATAL(scaling_job_argv(&job, names.list[1], "out", &a, &err), 0);
    CU_ASSERT_STRING_EQUAL(a.items[a.count - 1], "--strategy=sharded");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        names = (struct scaling_names){0};
        CU_ASSERT_EQUAL(scaling_job_strategies(&job, bad[i], &names, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    }
    CU_ASSERT_EQUAL(scaling_job_strategies(&has, "sharded", &names, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "give one of them"));
}

UNIT_SUITE("trainer.app.scaling.scaling_job", UNIT(flags_of_the_measurement_come_last),
           UNIT(threads_of_the_user_stay), UNIT(what_it_sets_itself_is_refused),
           UNIT(strategies_are_listed))
