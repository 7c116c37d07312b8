#include "entrypoint/master/pmi_exchange.h"

#include "common/clock.h"
#include "entrypoint/wire/message.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* A master of three hosts, of which the last is gone. What it sends itself is kept. */
static struct cluster_host hosts[3];
static struct job job;
static struct master m;
static struct member members[3];
static unsigned failures, passed, pairs;

static void count_failures(struct master *master, const struct raised *what) {
    failures += what->event == EVENT_FAILURE;
    loop_end(&master->s.loop);
}

static void take_order(void *context, const json_t *message) {
    (void)context;
    if (message_kind(message) == MESSAGE_PAIRS)
        pairs += (unsigned)json_array_size(json_object_get(message, "pairs"));
    if (message_kind(message) != MESSAGE_PASSED)
        return;
    passed++;
    loop_end(&m.s.loop);
}

static void set_up(void) {
    failures = passed = pairs = 0;
    job = (struct job){.cluster = {.hosts = hosts, .count = 3}, .settings = {.ready_seconds = 90}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count_failures};
    for (size_t i = 0; i < 3; i++) {
        hosts[i] = (struct cluster_host){.slots = 1, .gone = i == 2};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i};
    }
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, take_order, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, NULL), 0);
    m.attempt.direct = true;
}

static void take_down(void) {
    pmi_exchange_close(&m);
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
}

static void put(size_t host, const char *key, const char *value) {
    json_t *message = json_pack("{s:[[s, s]]}", "pairs", key, value);
    pmi_exchange_pairs(&members[host], message);
    json_decref(message);
}

static void a_barrier_is_passed_when_all_hosts_are_in_it(void) {
    set_up();
    for (unsigned round = 1; round < 3; round++) {
        put(0, "a", "1");
        put(1, "b", "2");
        pmi_exchange_barrier(&members[1]);
        CU_ASSERT(m.pmi.deadline.active);
        pmi_exchange_barrier(&members[0]);
        CU_ASSERT_FALSE(m.pmi.deadline.active);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
        CU_ASSERT(passed == round && pairs == 2 * round);
        CU_ASSERT_EQUAL(m.pmi.fresh.count, 0);
    }
    CU_ASSERT_EQUAL(failures, 0);
    take_down();
}

static void a_barrier_that_lasts_too_long_is_a_failure(void) {
    set_up();
    held_clock_begin();
    int64_t begun = clock_now();
    pmi_exchange_barrier(&members[0]);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL(clock_now() - begun, 90 * CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT_EQUAL(failures, 1);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-2: not all ranks of this host came to a barrier");
    take_down();
}

static void too_many_pairs_are_a_failure(void) {
    set_up();
    m.pmi.fresh.bytes = PMI_SPACE_BYTES_MAX;
    put(1, "a", "1");
    CU_ASSERT_EQUAL(failures, 1);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-2: PMI: more than");
    m.pmi.fresh.bytes = 0;
    take_down();
}

/* Its ranks have mpirun. */
static void ranks_of_mpirun_exchange_nothing(void) {
    set_up();
    m.attempt.direct = false;
    put(0, "a", "1");
    pmi_exchange_barrier(&members[0]);
    pmi_exchange_barrier(&members[1]);
    CU_ASSERT(m.pmi.fresh.count == 0 && !members[0].in_barrier && !m.pmi.deadline.active);
    take_down();
}

UNIT_SUITE("master.pmi_exchange", UNIT(a_barrier_is_passed_when_all_hosts_are_in_it),
           UNIT(a_barrier_that_lasts_too_long_is_a_failure), UNIT(too_many_pairs_are_a_failure),
           UNIT(ranks_of_mpirun_exchange_nothing))
