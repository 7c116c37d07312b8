#include "entrypoint/master/ras_finding.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/wire/message.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* Two hosts with two ranks each. */
static struct cluster_host hosts[2];
static struct job job;
static struct master m;
static struct member members[2];
static unsigned raised[EVENT_COUNT];
static unsigned asked;

static void count(struct master *master, const struct raised *what) {
    (void)master;
    raised[what->event]++;
}

/* Of the orders for this host, those about processes. */
static void hear(void *context, const json_t *message) {
    (void)context;
    asked += message_kind(message) == MESSAGE_PROCESSES;
}

static void begin(void) {
    held_clock_begin();
    memset(raised, 0, sizeof(raised));
    asked = 0;
    for (size_t i = 0; i < 2; i++) {
        hosts[i] = (struct cluster_host){.slots = 2};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i};
    }
    CU_ASSERT_TRUE(net_address_parse("10.0.0.2", &hosts[1].address));
    job = (struct job){.settings = {.evidence = true, .stall_seconds = 60, .stall_is_set = true},
                       .cluster = {.hosts = hosts, .count = 2}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, hear, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, NULL), 0);
    for (int64_t i = 0; i < 4; i++)
        (void)attempt_seat(&m.attempt, (size_t)i / 2, i);
    standing_open(&m);
}

static void end(void) {
    ras_finding_drop(&m);
    standing_close(&m);
    message_queue_done(&m.to_self);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
    held_clock_end();
}

static void find(const char *text) {
    cleanup_json json_t *found = json_loads(text, 0, NULL);
    ras_finding_take(&m, found);
}

static void answer(size_t host, const char *text) {
    cleanup_json json_t *message = json_loads(text, 0, NULL);
    ras_finding_answered(&members[host], message);
}

static void end_loop(void *context) {
    loop_end(context);
}

static void pass(int64_t time) {
    struct timer last = {.fire = end_loop, .context = &m.s.loop};
    loop_after(&m.s.loop, &last, time);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
}

/* Ranks of a part of the job have other numbers there. */
static const char part[] = "{\"communicator\":\"0xae\",\"operation\":\"AllGather\",\"size\":3,"
                           "\"ahead\":7,\"count\":2,\"seconds\":10,"
                           "\"late\":[[0,71,\"algo-1\"],[1,72,\"10.0.0.2\"]]}";

static void processes_become_ranks(void) {
    begin();
    find(part);
    CU_ASSERT_EQUAL(m.standing.ras_waiting, 2);
    answer(1, "{\"number\":1,\"owners\":[[72,3],[71,2]]}"); /* 71 is not there */
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    answer(0, "{\"number\":1,\"owners\":[[71,1]]}");
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck,
                           "NCCL's AllGather number 7 of communicator 0xae waits for 2 of 3 ranks: "
                           "rank 1 on algo-1, rank 3 on algo-2");
    CU_ASSERT_EQUAL(m.standing.rank, 1);
    CU_ASSERT_PTR_NULL(m.standing.ras_found);
    answer(0, "{\"number\":1,\"owners\":[[71,0]]}"); /* too late */
    CU_ASSERT_EQUAL(m.standing.rank, 1);
    pass(2 * CLOCK_SECOND); /* the order for this host is delivered */
    CU_ASSERT_EQUAL(asked, 1);
    end();
}

static void what_is_not_answered_in_a_second_is_told_as_it_is(void) {
    begin();
    find(part);
    answer(0, "{\"number\":1,\"owners\":[[71,1]]}");
    pass(CLOCK_SECOND / 2);
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    pass(CLOCK_SECOND);
    ASSERT_CONTAINS(m.attempt.stuck, "rank 1 on algo-1, its rank 1 on algo-2 (process 72)");
    CU_ASSERT_EQUAL(m.standing.rank, 1);
    end();
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
    begin();
    find(part);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        answer(1, bad[i]);
        CU_ASSERT_EQUAL(m.standing.ras_waiting, 2);
    }
    end();
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        begin();
        find(part);
        answer(1, none[i]);
        pass(2 * CLOCK_SECOND);
        ASSERT_CONTAINS(m.attempt.stuck, "its rank 1 on algo-2 (process 72)");
        end();
    }
}

static void an_attempt_that_is_over_is_forgotten(void) {
    begin();
    find(part);
    ras_finding_drop(&m);
    CU_ASSERT_PTR_NULL(m.standing.ras_found);
    CU_ASSERT_FALSE(m.standing.ras_deadline.active);
    answer(1, "{\"number\":1,\"owners\":[[72,3]]}");
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    end();
}

UNIT_SUITE("master.ras_finding", UNIT(processes_become_ranks),
           UNIT(what_is_not_answered_in_a_second_is_told_as_it_is),
           UNIT(answers_that_cannot_be_are_not_believed),
           UNIT(an_attempt_that_is_over_is_forgotten))
