#include "entrypoint/master/verdict_delivery.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A master of three hosts after the end of its job; LINK_ENDS are the other ends of their links. */
enum { HOSTS = 3, LENGTH = 4 };
static struct cluster_host hosts[HOSTS];
static struct job job;
static struct member members[HOSTS];
static struct master m;
static int link_ends[HOSTS];

static bool nobody_is_there(void *state) {
    (void)state;
    return true;
}

static bool owes(void *state) {
    return verdict_delivery_is_owed(state);
}

static const struct role role = {.may_leave = nobody_is_there, .must_stay = owes};

static struct link *open_link(size_t host) {
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                          0);
    link_ends[host] = pair[1];
    return link_new(&m.s.loop, pair[0], NULL, true, &quiet_link, NULL, NULL);
}

static void open_stage(int code) {
    job = (struct job){.settings = {.dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = HOSTS, .job = "job"}};
    m = (struct master){.s = {.job = &job, .role = &role, .state = &m, .judged = true},
                        .members = members,
                        .phase = PHASE_JUDGED,
                        .verdict = {.code = code, .host = -1, .rank = -1}};
    (void)snprintf(m.s.host.run, sizeof(m.s.host.run), "0123456789abcdef");
    m.accept.events = &quiet_link;
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    for (size_t i = 0; i < HOSTS; i++) {
        (void)snprintf(hosts[i].name.text, HOST_NAME_SIZE, "algo-%zu", i + 1);
        members[i] =
            (struct member){.master = &m, .index = i, .joined = true, .heard = clock_now()};
        link_ends[i] = -1;
        members[i].link = i > 0 ? open_link(i) : NULL;
    }
}

static void drop(size_t host) {
    link_free(members[host].link);
    members[host].link = NULL;
    (void)close(link_ends[host]);
    link_ends[host] = -1;
}

static void close_stage(void) {
    for (size_t i = 1; i < HOSTS; i++)
        drop(i);
    loop_done(&m.s.loop);
}

static const char *heard_at(size_t host) {
    static char bytes[2048];
    memset(bytes, 0, sizeof(bytes));
    ssize_t got = recv(link_ends[host], bytes, sizeof(bytes) - 1, 0);
    return got > LENGTH ? bytes + LENGTH : "";
}

static void a_good_end_is_owed_until_all_have_acknowledged_it(void) {
    open_stage(EXIT_CODE_OK);
    verdict_delivery_begin(&m);
    ASSERT_CONTAINS(heard_at(1), "\"type\":\"verdict\"");
    ASSERT_CONTAINS(heard_at(2), "\"code\":0");
    CU_ASSERT(verdict_delivery_is_owed(&m));
    verdict_delivery_heard(&members[1]);
    CU_ASSERT(verdict_delivery_is_owed(&m));
    verdict_delivery_heard(&members[2]);
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    close_stage();
}

static void any_other_end_is_owed_to_nobody(void) {
    open_stage(42);
    verdict_delivery_begin(&m);
    ASSERT_CONTAINS(heard_at(1), "\"code\":42");
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    close_stage();
}

/* Its link is lost: it may come back for as long as it waits for this host. */
static void a_host_without_a_link_is_waited_for_until_its_lease_ends(void) {
    open_stage(EXIT_CODE_OK);
    verdict_delivery_heard(&members[2]);
    drop(1);
    CU_ASSERT(verdict_delivery_is_owed(&m));
    members[1].heard = clock_now() - 10 * CLOCK_SECOND;
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    members[1].heard = clock_now();
    members[1].lost = true;
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    members[1].lost = false;
    members[1].joined = false; /* of a check: it never came */
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    close_stage();
}

static json_t *knock(const char *run) {
    json_t *message = frame_new("join");
    (void)json_object_set_new(message, "succession", json_pack("{s:s}", "run", run));
    return message;
}

static void who_knocks_after_the_end_is_told_it(void) {
    cleanup_json json_t *ours = knock("0123456789abcdef");
    cleanup_json json_t *another = knock("fedcba9876543210");
    cleanup_json json_t *anew = frame_new("join");
    open_stage(EXIT_CODE_OK);
    CU_ASSERT(verdict_delivery_is_asked(&m, ours));
    CU_ASSERT_FALSE(verdict_delivery_is_asked(&m, another) || verdict_delivery_is_asked(&m, anew));
    m.s.judged = false; /* it gives way to another first host */
    CU_ASSERT_FALSE(verdict_delivery_is_asked(&m, ours));
    m.s.judged = true;
    m.phase = PHASE_RUNNING;
    CU_ASSERT_FALSE(verdict_delivery_is_asked(&m, ours));
    m.phase = PHASE_JUDGED;
    verdict_delivery_heard(&members[2]);
    (void)close(link_ends[1]); /* of the old link, which is half open */
    members[1].lost = true;
    verdict_delivery_meet(&members[1], open_link(1));
    ASSERT_CONTAINS(heard_at(1), "\"type\":\"verdict\"");
    CU_ASSERT(verdict_delivery_is_owed(&m));
    verdict_delivery_heard(&members[1]);
    CU_ASSERT_FALSE(verdict_delivery_is_owed(&m));
    close_stage();
}

/* A job that is stopped before all hosts have found their new master. */
static void a_host_that_has_not_come_yet_is_expected(void) {
    open_stage(EXIT_CODE_STOPPED);
    drop(1);
    verdict_delivery_begin(&m);
    CU_ASSERT_FALSE(verdict_delivery_is_expected(&m, 1));
    CU_ASSERT(verdict_delivery_is_expected(&m, 2));
    m.phase_before = PHASE_GATHERING;
    verdict_delivery_begin(&m);
    CU_ASSERT(verdict_delivery_is_expected(&m, 1));
    hosts[1].gone = true;
    CU_ASSERT_FALSE(verdict_delivery_is_expected(&m, 1));
    hosts[1].gone = false;
    verdict_delivery_heard(&members[1]);
    CU_ASSERT_FALSE(verdict_delivery_is_expected(&m, 1));
    close_stage();
}

UNIT_SUITE("master.verdict_delivery", UNIT(a_good_end_is_owed_until_all_have_acknowledged_it),
           UNIT(any_other_end_is_owed_to_nobody),
           UNIT(a_host_without_a_link_is_waited_for_until_its_lease_ends),
           UNIT(who_knocks_after_the_end_is_told_it),
           UNIT(a_host_that_has_not_come_yet_is_expected))
