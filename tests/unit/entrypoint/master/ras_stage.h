/* Master on a held clock, for tests of what NCCL's RAS says.
 *
 * It has two hosts with two ranks each, all of them running, and evidence that is gathered after
 * 60 s.
 *
 *     ras_stage_begin();
 *     ...                  ras_stage.master, .members, .raised and .asked are what a test looks at
 *     ras_stage_end(); */
#ifndef TESTS_UNIT_ENTRYPOINT_MASTER_RAS_STAGE_H
#define TESTS_UNIT_ENTRYPOINT_MASTER_RAS_STAGE_H

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/master/ras_child.h"
#include "entrypoint/master/ras_finding.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/wire/message.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct ras_stage {
    struct cluster_host hosts[2];
    struct job job;
    struct master master;
    struct member members[2];
    unsigned raised[EVENT_COUNT];
    unsigned asked; /* orders for this host that ask about processes */
} ras_stage;

static inline void ras_stage_count(struct master *master, const struct raised *what) {
    (void)master;
    ras_stage.raised[what->event]++;
}

static inline void ras_stage_hear(void *context, const json_t *message) {
    (void)context;
    ras_stage.asked += message_kind(message) == MESSAGE_PROCESSES;
}

static inline void ras_stage_begin(void) {
    struct ras_stage *s = &ras_stage;
    struct master *m = &s->master;
    held_clock_begin();
    *s = (struct ras_stage){0};
    for (size_t i = 0; i < 2; i++) {
        s->hosts[i] = (struct cluster_host){.slots = 2};
        (void)snprintf(s->hosts[i].name.text, sizeof(s->hosts[i].name.text), "algo-%zu", i + 1);
        s->members[i] = (struct member){.master = m, .index = i};
    }
    CU_ASSERT_TRUE(net_address_parse("10.0.0.2", &s->hosts[1].address));
    s->job = (struct job){.settings = {.evidence = true, .stall_seconds = 60, .stall_is_set = true},
                          .cluster = {.hosts = s->hosts, .count = 2}};
    *m = (struct master){.s = {.job = &s->job},
                         .phase = PHASE_RUNNING,
                         .members = s->members,
                         .raise = ras_stage_count};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m->s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m->to_self, &m->s.loop, ras_stage_hear, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m->attempt, 1, &s->job.cluster, NULL), 0);
    for (int64_t i = 0; i < 4; i++)
        (void)attempt_rank_started(&m->attempt, (size_t)i / 2, i);
    standing_open(m);
}

static inline void ras_stage_end(void) {
    struct master *m = &ras_stage.master;
    ras_child_end(m);
    standing_close(m);
    message_queue_done(&m->to_self);
    attempt_done(&m->attempt);
    loop_done(&m->s.loop);
    held_clock_end();
}

/* Host HOST answers which ranks its processes belong to: TEXT, a JSON object. */
static inline void ras_stage_answer(size_t host, const char *text) {
    cleanup_json json_t *message = json_loads(text, 0, NULL);
    ras_finding_answered(&ras_stage.members[host], message);
}

#endif
