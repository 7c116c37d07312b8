/* What another host tells the master, in frames: the first byte is what the job is at ('r' ranks
 * run, 'p' hosts prove that they share a folder, 'e' a check, 'c' hosts are cleared, 'u' they
 * upload), then a list of messages as [host, message], or one of the second host. New connections
 * and joins are in fuzz_accept.c. Counts stay within the job, texts and lines within their room. */
#include "common/json/json.h"
#include "entrypoint/master/failover/shared_dir.h"
#include "entrypoint/master/master.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/preflight/preflight.h"
#include "entrypoint/master/ras_child.h"
#include "entrypoint/master/ras_finding.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/master/uploads.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 3 };

static struct cluster_host hosts[HOSTS];
static struct member members[HOSTS];
static struct job job;
static struct master m;
static unsigned raises;

static void count(struct master *master, const struct raised *what) {
    CHECK(master == &m && what->event < EVENT_COUNT);
    CHECK(what->member == NULL || what->member->index < HOSTS);
    raises++;
}

static void drop(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void open_master(enum phase phase) {
    struct error err;
    job = (struct job){.settings = {.dead_seconds = 10, .evidence = true},
                       .cluster = {.hosts = hosts, .count = HOSTS, .job = "job"}};
    m = (struct master){.s = {.job = &job},
                        .members = members,
                        .phase = phase,
                        .check = phase == PHASE_EXAMINING,
                        .raise = count};
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 2};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i, .joined = true};
        buf_init(&members[i].line, LINE_SPLITTER_MAX);
    }
    CHECK(loop_init(&m.s.loop, &err) == 0);
    console_init(&m.s.console, &m.s.loop, frames_nowhere());
    CHECK(message_queue_init(&m.to_self, &m.s.loop, drop, NULL, &err) == 0);
    CHECK(attempt_open(&m.attempt, 1, &job.cluster, &err) == 0);
    CHECK(preflight_open(&m, &err) == 0);
    shared_dir_init(&m);
    preflight_init(&m);
    relaunch_init(&m);
    uploads_init(&m);
    standing_open(&m);
    json_t *found =
        json_pack("{s:[[i, i, s], [i, i, s]]}", "late", 0, 71, "algo-1", 1, 72, "algo-2");
    ras_finding_take(&m, found); /* two hosts are asked about processes */
    json_decref(found);
}

static void close_master(void) {
    preflight_close(&m);
    shared_dir_close(&m);
    relaunch_close(&m);
    uploads_close(&m);
    ras_child_end(&m);
    standing_close(&m);
    loop_cancel(&m.s.loop, &m.collect.deadline);
    loop_cancel(&m.s.loop, &m.collect.end);
    for (size_t i = 0; i < HOSTS; i++)
        buf_done(&members[i].line);
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    console_done(&m.s.console);
    loop_done(&m.s.loop);
}

static void check_all(void) {
    const struct attempt *a = &m.attempt;
    CHECK(a->started_count <= a->ranks && a->report_count <= a->ranks &&
          a->ranks == (size_t)2 * HOSTS);
    for (size_t i = 0; i < a->report_count; i++)
        CHECK(a->reports[i].rank < a->ranks && a->reports[i].host < HOSTS);
    CHECK(memchr(a->stuck, '\0', sizeof(a->stuck)) != NULL && m.standing.waiting <= HOSTS);
    for (size_t i = 0; i < HOSTS; i++) {
        CHECK(memchr(members[i].word, '\0', sizeof(members[i].word)) != NULL);
        CHECK(members[i].line.size <= LINE_SPLITTER_MAX);
        CHECK(members[i].standing.still >= -1);
        CHECK(members[i].last_ack >= 0 && members[i].trip >= 0);
    }
}

static void tell(size_t host, const json_t *message) {
    if (!frames_heard("master", message))
        return;
    master_member_events.message(&members[host], message);
    check_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *told = NULL;
    if (size == 0 || json_parse((const char *)data + 1, size - 1, "words", &told, NULL) != 0)
        return 0;
    check_without_log();
    open_master(data[0] == 'p'   ? PHASE_PROBING
                : data[0] == 'e' ? PHASE_EXAMINING
                : data[0] == 'c' ? PHASE_CLEARING
                : data[0] == 'u' ? PHASE_UPLOADING
                                 : PHASE_RUNNING);
    if (json_is_object(told))
        tell(1, told);
    for (size_t i = 0; i < json_array_size(told) && i < 64; i++) {
        const json_t *pair = json_array_get(told, i);
        json_int_t host = json_integer_value(json_array_get(pair, 0));
        if (host >= 0 && host < HOSTS && json_is_object(json_array_get(pair, 1)))
            tell((size_t)host, json_array_get(pair, 1));
    }
    close_master();
    json_decref(told);
    return 0;
}
