#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/master/state/state.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <string.h>

static struct cluster_host hosts[] = {{.name = {"algo-1"}}, {.name = {"algo-2"}}};
static struct job job = {.settings = {.dead_seconds = 10}, .cluster = {.hosts = hosts, .count = 2}};
static struct member members[2];
static struct master master = {.members = members, .attempt = {.number = 7}};
static int64_t delivered;
static struct raised last;
static char last_why[64];

static void deliver(void *context, const json_t *message) {
    (void)context;
    delivered = json_integer_value(json_object_get(message, "attempt"));
    loop_end(&master.s.loop);
}

static void keep(struct master *m, const struct raised *raised) {
    CU_ASSERT_PTR_EQUAL(m, &master);
    last = *raised;
    (void)snprintf(last_why, sizeof(last_why), "%s", raised->why != NULL ? raised->why : "");
}

static void set_up(void) {
    master.s.job = &job;
    master.raise = keep;
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &master, .index = i};
}

static void orders_carry_the_attempt_and_reach_our_own_host_by_post(void) {
    struct error err;
    set_up();
    CU_ASSERT_EQUAL_FATAL(loop_init(&master.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&master.to_self, &master.s.loop, deliver, NULL, &err),
                          0);
    master_send_all(&master, frame_new("stop")); /* the other host is not there */
    CU_ASSERT_EQUAL(delivered, 0);
    CU_ASSERT_EQUAL(loop_run(&master.s.loop, &err), 0);
    CU_ASSERT_EQUAL(delivered, 7);
    master_flush(&master);
    message_queue_done(&master.to_self);
    loop_done(&master.s.loop);
}

static void what_is_raised_says_whom_it_is_about(void) {
    set_up();
    master_raise_about(&members[1], EVENT_CLEANUP_FAILED, "late");
    CU_ASSERT(last.event == EVENT_CLEANUP_FAILED && last.member == &members[1]);
    CU_ASSERT_STRING_EQUAL(last_why, "late");
    CU_ASSERT_STRING_EQUAL(member_name(last.member), "algo-2");
    master_raise(&master, EVENT_ALL_HEARD);
    CU_ASSERT(last.event == EVENT_ALL_HEARD && last.member == NULL && last.why == NULL);
}

static void what_has_come_says_so_in_its_own_words(void) {
    set_up();
    cleanup_json json_t *join = frame_new("join");
    master_raise_word(&members[1], EVENT_PEER_ARRIVED, join);
    CU_ASSERT(last.event == EVENT_PEER_ARRIVED && last.member == &members[1] && last.word == join);
}

static void a_name_is_drawn_once(void) {
    char one[ATTEMPT_RUN_SIZE];
    char other[ATTEMPT_RUN_SIZE];
    struct error err;
    CU_ASSERT_EQUAL(master_draw_name(one, &err), 0);
    CU_ASSERT_EQUAL(master_draw_name(other, &err), 0);
    CU_ASSERT_EQUAL(strspn(one, "0123456789abcdef"), ATTEMPT_RUN_SIZE - 1);
    CU_ASSERT_EQUAL(strlen(other), ATTEMPT_RUN_SIZE - 1);
    CU_ASSERT_STRING_NOT_EQUAL(one, other);
}

static void who_is_lost_is_not_counted(void) {
    set_up();
    CU_ASSERT_EQUAL(master_hosts_left(&master), 2);
    members[1].lost = true;
    CU_ASSERT_EQUAL(master_hosts_left(&master), 1);
}

static void a_member_is_fresh_for_a_beat_and_a_second(void) {
    set_up();
    struct link *some = (struct link *)(void *)&master;
    members[1].link = some;
    member_heard(&members[1]);
    CU_ASSERT(member_is_fresh(&members[1]));
    members[1].heard = clock_now() - 4 * CLOCK_SECOND;
    CU_ASSERT_FALSE(member_is_fresh(&members[1]));
    member_heard(&members[1]);
    members[1].link = NULL;
    CU_ASSERT_FALSE(member_is_fresh(&members[1]));
}

static void a_process_at_another_address_is_another_host(void) {
    struct net_address other;
    set_up();
    CU_ASSERT(net_address_parse("10.0.0.1", &members[1].address));
    CU_ASSERT(net_address_parse("10.0.0.2", &other));
    CU_ASSERT(member_is_duplicate(&members[1], &other));
}

/* It was killed without a goodbye and is started anew. */
static void a_process_at_a_silent_members_address_is_that_member(void) {
    set_up();
    struct net_address same;
    CU_ASSERT(net_address_parse("10.0.0.1", &same));
    members[1].address = same;
    member_heard(&members[1]);
    members[1].heard--;
    CU_ASSERT_FALSE(member_is_duplicate(&members[1], &same));
    CU_ASSERT_FALSE(member_is_duplicate(&members[1], &same));
}

static void a_process_at_the_address_of_a_member_that_is_heard_meanwhile_is_another_host(void) {
    set_up();
    struct net_address same;
    CU_ASSERT(net_address_parse("10.0.0.1", &same));
    members[1].address = same;
    CU_ASSERT_FALSE(member_is_duplicate(&members[1], &same));
    members[1].heard = clock_now() + 1;
    CU_ASSERT(member_is_duplicate(&members[1], &same));
}

/* Its first life asked, too, and was taken in: that it was heard then shows nothing. */
static void what_was_heard_since_an_old_question_does_not_count(void) {
    set_up();
    struct net_address same;
    CU_ASSERT(net_address_parse("10.0.0.1", &same));
    members[1].address = same;
    members[1].claimed = members[1].claimed_last = clock_now() - 60 * CLOCK_SECOND;
    members[1].heard = clock_now() - CLOCK_SECOND;
    CU_ASSERT_FALSE(member_is_duplicate(&members[1], &same));
}

UNIT_SUITE("master.state", UNIT(orders_carry_the_attempt_and_reach_our_own_host_by_post),
           UNIT(what_is_raised_says_whom_it_is_about), UNIT(what_has_come_says_so_in_its_own_words),
           UNIT(a_name_is_drawn_once), UNIT(who_is_lost_is_not_counted),
           UNIT(a_member_is_fresh_for_a_beat_and_a_second),
           UNIT(a_process_at_another_address_is_another_host),
           UNIT(a_process_at_a_silent_members_address_is_that_member),
           UNIT(a_process_at_the_address_of_a_member_that_is_heard_meanwhile_is_another_host),
           UNIT(what_was_heard_since_an_old_question_does_not_count))
