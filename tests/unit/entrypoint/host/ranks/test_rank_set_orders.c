#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop loop;
static struct rank_set rank_set;
static struct rank_slot slots[2]; /* of ranks 4 and 5 */
static int shims[2];

static void open_set(void) {
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    rank_set = (struct rank_set){.slots = slots, .started = true};
    for (size_t i = 0; i < 2; i++) {
        int ends[2];
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        shims[i] = ends[1];
        slots[i] = (struct rank_slot){
            .rank_set = &rank_set, .rank = (unsigned)(4 + i), .next = i == 0 ? slots + 1 : NULL};
        slots[i].link = link_new(&loop, ends[0], NULL, false, &quiet_link, NULL, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(slots[i].link);
    }
}

static void close_set(void) {
    for (size_t i = 0; i < 2; i++) {
        link_free(slots[i].link);
        (void)close(shims[i]);
    }
    loop_done(&loop);
}

/* Returns true if the shim of slot I has been sent WORDS since the last call. */
static bool is_told(size_t i, const char *words) {
    char bytes[4096];
    if (slots[i].link != NULL)
        link_flush(slots[i].link);
    ssize_t got = recv(shims[i], bytes, sizeof(bytes), MSG_DONTWAIT);
    return got > 0 && memmem(bytes, (size_t)got, words, strlen(words)) != NULL;
}

static void a_user_signal_goes_to_programs_that_run(void) {
    open_set();
    slots[1].reported = true;
    CU_ASSERT_EQUAL(rank_set_signal(&rank_set, SIGUSR1), 1);
    CU_ASSERT_TRUE(is_told(0, "\"signal\""));
    CU_ASSERT_FALSE(is_told(1, "\"signal\""));
    rank_set.started = false;
    CU_ASSERT_EQUAL(rank_set_signal(&rank_set, SIGUSR1), 0);
    close_set();
}

static void a_stop_before_the_start_is_kept_for_it(void) {
    open_set();
    rank_set.started = false;
    rank_set_stop(&rank_set, SIGTERM);
    rank_set_warn(&rank_set, SIGUSR2, false);
    CU_ASSERT_FALSE(is_told(0, "\"stop\""));
    CU_ASSERT(rank_set.stopping && rank_set.stop_signal == SIGTERM);
    CU_ASSERT_EQUAL(rank_set.warning, SIGUSR2);
    rank_set.started = true;
    rank_set_stop(&rank_set, SIGTERM);
    CU_ASSERT(is_told(0, "\"stop\"") && is_told(1, "\"stop\""));
    close_set();
}

static void an_end_is_the_cause_of_what_follows(void) {
    open_set();
    rank_set_end(&rank_set);
    CU_ASSERT(is_told(0, "\"end\"") && is_told(1, "\"end\""));
    CU_ASSERT_EQUAL(slots[0].cause, RANK_CAUSE_TEARDOWN);
    rank_set_kill(&rank_set);
    CU_ASSERT(rank_set.killed && is_told(0, "\"kill\"") && is_told(1, "\"kill\""));
    close_set();
}

static void only_a_shim_that_has_reported_is_released(void) {
    open_set();
    rank_set_release(&rank_set, 4);
    CU_ASSERT_FALSE(is_told(0, "\"leave\""));
    slots[0].reported = true;
    rank_set_release(&rank_set, 4);
    CU_ASSERT_TRUE(is_told(0, "\"leave\""));
    rank_set_release(&rank_set, 7); /* no rank of this host */
    CU_ASSERT_FALSE(is_told(1, "\"leave\""));
    close_set();
}

/* A rank that has passed the barrier may enter the next one. */
static void all_pass_a_barrier_at_once(void) {
    open_set();
    slots[0].in_barrier = slots[1].in_barrier = true;
    rank_set_exchange(&rank_set, MESSAGE_PASSED, NULL);
    CU_ASSERT(is_told(0, "\"passed\"") && is_told(1, "\"passed\""));
    CU_ASSERT_FALSE(slots[0].in_barrier || slots[1].in_barrier);
    close_set();
}

UNIT_SUITE("host.rank_set_orders", UNIT(a_user_signal_goes_to_programs_that_run),
           UNIT(a_stop_before_the_start_is_kept_for_it), UNIT(an_end_is_the_cause_of_what_follows),
           UNIT(only_a_shim_that_has_reported_is_released), UNIT(all_pass_a_barrier_at_once))
