#include "tests/unit/entrypoint/master/ras_stage.h"

#include "common/clock.h"

static struct master *const m = &ras_stage.master;

static void find(const char *text) {
    cleanup_json json_t *found = json_loads(text, 0, NULL);
    ras_finding_take(m, found);
}

static void end_loop(void *context) {
    loop_end(context);
}

static void pass(int64_t time) {
    struct timer last = {.fire = end_loop, .context = &m->s.loop};
    loop_after(&m->s.loop, &last, time);
    CU_ASSERT_EQUAL(loop_run(&m->s.loop, NULL), 0);
}

/* Ranks of a part of the job have other numbers there. */
static const char part[] = "{\"communicator\":\"0xae\",\"operation\":\"AllGather\",\"size\":3,"
                           "\"ahead\":7,\"count\":2,\"seconds\":10,"
                           "\"late\":[[0,71,\"algo-1\"],[1,72,\"10.0.0.2\"]]}";

static void processes_become_ranks(void) {
    ras_stage_begin();
    find(part);
    CU_ASSERT_EQUAL(m->standing.ras_waiting, 2);
    ras_stage_answer(1, "{\"number\":1,\"owners\":[[72,3],[71,2]]}"); /* 71 is not there */
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, "");
    ras_stage_answer(0, "{\"number\":1,\"owners\":[[71,1]]}");
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck,
                           "NCCL's AllGather number 7 of communicator 0xae waits for 2 of 3 ranks: "
                           "rank 1 on algo-1, rank 3 on algo-2");
    CU_ASSERT_EQUAL(m->standing.rank, 1);
    CU_ASSERT_PTR_NULL(m->standing.ras_found);
    ras_stage_answer(0, "{\"number\":1,\"owners\":[[71,0]]}"); /* too late */
    CU_ASSERT_EQUAL(m->standing.rank, 1);
    pass(2 * CLOCK_SECOND); /* the order for this host is delivered */
    CU_ASSERT_EQUAL(ras_stage.asked, 1);
    ras_stage_end();
}

static void what_is_not_answered_in_a_second_is_told_as_it_is(void) {
    ras_stage_begin();
    find(part);
    ras_stage_answer(0, "{\"number\":1,\"owners\":[[71,1]]}");
    pass(CLOCK_SECOND / 2);
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, "");
    pass(CLOCK_SECOND);
    ASSERT_CONTAINS(m->attempt.stuck, "rank 1 on algo-1, its rank 1 on algo-2 (process 72)");
    CU_ASSERT_EQUAL(m->standing.rank, 1);
    ras_stage_end();
}

static void answers_that_cannot_be_are_not_believed(void) {
    static const char *const bad[] = {
        "{\"number\":2,\"owners\":[[72,3]]}", /* of another question */
        "{\"owners\":[[72,3]]}",
    };
    static const char *const none[] = {
        "{\"number\":1,\"owners\":[[72,1]]}", /* a rank of the other host */
        "{\"number\":1,\"owners\":[[72,-1],[72,99],[72,\"3\"],[72],72,[73,3]]}",
        "{\"number\":1}",
    };
    ras_stage_begin();
    find(part);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ras_stage_answer(1, bad[i]);
        CU_ASSERT_EQUAL(m->standing.ras_waiting, 2);
    }
    ras_stage_end();
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        ras_stage_begin();
        find(part);
        ras_stage_answer(1, none[i]);
        pass(2 * CLOCK_SECOND);
        ASSERT_CONTAINS(m->attempt.stuck, "its rank 1 on algo-2 (process 72)");
        ras_stage_end();
    }
}

static void an_attempt_that_is_over_is_forgotten(void) {
    ras_stage_begin();
    find(part);
    ras_finding_drop(m);
    CU_ASSERT_PTR_NULL(m->standing.ras_found);
    CU_ASSERT_FALSE(m->standing.ras_deadline.active);
    ras_stage_answer(1, "{\"number\":1,\"owners\":[[72,3]]}");
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, "");
    ras_stage_end();
}

UNIT_SUITE("master.ras_finding", UNIT(processes_become_ranks),
           UNIT(what_is_not_answered_in_a_second_is_told_as_it_is),
           UNIT(answers_that_cannot_be_are_not_believed),
           UNIT(an_attempt_that_is_over_is_forgotten))
