#include "common/trials/trials_state.h"

#include "common/file/file.h"
#include "tests/unit/common/trials/plan.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* A trial with the metric 0.1 * lr; the one with lr 6 fails. */
static void run(const struct trials_state *s, const struct trials_number *n) {
    struct trials_result *r = trials_state_at(s, n->rung, n->config, n->seed);
    const bool fails = n->config == 5;
    *r = (struct trials_result){.outcome = fails ? TRIALS_FAILED : TRIALS_DONE,
                                .metric = fails ? (double)NAN : 0.1 * (double)(n->config + 1),
                                .rate = 10,
                                .seconds = 1,
                                .code = fails ? 139 : 0};
    (void)snprintf(r->why, sizeof(r->why), "%s", fails ? "rank 0 ended with 139" : "");
}

static size_t run_missing(struct trials_state *s) {
    struct trials_number list[16];
    struct error err = {0};
    const size_t count = trials_state_missing(s, list, 16);
    for (size_t i = 0; i < count; i++)
        run(s, &list[i]);
    CU_ASSERT_EQUAL(trials_state_promote(s, &err), 0);
    return count;
}

static void rungs_follow_each_other(void) {
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    size_t ranking[8];
    plan_of(&p, PLAN_HALVING);
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&s, &p, &err), 0);
    CU_ASSERT_EQUAL(trials_state_best(&s), -1);
    CU_ASSERT_EQUAL(run_missing(&s), 8);
    CU_ASSERT_EQUAL(s.alive_count[1], 4);
    CU_ASSERT_EQUAL(s.alive[1][0], 7);
    CU_ASSERT_EQUAL(run_missing(&s), 4);
    CU_ASSERT_EQUAL(run_missing(&s), 2);
    CU_ASSERT_EQUAL(run_missing(&s), 0);
    CU_ASSERT_EQUAL(trials_state_best(&s), 7);
    CU_ASSERT_EQUAL(trials_state_rung(&s, 7), 2);
    CU_ASSERT_EQUAL(trials_state_rung(&s, 0), 0);
    trials_state_ranking(&s, ranking);
    CU_ASSERT_EQUAL(ranking[0], 7);
    CU_ASSERT_EQUAL(ranking[1], 6);
    CU_ASSERT_EQUAL(ranking[6], 0);
    CU_ASSERT_EQUAL(ranking[7], 5); /* it failed */
    trials_state_done(&s);
    trials_plan_done(&p);
}

static void a_score_needs_all_seeds(void) {
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    plan_of(&p, "{\"grid\": {\"lr\": [1]}, \"metric\": \"a\", \"seeds\": [0, 1]}");
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&s, &p, &err), 0);
    *trials_state_at(&s, 0, 0, 0) = (struct trials_result){.outcome = TRIALS_DONE, .metric = 1};
    CU_ASSERT(isnan(trials_state_score(&s, 0, 0)));
    CU_ASSERT_EQUAL(trials_state_rung(&s, 0), -1);
    *trials_state_at(&s, 0, 0, 1) = (struct trials_result){.outcome = TRIALS_DONE, .metric = 2};
    CU_ASSERT_DOUBLE_EQUAL(trials_state_score(&s, 0, 0), 1.5, 0);
    trials_state_at(&s, 0, 0, 1)->outcome = TRIALS_FAILED;
    CU_ASSERT(isnan(trials_state_score(&s, 0, 0)));
    CU_ASSERT_EQUAL(trials_state_best(&s), -1);
    trials_state_done(&s);
    trials_plan_done(&p);
}

static void a_file_brings_results_back(void) {
    char folder[] = "/tmp/trials-XXXXXX", path[64];
    struct trials_plan p;
    struct trials_state s, again;
    struct error err = {0};
    plan_of(&p, PLAN_HALVING);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/" TRIALS_STATE_NAME, folder);
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&s, &p, &err), 0);
    CU_ASSERT_EQUAL(trials_state_read(&s, folder, &err), 0); /* there is no file yet */
    CU_ASSERT_EQUAL(run_missing(&s), 8);
    CU_ASSERT_EQUAL(trials_state_write(&s, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&again, &p, &err), 0);
    CU_ASSERT_EQUAL(trials_state_read(&again, folder, &err), 0);
    CU_ASSERT_EQUAL(again.alive_count[1], 4);
    CU_ASSERT_DOUBLE_EQUAL(trials_state_at(&again, 0, 3, 0)->metric, 0.4, 1e-12);
    CU_ASSERT_STRING_EQUAL(trials_state_at(&again, 0, 5, 0)->why, "rank 0 ended with 139");
    CU_ASSERT_EQUAL(trials_state_at(&again, 0, 5, 0)->code, 139);
    trials_state_done(&again);
    /* The file belongs to another plan. */
    p.hash++;
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&again, &p, &err), 0);
    CU_ASSERT_EQUAL(trials_state_read(&again, folder, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another plan"));
    p.hash--;
    CU_ASSERT_EQUAL(file_put(path, "{\"plan\":", 8, 0644, &err), 0);
    CU_ASSERT_EQUAL(trials_state_read(&again, folder, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "damaged"));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    trials_state_done(&again);
    trials_state_done(&s);
    trials_plan_done(&p);
    (void)unlink(path);
    (void)rmdir(folder);
}

UNIT_SUITE("common.trials.trials_state", UNIT(rungs_follow_each_other),
           UNIT(a_score_needs_all_seeds), UNIT(a_file_brings_results_back))
