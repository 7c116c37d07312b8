#include "master/fetching.h"

#include "common/clock.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

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
    fetching_open(&master);
}

static int64_t tell(struct member *b, uint64_t count, const char *text) {
    struct mark mark = {.count = count};
    (void)snprintf(mark.text, sizeof(mark.text), "%s", text);
    b->link = a_link;
    fetching_told(b, &mark);
    return b->fetching.since;
}

static void a_step_moves_the_hosts_own_time_alone(void) {
    int64_t due = 0;
    begin(3);
    for (size_t i = 0; i < 3; i++)
        members[i].fetching.since = (int64_t)(i + 1) * CLOCK_SECOND;
    CU_ASSERT_PTR_EQUAL(fetching_first(&master, &due), &members[0]);
    CU_ASSERT_EQUAL(due, (1 + READY) * CLOCK_SECOND);
    CU_ASSERT(tell(&members[0], 1, "x") > 3 * CLOCK_SECOND);
    CU_ASSERT_PTR_EQUAL(fetching_first(&master, &due), &members[1]);
    CU_ASSERT_EQUAL(due, (2 + READY) * CLOCK_SECOND);
    members[1].joined = true;
    members[2].asks = (json_t *)members;
    CU_ASSERT_PTR_EQUAL(fetching_first(&master, &due), &members[0]);
    members[0].joined = true;
    CU_ASSERT_PTR_NULL(fetching_first(&master, &due));
}

static void the_same_word_again_is_no_step(void) {
    begin(2);
    struct member *b = &members[1];
    (void)tell(b, 4, "x");
    b->fetching.since = 7;
    CU_ASSERT_EQUAL(tell(b, 4, "x"), 7);
    fetching_left(b);
    CU_ASSERT_EQUAL(tell(b, 4, "x"), 7);
    CU_ASSERT(tell(b, 5, "x") > 7);
    b->fetching.since = 7;
    fetching_left(b);
    CU_ASSERT(tell(b, 0, "") > 7); /* it was started again */
}

static void who_is_missing_and_who_is_busy_is_told(void) {
    char text[FETCHING_NAMES_MAX];
    begin(4);
    (void)tell(&members[2], 0, "");
    (void)tell(&members[3], 1, "train: 1.0 of 2.0 MiB");
    CU_ASSERT_EQUAL(fetching_missing(&master, text), 1);
    CU_ASSERT_STRING_EQUAL(text, " algo-2");
    CU_ASSERT_EQUAL(fetching_busy(&master, text), 2);
    CU_ASSERT_STRING_EQUAL(text, " algo-3 algo-4 (train: 1.0 of 2.0 MiB)");
    members[3].asks = (json_t *)members;
    members[2].joined = true;
    CU_ASSERT_EQUAL(fetching_busy(&master, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
}

static void as_many_names_as_have_room(void) {
    char text[FETCHING_NAMES_MAX];
    char longest[MARK_TEXT_SIZE];
    begin(HOSTS);
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 1; i < HOSTS; i++)
        (void)tell(&members[i], 1, longest);
    CU_ASSERT_EQUAL(fetching_busy(&master, text), HOSTS - 1);
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 4, " ...");
    ASSERT_CONTAINS(text, "algo-3 (");
    CU_ASSERT_PTR_NULL(strstr(text, "algo-5 ("));
}

UNIT_MAIN("master.fetching", UNIT(a_step_moves_the_hosts_own_time_alone),
          UNIT(the_same_word_again_is_no_step), UNIT(who_is_missing_and_who_is_busy_is_told),
          UNIT(as_many_names_as_have_room))
