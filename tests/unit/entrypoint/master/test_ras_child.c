#include "entrypoint/master/ras_child.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/master/ras_finding.h"
#include "entrypoint/master/standing.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct cluster_host hosts[2];
static struct job job;
static struct master m;
static struct member members[2];
static unsigned raised[EVENT_COUNT];

static void count(struct master *master, const struct raised *what) {
    (void)master;
    raised[what->event]++;
}

static void drop(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void begin(void) {
    memset(raised, 0, sizeof(raised));
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
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, drop, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, NULL), 0);
    for (int64_t i = 0; i < 4; i++)
        (void)attempt_seat(&m.attempt, (size_t)i / 2, i);
    standing_open(&m);
}

static void end(void) {
    ras_child_end(&m);
    standing_close(&m);
    message_queue_done(&m.to_self);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
}

static void say(const char *line) {
    ras_child_line(&m, line, strlen(line));
}

/* The answer of the second host, which knows its processes or does not. */
static void answer(const char *owners) {
    cleanup_json json_t *message = json_loads(owners, 0, NULL);
    ras_finding_answered(&members[1], message);
}

static void a_stuck_operation_is_named_once(void) {
    begin();
    say("{\"communicator\":\"0xae\",\"operation\":\"AllReduce\",\"size\":4,\"ahead\":41,\"count\":"
        "1,"
        "\"seconds\":10,\"late\":[[3,103,\"10.0.0.2\"]]}\n");
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, ""); /* the host is asked whose process that is */
    answer("{\"number\":1,\"owners\":[[103,3]]}");
    CU_ASSERT_STRING_EQUAL(
        m.attempt.stuck, "NCCL's AllReduce number 41 of communicator 0xae waits for 1 of 4 ranks: "
                         "rank 3 on algo-2");
    CU_ASSERT_EQUAL(m.standing.rank, 3);
    CU_ASSERT_PTR_NOT_NULL(m.standing.ranks); /* evidence is gathered */
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    say("{\"communicator\":\"0xae\",\"operation\":\"AllReduce\",\"size\":4,\"ahead\":41,\"count\":"
        "1,"
        "\"seconds\":60,\"late\":[[3,103,\"10.0.0.2\"]]}\n");
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1); /* the user's own limit */
    CU_ASSERT_EQUAL(m.attempt.stalled_rank, 3);
    end();
}

static void it_may_go_on(void) {
    begin();
    say("{\"communicator\":\"0xae\",\"operation\":\"\",\"size\":2,\"count\":2,\"seconds\":12,"
        "\"late\":[[0,7,\"elsewhere\"],[1,8,\"10.0.0.2\"]]}\n");
    answer("{\"number\":1,\"owners\":[]}");
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck,
                           "NCCL hears nothing of 2 of 2 ranks of communicator 0xae: its rank 0 on "
                           "elsewhere (process 7), its rank 1 on algo-2 (process 8)");
    CU_ASSERT_EQUAL(m.standing.rank, -1); /* ranks of a part of the job have other numbers */
    say("{}\n");
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    CU_ASSERT_EQUAL(m.standing.rank, STANDING_NOBODY);
    end();
}

static void anything_else_is_left_alone(void) {
    static const char *const lines[] = {"", "\n", "hello\n", "{", "[]", "{}\n"};
    begin();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        say(lines[i]);
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    say("{\"late\":[7,[],[-1,-1,7]],\"seconds\":-1}\n");
    CU_ASSERT_EQUAL(m.standing.rank, -1);
    end();
}

UNIT_SUITE("master.ras_child", UNIT(a_stuck_operation_is_named_once), UNIT(it_may_go_on),
           UNIT(anything_else_is_left_alone))
