#include "entrypoint/host/failover/master_loss.h"

#include "tests/support/unit.h"

#include <stdio.h>

enum { HOSTS = 3 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct role_state s;

/* A host of three in the middle of attempt 1. */
static const struct master_loss at_work = {.begun = true, .joined = true, .ordered = true};

static void set_up(bool failover) {
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
    }
    job = (struct job){
        .settings = {.failover = failover, .shrink = true, .restarts = 3, .dead_seconds = 10},
        .cluster = {.hosts = hosts, .count = HOSTS, .self = 2}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&s, &job, NULL), 0);
    s.begun = failover;
}

static bool lives_on(struct master_loss loss) {
    const char *why = NULL;
    bool lives = master_loss_may_follow(&loss, &s, &job, &why);
    CU_ASSERT_PTR_NOT_NULL(why);
    return lives;
}

static void it_follows_the_next_host_where_it_may(void) {
    set_up(true);
    s.back = true; /* it had been taken back before */
    CU_ASSERT(lives_on(at_work));
    CU_ASSERT_FALSE(s.back);
    role_state_close(&s);
}

static void else_it_asks_to_be_taken_back(void) {
    set_up(false);
    CU_ASSERT(lives_on(at_work));
    CU_ASSERT(s.back);
    role_state_close(&s);
}

/* Its master knows the reason, and goes on without it. */
static void unfit_for_another_attempt_it_leaves(void) {
    for (int failover = 0; failover < 2; failover++) {
        struct error unfit = {0};
        struct error err = {0};
        struct master_loss loss = at_work;
        (void)error_set(&unfit, EXIT_CODE_DEVICE, "GPU A is gone");
        loss.unfit = &unfit;
        set_up(failover != 0);
        CU_ASSERT_FALSE(lives_on(loss));
        master_loss_error(&loss, &s, &job, "its link has closed", "", &err);
        CU_ASSERT_EQUAL((int)err.code, EXIT_CODE_DEVICE);
        CU_ASSERT_STRING_EQUAL(err.text, "GPU A is gone; this host leaves the job");
        role_state_close(&s);
    }
}

/* It has no part in an attempt, and others may have followed its former master. */
static void who_waits_follows_nobody(void) {
    set_up(true);
    struct master_loss loss = at_work;
    loss.waits = true;
    CU_ASSERT(lives_on(loss));
    CU_ASSERT(s.back);
    role_state_close(&s);
}

/* A later life fetches nothing, and begins no job. */
static void without_a_job_that_has_begun_it_leaves(void) {
    set_up(false);
    struct master_loss loss = at_work;
    loss.ordered = false;
    CU_ASSERT_FALSE(lives_on(loss));
    loss.waits = true;
    CU_ASSERT(lives_on(loss));
    loss.begun = false;
    CU_ASSERT_FALSE(lives_on(loss));
    role_state_close(&s);
}

/* With failover or without: no view is committed, so that there is nobody to follow and nothing to
 * come back to. */
static void before_the_first_attempt_it_leaves_at_once(void) {
    for (int failover = 0; failover < 2; failover++) {
        const char *why = "";
        struct error err;
        struct master_loss loss = at_work;
        set_up(failover != 0);
        s.begun = loss.ordered = false;
        CU_ASSERT_FALSE(master_loss_may_follow(&loss, &s, &job, &why));
        master_loss_error(&loss, &s, &job, "its link closed", why, &err);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
        CU_ASSERT_STRING_EQUAL(err.text,
                               "the master is lost: its link closed; the job had not begun here");
        role_state_close(&s);
    }
}

static void a_host_whose_ranks_were_ordered_to_stop_leaves(void) {
    const char *why = "";
    struct error err;
    set_up(true);
    struct master_loss loss = at_work;
    loss.stopping = true;
    CU_ASSERT_FALSE(master_loss_may_follow(&loss, &s, &job, &why));
    master_loss_error(&loss, &s, &job, "no word", why, &err);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(err.text, "the master is lost: no word");
    role_state_close(&s);
}

/* The lost master may never have received the request, so that the other hosts would go on. */
static void a_stop_request_follows_to_the_next_master(void) {
    const char *why = "";
    struct master_loss loss = at_work;
    loss.stop_requested = true;
    set_up(true);
    CU_ASSERT(master_loss_may_follow(&loss, &s, &job, &why));
    CU_ASSERT(s.stopping);
    CU_ASSERT_FALSE(s.back);
    role_state_close(&s);
}

static void a_stopped_host_does_not_ask_to_be_readmitted(void) {
    const char *why = "";
    struct master_loss loss = at_work;
    set_up(false);
    CU_ASSERT(master_loss_may_follow(&loss, &s, &job, &why));
    CU_ASSERT_FALSE(s.stopping);
    role_state_close(&s);
    loss.stop_requested = true;
    set_up(false);
    CU_ASSERT_FALSE(master_loss_may_follow(&loss, &s, &job, &why));
    CU_ASSERT_FALSE(s.stopping);
    role_state_close(&s);
}

static void no_restarts_are_no_other_life(void) {
    const char *why = "";
    struct error err;
    set_up(true);
    job.settings.restarts = 0;
    CU_ASSERT_FALSE(master_loss_may_follow(&at_work, &s, &job, &why));
    master_loss_error(&at_work, &s, &job, "no word", why, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "the master is lost: no word; no restarts are left");
    role_state_close(&s);
}

/* It has asked for as long as it may, of any master. */
static void who_has_looked_in_vain_leaves(void) {
    struct error err;
    for (int failover = 0; failover < 2; failover++) {
        set_up(failover != 0);
        struct master_loss loss = at_work;
        s.again = s.back = true;
        loss.joined = loss.ordered = false;
        CU_ASSERT_FALSE(lives_on(loss));
        CU_ASSERT(s.back);
        master_loss_error(&loss, &s, &job, "refused", "", &err);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
        CU_ASSERT_STRING_EQUAL(err.text,
                               "this host was lost and found no master within 60 s: refused");
        loss.joined = loss.waits = true; /* it had found one, and that is lost, too */
        CU_ASSERT(lives_on(loss));
        role_state_close(&s);
    }
}

static void who_finds_nobody_there_says_so(void) {
    struct error err;
    struct master_loss loss = at_work;
    set_up(false);
    s.again = s.back = true;
    loss.joined = loss.ordered = false;
    loss.absent = true;
    CU_ASSERT_FALSE(lives_on(loss));
    master_loss_error(&loss, &s, &job, "refused", "", &err);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(
        err.text, "the master is lost, and nothing listens at its address any more: refused");
    role_state_close(&s);
}

UNIT_SUITE("host.master_loss", UNIT(it_follows_the_next_host_where_it_may),
           UNIT(unfit_for_another_attempt_it_leaves), UNIT(else_it_asks_to_be_taken_back),
           UNIT(who_waits_follows_nobody), UNIT(without_a_job_that_has_begun_it_leaves),
           UNIT(before_the_first_attempt_it_leaves_at_once),
           UNIT(a_host_whose_ranks_were_ordered_to_stop_leaves),
           UNIT(a_stop_request_follows_to_the_next_master),
           UNIT(a_stopped_host_does_not_ask_to_be_readmitted), UNIT(no_restarts_are_no_other_life),
           UNIT(who_has_looked_in_vain_leaves), UNIT(who_finds_nobody_there_says_so))
