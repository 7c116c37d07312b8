#include "tests/support/held_clock.h"

#include "common/clock.h"
#include "entrypoint/os/boot_timer.h"
#include "entrypoint/os/loop.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_held_clock_moves_by_what_is_passed_alone(void) {
    held_clock_begin();
    const int64_t now = clock_now();
    const int64_t boot = clock_boot();
    const int64_t wall = clock_wall();
    CU_ASSERT_EQUAL(clock_now(), now);
    const int64_t hour = 3600 * CLOCK_SECOND;
    held_clock_pass(hour + 7);
    CU_ASSERT_EQUAL(clock_now(), now + hour + 7);
    CU_ASSERT_EQUAL(clock_boot(), boot + hour + 7);
    CU_ASSERT_EQUAL(clock_wall(), wall + hour + 7);
    held_clock_end();
    CU_ASSERT(clock_now() < now + hour + 7);
    CU_ASSERT(clock_now() > now);
}

static int64_t fired;

static void fire(void *context) {
    fired = clock_now();
    loop_end(context);
}

static void a_loop_does_not_wait_for_its_timers(void) {
    struct loop loop;
    struct error err = {0};
    struct timer timer = {.fire = fire, .context = &loop};
    const int64_t begun = clock_now();
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    held_clock_begin();
    const int64_t now = clock_now();
    loop_after(&loop, &timer, 3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(fired, now + 3600 * CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT(clock_now() < begun + 3600 * CLOCK_SECOND);
    loop_done(&loop);
}

static int64_t read_at;

static void take(void *context, uint32_t events) {
    char byte;
    (void)events;
    read_at = clock_now();
    CU_ASSERT_EQUAL(read(*(int *)context, &byte, 1), 1);
}

static void what_can_be_read_is_read_before_time_passes(void) {
    int ends[2];
    struct loop loop;
    struct error err = {0};
    struct timer timer = {.fire = fire, .context = &loop};
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    struct watch watch = {.fd = ends[0], .ready = take, .context = &ends[0]};
    CU_ASSERT_EQUAL_FATAL(loop_watch(&loop, &watch, EPOLLIN, &err), 0);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    held_clock_begin();
    const int64_t now = clock_now();
    loop_after(&loop, &timer, CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(read_at, now);
    CU_ASSERT_EQUAL(fired, now + CLOCK_SECOND);
    held_clock_end();
    loop_unwatch(&loop, &watch);
    loop_done(&loop);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* One that is due before the loop's own, one after it, and one that a test lets pass. */
static void timers_of_the_kernel_follow_it(void) {
    struct loop loop;
    struct error err = {0};
    struct boot_timer boot;
    struct timer timer = {.fire = fire, .context = &loop};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(boot_timer_open(&boot, &loop, fire, &loop, &err), 0);
    held_clock_begin();
    const int64_t now = clock_now();
    loop_after(&loop, &timer, 2 * CLOCK_SECOND);
    boot_timer_set(&boot, clock_boot() + CLOCK_SECOND + 7);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(fired, now + CLOCK_SECOND + 7);
    boot_timer_set(&boot, clock_boot() + 2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_FALSE(timer.active);
    CU_ASSERT_EQUAL(fired, now + 2 * CLOCK_SECOND + 7); /* a loop waits for whole milliseconds */
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(fired, now + 3 * CLOCK_SECOND + 7);
    boot_timer_set(&boot, clock_boot() + CLOCK_SECOND);
    held_clock_pass(CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(fired, now + 4 * CLOCK_SECOND + 7);
    held_clock_end();
    boot_timer_close(&boot);
    loop_done(&loop);
}

static void poll_does_not_wait_either(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    held_clock_begin();
    const int64_t now = clock_now();
    CU_ASSERT_EQUAL(poll(&p, 1, 3600 * 1000), 0);
    CU_ASSERT_EQUAL(clock_now(), now + 3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    CU_ASSERT_EQUAL(poll(&p, 1, 3600 * 1000), 1);
    CU_ASSERT_EQUAL(poll(&p, 1, -1), 1);
    CU_ASSERT_EQUAL(clock_now(), now + 3600 * CLOCK_SECOND);
    held_clock_end();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* In real time, as the other one's clock is not held. */
static void answer_later(int fd) {
    const int64_t begun = clock_now();
    while (clock_now() - begun < 20 * CLOCK_MILLISECOND)
        ;
    _exit(write(fd, "x", 1) == 1 ? 0 : 1);
}

static void others_may_be_waited_for(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    pid_t other = fork();
    if (other == 0)
        answer_later(ends[1]);
    held_clock_begin();
    held_clock_await_others();
    const int64_t now = clock_now();
    CU_ASSERT_EQUAL(poll(&p, 1, 1), 1);
    CU_ASSERT_EQUAL(clock_now(), now);
    held_clock_end();
    CU_ASSERT_EQUAL(waitpid(other, NULL, 0), other);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

UNIT_SUITE("support.held_clock", UNIT(a_held_clock_moves_by_what_is_passed_alone),
           UNIT(a_loop_does_not_wait_for_its_timers),
           UNIT(what_can_be_read_is_read_before_time_passes), UNIT(timers_of_the_kernel_follow_it),
           UNIT(poll_does_not_wait_either), UNIT(others_may_be_waited_for))
