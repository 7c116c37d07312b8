#include "entrypoint/host/worker/master_lease.h"

#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <sys/socket.h>
#include <unistd.h>

static int64_t lease_over, late_at;

static void note_lease(void *context) {
    (void)context;
    lease_over = clock_now();
}

static void note_late(void *context) {
    struct worker *w = context;
    late_at = clock_boot();
    loop_end(&w->s.loop);
}

/* As the worker does with a heartbeat. */
static void hear_beat(struct worker *w) {
    CU_ASSERT_FALSE(master_lease_is_over(w));
    master_lease_begin(w);
    master_lease_beat(w);
}

/* The loop's timer ends the lease; the one that counts sleep of the machine, too, does so a moment
 * after it, when another master may act. */
static void a_heartbeat_begins_a_lease_anew(void) {
    static struct cluster_host three[3] = {{.slots = 1}, {.slots = 1}, {.slots = 1}};
    for (int64_t dead = 5; dead <= 60; dead += 55) {
        struct job job = {.settings = {.failover = true, .dead_seconds = dead},
                          .cluster = {.hosts = three, .count = 3, .self = 1}};
        struct role_state role_state;
        struct worker w = {.s = {.job = &job, .role_state = &role_state}, .joined = true};
        int ends[2];
        held_clock_begin();
        w.lease = (struct timer){.fire = note_lease, .context = &w};
        CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(loop_init(&w.s.loop, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(boot_timer_open(&w.late, &w.s.loop, note_late, &w, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        w.link = link_new(&w.s.loop, ends[0], NULL, false, &quiet_link, NULL, NULL);
        hear_beat(&w);
        held_clock_pass(dead * CLOCK_SECOND); /* the last moment that is in time */
        hear_beat(&w);
        CU_ASSERT_PTR_NOT_NULL(w.link);
        const int64_t heard = clock_now();
        const int64_t heard_boot = clock_boot();
        CU_ASSERT_EQUAL(role_state.heard, heard_boot);
        CU_ASSERT_EQUAL(loop_run(&w.s.loop, NULL), 0);
        CU_ASSERT_EQUAL(lease_over, heard + dead * CLOCK_SECOND);
        CU_ASSERT_EQUAL(late_at, heard_boot + dead * CLOCK_SECOND + 1);
        loop_cancel(&w.s.loop, &w.lease);
        boot_timer_close(&w.late);
        link_free(w.link);
        (void)close(ends[1]);
        loop_done(&w.s.loop);
        role_state_close(&role_state);
        held_clock_end();
    }
}

/* A message that comes a moment after the lease finds that others may act by now. */
static void after_a_lease_messages_come_too_late(void) {
    struct job job = {.settings = {.failover = true, .dead_seconds = 5}};
    struct role_state role_state = {.on = true};
    struct worker w = {.s = {.job = &job, .role_state = &role_state}};
    held_clock_begin();
    role_state.heard = clock_boot();
    held_clock_pass(5 * CLOCK_SECOND);
    w.joined = true;
    CU_ASSERT_FALSE(master_lease_is_over(&w));
    held_clock_pass(1);
    CU_ASSERT_TRUE(master_lease_is_over(&w));
    w.joined = false; /* no master has admitted it, so there is no lease */
    CU_ASSERT_FALSE(master_lease_is_over(&w));
    w.joined = w.s.judged = true;
    CU_ASSERT_FALSE(master_lease_is_over(&w));
    held_clock_end();
}

UNIT_SUITE("host.master_lease", UNIT(a_heartbeat_begins_a_lease_anew),
           UNIT(after_a_lease_messages_come_too_late))
