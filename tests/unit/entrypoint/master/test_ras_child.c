#include "tests/unit/entrypoint/master/ras_stage.h"

static struct master *const m = &ras_stage.master;

static void say(const char *line) {
    ras_child_line(m, line, strlen(line));
}

static void a_stuck_operation_is_named_once(void) {
    ras_stage_begin();
    say("{\"communicator\":\"0xae\",\"operation\":\"AllReduce\",\"size\":4,\"ahead\":41,\"count\":"
        "1,"
        "\"seconds\":10,\"late\":[[3,103,\"10.0.0.2\"]]}\n");
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, ""); /* the host is asked which rank it is */
    ras_stage_answer(1, "{\"number\":1,\"owners\":[[103,3]]}");
    CU_ASSERT_STRING_EQUAL(
        m->attempt.stuck, "NCCL's AllReduce number 41 of communicator 0xae waits for 1 of 4 ranks: "
                          "rank 3 on algo-2");
    CU_ASSERT_EQUAL(m->standing.rank, 3);
    CU_ASSERT_PTR_NOT_NULL(m->standing.ranks); /* evidence is gathered */
    CU_ASSERT_EQUAL(ras_stage.raised[EVENT_FAILURE], 0);
    say("{\"communicator\":\"0xae\",\"operation\":\"AllReduce\",\"size\":4,\"ahead\":41,\"count\":"
        "1,"
        "\"seconds\":60,\"late\":[[3,103,\"10.0.0.2\"]]}\n");
    CU_ASSERT_EQUAL(ras_stage.raised[EVENT_FAILURE], 1); /* the user's own limit */
    CU_ASSERT_EQUAL(m->attempt.stalled_rank, 3);
    ras_stage_end();
}

static void it_may_go_on(void) {
    ras_stage_begin();
    say("{\"communicator\":\"0xae\",\"operation\":\"\",\"size\":2,\"count\":2,\"seconds\":12,"
        "\"late\":[[0,7,\"elsewhere\"],[1,8,\"10.0.0.2\"]]}\n");
    ras_stage_answer(1, "{\"number\":1,\"owners\":[]}");
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck,
                           "NCCL hears nothing of 2 of 2 ranks of communicator 0xae: its rank 0 on "
                           "elsewhere (process 7), its rank 1 on algo-2 (process 8)");
    CU_ASSERT_EQUAL(m->standing.rank, -1); /* ranks of a part of the job have other numbers */
    say("{}\n");
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, "");
    CU_ASSERT_EQUAL(m->standing.rank, STANDING_NOBODY);
    ras_stage_end();
}

static void anything_else_is_left_alone(void) {
    static const char *const lines[] = {"", "\n", "hello\n", "{", "[]", "{}\n"};
    ras_stage_begin();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        say(lines[i]);
    CU_ASSERT_STRING_EQUAL(m->attempt.stuck, "");
    say("{\"late\":[7,[],[-1,-1,7]],\"seconds\":-1}\n");
    CU_ASSERT_EQUAL(m->standing.rank, -1);
    ras_stage_end();
}

UNIT_SUITE("master.ras_child", UNIT(a_stuck_operation_is_named_once), UNIT(it_may_go_on),
           UNIT(anything_else_is_left_alone))
