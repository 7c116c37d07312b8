#include "tests/unit/common/trials/results.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_table_has_the_best_first(void) {
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    results_fill(&p, &s);
    CU_ASSERT_EQUAL(trials_text(&s, &text, &err), 0);
    results_have(&text, "2 configurations, 5 trials done, 1 failed; the largest top1 is best");
    results_have(&text, "     1      1        0.725     0.025         4        100.0       40.0  ");
    results_have(&text, "     -      0            -");
    results_have(&text, "failed: rank 0 ended with 139\n");
    CU_ASSERT(strstr(buf_text(&text), " 0.2\n") < strstr(buf_text(&text), "<0.1>"));
    trials_state_done(&s);
    trials_plan_done(&p);
}

static void a_recipe_has_all_flags(void) {
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    results_fill(&p, &s);
    CU_ASSERT_EQUAL(trials_recipe(&s, 1, &text, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "# trial 1, the best of 2: top1 0.725\n"
                                            "--model resnet20\n--epochs 4\n--lr 0.2\n");
    trials_state_done(&s);
    trials_plan_done(&p);
}

static void four_files_are_written(void) {
    static const char *const names[] = {TRIALS_STATE_NAME, TRIALS_TEXT_NAME, TRIALS_HTML_NAME,
                                        TRIALS_RECIPE_NAME};
    char folder[] = "/tmp/trials-XXXXXX", path[64];
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    struct stat about;
    results_fill(&p, &s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL(trials_write(&s, "test", folder, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        CU_ASSERT_EQUAL(stat(path, &about), 0);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    CU_ASSERT_EQUAL(trials_write(&s, "test", folder, &err), -1);
    trials_state_done(&s);
    trials_plan_done(&p);
}

UNIT_SUITE("common.trials.trials_text", UNIT(the_table_has_the_best_first),
           UNIT(a_recipe_has_all_flags), UNIT(four_files_are_written))
