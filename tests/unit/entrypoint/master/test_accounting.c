#include "entrypoint/master/accounting.h"

#include "common/clock.h"
#include "common/exit_code.h"
#include "common/json/json.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

static struct cluster_host hosts[2];
static struct job job;
static struct member members[2];
static struct master m;

static void begin(void) {
    held_clock_begin();
    job = (struct job){.cluster = {.hosts = hosts, .count = 2}};
    m = (struct master){.s = {.job = &job}, .members = members, .phase = PHASE_RUNNING};
    m.attempt.number = 1;
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i};
    goodput_begin(&m.goodput, clock_boot());
    held_clock_pass(2 * CLOCK_SECOND);
    accounting_started(&m);
}

static void tell(const char *text) {
    json_t *message = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    accounting_receive(&members[1], message);
    json_decref(message);
}

static void fail(int code, int rank) {
    m.failed = (struct verdict){.code = code, .rank = rank};
    accounting_failed(&m);
}

static void an_answer_tells_of_a_checkpoint(void) {
    begin();
    held_clock_pass(20 * CLOCK_SECOND);
    tell("{\"attempt\": 1, \"saved\": [5000000000, 1000000000]}");
    held_clock_pass(5 * CLOCK_SECOND);
    m.collect.began = clock_boot() - CLOCK_SECOND; /* a second until it is judged */
    fail(EXIT_CODE_HOST_LOST, -1);
    CU_ASSERT_EQUAL(m.goodput.startup, 2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.goodput.checkpoints, CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.goodput.useful, 14 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.goodput.lost[GOODPUT_HOST], 9 * CLOCK_SECOND);
    held_clock_pass(3 * CLOCK_SECOND);
    accounting_started(&m);
    CU_ASSERT_EQUAL(m.goodput.down[GOODPUT_HOST], 4 * CLOCK_SECOND);
    held_clock_end();
}

static void other_words_are_ignored(void) {
    static const char *const words[] = {
        "{\"attempt\": 1}",
        "{\"attempt\": 2, \"saved\": [5, 0]}",
        "{\"attempt\": 1, \"saved\": [5]}",
        "{\"attempt\": 1, \"saved\": [-5, 0]}",
        "{\"attempt\": 1, \"saved\": [5, -1]}",
        "{\"attempt\": 1, \"saved\": [9223372036854775807, 0]}",
        "{\"attempt\": 1, \"saved\": {}}",
    };
    begin();
    held_clock_pass(9 * CLOCK_SECOND);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        tell(words[i]);
    m.phase = PHASE_CLEARING;
    tell("{\"attempt\": 1, \"saved\": [5, 0]}");
    fail(137, 1);
    CU_ASSERT_EQUAL(m.goodput.lost[GOODPUT_RANK], 9 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.goodput.useful, 0);
    held_clock_end();
}

static void a_stop_loses_nothing_and_the_end_counts_once(void) {
    begin();
    held_clock_pass(7 * CLOCK_SECOND);
    m.verdict = (struct verdict){.code = EXIT_CODE_STOPPED, .rank = -1};
    accounting_end(&m);
    CU_ASSERT_EQUAL(m.goodput.useful, 7 * CLOCK_SECOND);
    held_clock_pass(7 * CLOCK_SECOND);
    m.verdict = (struct verdict){.code = EXIT_CODE_HOST_LOST, .rank = -1};
    accounting_end(&m);
    CU_ASSERT_EQUAL(goodput_total(&m.goodput), 9 * CLOCK_SECOND);
    held_clock_end();
}

static void the_metrics_tell_it_as_it_is_now(void) {
    struct buf text;
    buf_init(&text, 16 * 1024);
    begin();
    held_clock_pass(6 * CLOCK_SECOND);
    fail(EXIT_CODE_STALLED, 0);
    held_clock_pass(CLOCK_SECOND);
    CU_ASSERT_EQUAL(accounting_measure(&m, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "ringmaster_startup_seconds 2");
    ASSERT_CONTAINS(buf_text(&text), "ringmaster_lost_seconds{cause=\"stall\"} 6");
    ASSERT_CONTAINS(buf_text(&text), "ringmaster_down_seconds{cause=\"stall\"} 1");
    ASSERT_CONTAINS(buf_text(&text), "ringmaster_goodput_ratio 0");
    buf_done(&text);
    held_clock_end();
}

UNIT_SUITE("master.accounting", UNIT(an_answer_tells_of_a_checkpoint),
           UNIT(other_words_are_ignored), UNIT(a_stop_loses_nothing_and_the_end_counts_once),
           UNIT(the_metrics_tell_it_as_it_is_now))
