#include "entrypoint/master/members/fetch_wait.h"

#include "common/buf.h"
#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOSTS = 40, READY = 100 };

static struct cluster_host hosts[HOSTS];
static struct member members[HOSTS];
static struct job job;
static struct master master;

/* A link that is only looked at. */
static struct link *const a_link = (struct link *)members;

static void begin(size_t count) {
    memset(members, 0, sizeof(members));
    job = (struct job){.settings = {.ready_seconds = READY},
                       .cluster = {.hosts = hosts, .count = count}};
    master = (struct master){.s = {.job = &job}, .members = members};
    for (size_t i = 0; i < HOSTS; i++) {
        (void)snprintf(hosts[i].name.text, HOST_NAME_SIZE, "algo-%zu", i + 1);
        members[i].master = &master;
        members[i].index = i;
    }
    fetch_wait_open(&master);
}

static int64_t tell(struct member *b, uint64_t count, const char *text) {
    struct fetch_progress mark = {.count = count};
    (void)snprintf(mark.text, sizeof(mark.text), "%s", text);
    b->link = a_link;
    fetch_wait_receive(b, &mark);
    return b->fetching.since;
}

static void a_step_moves_the_hosts_own_time_alone(void) {
    int64_t due = 0;
    begin(3);
    for (size_t i = 0; i < 3; i++)
        members[i].fetching.since = (int64_t)(i + 1) * CLOCK_SECOND;
    CU_ASSERT_PTR_EQUAL(fetch_wait_first(&master, &due), &members[0]);
    CU_ASSERT_EQUAL(due, (1 + READY) * CLOCK_SECOND);
    CU_ASSERT(tell(&members[0], 1, "x") > 3 * CLOCK_SECOND);
    CU_ASSERT_PTR_EQUAL(fetch_wait_first(&master, &due), &members[1]);
    CU_ASSERT_EQUAL(due, (2 + READY) * CLOCK_SECOND);
    members[1].joined = true;
    members[2].pending_join = (json_t *)members;
    CU_ASSERT_PTR_EQUAL(fetch_wait_first(&master, &due), &members[0]);
    members[0].joined = true;
    CU_ASSERT_PTR_NULL(fetch_wait_first(&master, &due));
}

static void the_same_word_again_is_no_step(void) {
    begin(2);
    struct member *b = &members[1];
    (void)tell(b, 4, "x");
    b->fetching.since = 7;
    CU_ASSERT_EQUAL(tell(b, 4, "x"), 7);
    fetch_wait_left(b);
    CU_ASSERT_EQUAL(tell(b, 4, "x"), 7);
    CU_ASSERT(tell(b, 5, "x") > 7);
    b->fetching.since = 7;
    fetch_wait_left(b);
    CU_ASSERT(tell(b, 0, "") > 7); /* it was started again */
}

static void missing_and_busy_hosts_are_reported(void) {
    char text[FETCH_WAIT_NAMES_MAX];
    begin(4);
    (void)tell(&members[2], 0, "");
    (void)tell(&members[3], 1, "train: 1.0 of 2.0 MiB");
    CU_ASSERT_EQUAL(fetch_wait_missing(&master, text), 1);
    CU_ASSERT_STRING_EQUAL(text, " algo-2");
    CU_ASSERT_EQUAL(fetch_wait_busy(&master, text), 2);
    CU_ASSERT_STRING_EQUAL(text, " algo-3 algo-4 (train: 1.0 of 2.0 MiB)");
    members[3].pending_join = (json_t *)members;
    members[2].joined = true;
    CU_ASSERT_EQUAL(fetch_wait_busy(&master, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
}

static void as_many_names_as_have_room(void) {
    char text[FETCH_WAIT_NAMES_MAX];
    char longest[FETCH_PROGRESS_TEXT_SIZE];
    begin(HOSTS);
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 1; i < HOSTS; i++)
        (void)tell(&members[i], 1, longest);
    CU_ASSERT_EQUAL(fetch_wait_busy(&master, text), HOSTS - 1);
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 5, " more");
    ASSERT_CONTAINS(text, "algo-3 (");
    CU_ASSERT_PTR_NULL(strstr(text, "algo-5 ("));
}

/* Among a counted job's hosts 1 is above 3 and 4, which have real links here. */
static void counted_hosts_are_told_where_the_one_above_is(void) {
    struct loop loop;
    int pair[2];
    struct fetch_progress mark = {0};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    for (int order = 0; order < 3; order++) {
        char bytes[4096];
        CU_ASSERT_EQUAL_FATAL(
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
        begin(5);
        job.sources.count = 1;
        job.cluster.counted = true;
        job.settings.fetch_once = order < 2;
        members[3].link = link_new(&loop, pair[0], NULL, false, &quiet_link, NULL, NULL);
        CU_ASSERT_TRUE(net_address_parse("fd00::2", &members[1].address));
        if (order == 1)
            fetch_wait_receive(&members[3], &mark);
        members[1].link = a_link;
        fetch_wait_receive(&members[1], &mark);
        if (order != 1)
            fetch_wait_receive(&members[3], &mark);
        mark.count++;
        fetch_wait_receive(&members[3], &mark); /* once */
        fetch_wait_receive(&members[1], &mark);
        link_flush(members[3].link);
        ssize_t size = recv(pair[1], bytes, sizeof(bytes), 0);
        if (order == 2) {
            CU_ASSERT(size < 0);
        } else {
            cleanup_buf struct buf in;
            json_t *message = NULL;
            buf_init(&in, sizeof(bytes));
            CU_ASSERT_FATAL(size > 0);
            CU_ASSERT_EQUAL(buf_add(&in, bytes, (size_t)size, NULL), 0);
            CU_ASSERT_EQUAL_FATAL(frame_take(&in, &message, NULL), 1);
            CU_ASSERT_STRING_EQUAL(frame_type(message), "parent");
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "address")),
                                   "fd00::2");
            CU_ASSERT_EQUAL(in.size, 0); /* it was all */
            json_decref(message);
        }
        link_free(members[3].link);
        (void)close(pair[1]);
    }
    loop_done(&loop);
}

UNIT_SUITE("master.fetch_wait", UNIT(counted_hosts_are_told_where_the_one_above_is),
           UNIT(a_step_moves_the_hosts_own_time_alone), UNIT(the_same_word_again_is_no_step),
           UNIT(missing_and_busy_hosts_are_reported), UNIT(as_many_names_as_have_room))
