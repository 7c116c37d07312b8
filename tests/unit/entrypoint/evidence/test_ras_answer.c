#include "entrypoint/evidence/ras_answer.h"

#include "tests/support/unit.h"

#include <string.h>

static struct ras_answer answer;

static bool take(const char *text) {
    return ras_answer_read(text, strlen(text), &answer);
}

#define RANK(number, count)                                                                        \
    "{\"rank\":" #number ",\"host\":\"10.0.0." #number "\",\"pid\":10" #number                     \
    ",\"collective_counts\":{\"Broadcast\":1,\"AllReduce\":" #count "}}"

/* As NCCL 2.29 writes it, less what is not read. */
static void json_is_compared(void) {
    CU_ASSERT_TRUE(
        take("{\"nccl_version\":\"2.29.1\",\"communicators\":[{\"hash\":\"0xae94\","
             "\"size\":4,\"ranks\":[" RANK(0, 7) "," RANK(1, 6) "," RANK(
                 2, 7) "],"
                       "\"missing_ranks\":[{\"rank\":3,\"host\":\"10.0.0.3\",\"pid\":103}]}]}"));
    CU_ASSERT_EQUAL_FATAL(answer.count, 2);
    const struct ras_lag *missing = &answer.lags[0];
    CU_ASSERT_STRING_EQUAL(missing->operation, "");
    CU_ASSERT_EQUAL(missing->count, 1);
    CU_ASSERT_EQUAL(missing->behind[0].rank, 3);
    const struct ras_lag *lag = &answer.lags[1];
    CU_ASSERT_STRING_EQUAL(lag->communicator, "0xae94");
    CU_ASSERT_STRING_EQUAL(lag->operation, "AllReduce");
    CU_ASSERT_EQUAL(lag->size, 4);
    CU_ASSERT_EQUAL(lag->ahead, 7);
    CU_ASSERT_EQUAL(lag->least, 6);
    CU_ASSERT_EQUAL(lag->count, 1);
    CU_ASSERT_EQUAL(lag->behind_count, 1);
    CU_ASSERT_EQUAL(lag->behind[0].rank, 1);
    CU_ASSERT_EQUAL(lag->behind[0].pid, 101);
    CU_ASSERT_STRING_EQUAL(lag->behind[0].host, "10.0.0.1");
}

static void equal_counts_are_no_lag(void) {
    CU_ASSERT_TRUE(take("{\"communicators\":[{\"hash\":\"a\",\"size\":2,\"ranks\":[" RANK(
        0, 7) "," RANK(1, 7) "],\"missing_ranks\":[]}]}"));
    CU_ASSERT_EQUAL(answer.count, 0);
    CU_ASSERT_TRUE(take("{\"communicators\":[]}"));
    CU_ASSERT_EQUAL(answer.count, 0);
}

/* The sample of NCCL's user guide, of 2.24, and lines of later versions. */
static void text_is_read(void) {
    CU_ASSERT_TRUE(
        take("Job summary\n===========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
             "  Communicator ranks have different collective operation counts\n"
             "  26 ranks have launched up to operation 6650\n"
             "  6 ranks have launched up to operation 6649\n"
             "  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210\n"
             "  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210\n"
             "\n#0-1 (aa) MISMATCH\n"
             "  Communicator ranks have different status\n  2 ranks have status FINALIZE\n"
             "  Rank 4 -- GPU 4 managed by process 507289 on node 172.16.64.210\n"
             "  Communicator ranks have different AllReduce operation counts\n"
             "  3 ranks have launched up to operation 9\n"
             "  Rank 3 has not launched any operations -- GPU 3 managed by process 77 on node "
             "10.0.0.9\n"));
    CU_ASSERT_EQUAL_FATAL(answer.count, 2);
    CU_ASSERT_STRING_EQUAL(answer.lags[0].communicator, "27a079b828ff1a75");
    CU_ASSERT_EQUAL(answer.lags[0].ahead, 6650);
    CU_ASSERT_EQUAL(answer.lags[0].count, 6);
    CU_ASSERT_EQUAL(answer.lags[0].behind_count, 2);
    CU_ASSERT_EQUAL(answer.lags[0].behind[1].pid, 483074);
    CU_ASSERT_STRING_EQUAL(answer.lags[1].operation, "AllReduce");
    CU_ASSERT_EQUAL(answer.lags[1].count, 1);
    CU_ASSERT_EQUAL(answer.lags[1].least, 0);
    CU_ASSERT_EQUAL(answer.lags[1].behind[0].rank, 3);
    CU_ASSERT_STRING_EQUAL(answer.lags[1].behind[0].host, "10.0.0.9");
}

/* One rank is ahead: all others have not come. */
static void a_majority_that_is_late_is_counted(void) {
    CU_ASSERT_TRUE(take("Job summary\n#0-0 (aa) MISMATCH\n"
                        "  Communicator ranks have different AllReduce operation counts\n"
                        "  7 ranks have launched up to operation 5\n"
                        "  Rank 0 has launched up to operation 6 -- GPU 0 managed by process 1 on "
                        "node a\n"));
    CU_ASSERT_EQUAL_FATAL(answer.count, 1);
    CU_ASSERT_EQUAL(answer.lags[0].ahead, 6);
    CU_ASSERT_EQUAL(answer.lags[0].least, 5);
    CU_ASSERT_EQUAL(answer.lags[0].count, 7);
    CU_ASSERT_EQUAL(answer.lags[0].behind_count, 0);
}

static void anything_else_is_no_answer(void) {
    static const char *const texts[] = {
        "", "{", "{}", "[]", "220 mail ready\r\n", "\n", "{\"communicators\":7}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CU_ASSERT_FALSE(take(texts[i]));
    CU_ASSERT_TRUE(take("{\"communicators\":[7,{},{\"ranks\":7},{\"ranks\":[7,null]},"
                        "{\"hash\":7,\"ranks\":[{\"collective_counts\":{\"A\":-1}}]}]}"));
    CU_ASSERT_EQUAL(answer.count, 0);
}

UNIT_SUITE("evidence.ras_answer", UNIT(json_is_compared), UNIT(equal_counts_are_no_lag),
           UNIT(text_is_read), UNIT(a_majority_that_is_late_is_counted),
           UNIT(anything_else_is_no_answer))
