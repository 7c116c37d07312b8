#include "entrypoint/os/boot_timer.h"

#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>

static struct loop loop;
static struct boot_timer timer;
static int fires;
static int64_t fired_at;

static void fire(void *context) {
    CU_ASSERT_PTR_EQUAL(context, &fires);
    fires++;
    fired_at = clock_boot();
    loop_end(&loop);
}

static void end(void *context) {
    loop_end(context);
}

/* Runs the loop until the timer fires, or for NANOSECONDS. */
static void run(int64_t nanoseconds) {
    struct timer last = {.fire = end, .context = &loop};
    loop_after(&loop, &last, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    loop_cancel(&loop, &last);
}

static void open_all(void) {
    held_clock_begin();
    fires = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(boot_timer_open(&timer, &loop, fire, &fires, NULL), 0);
}

static void close_all(void) {
    boot_timer_close(&timer);
    loop_done(&loop);
    held_clock_end();
}

static void it_fires_once_and_not_before_its_deadline(void) {
    open_all();
    int64_t deadline = clock_boot() + 3600 * CLOCK_SECOND + 1;
    boot_timer_set(&timer, deadline);
    run(3600 * CLOCK_SECOND); /* until one nanosecond before it */
    CU_ASSERT_EQUAL(fires, 0);
    run(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 1);
    CU_ASSERT_EQUAL(fired_at, deadline);
    run(7200 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 1);
    close_all();
}

/* The machine may have slept past the deadline. */
static void a_deadline_that_has_passed_fires_at_once(void) {
    open_all();
    int64_t now = clock_boot();
    boot_timer_set(&timer, now - 1);
    run(10 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 1);
    CU_ASSERT_EQUAL(fired_at, now);
    close_all();
}

static void it_is_put_off_and_taken_back(void) {
    open_all();
    boot_timer_set(&timer, clock_boot() + 20 * CLOCK_MILLISECOND);
    boot_timer_set(&timer, clock_boot() + 3600 * CLOCK_SECOND);
    run(3599 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 0);
    boot_timer_set(&timer, 1); /* it has passed, but has not fired yet */
    boot_timer_set(&timer, 0);
    run(7200 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 0);
    close_all();
}

/* No test can put the machine to sleep: this one checks that the timer uses the kernel's clock that
 * goes on during sleep. */
static void its_clock_goes_on_while_the_machine_sleeps(void) {
    char path[64];
    char line[128];
    int clock = -1;
    open_all();
    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", timer.watch.fd);
    FILE *info = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    while (fgets(line, sizeof(line), info) != NULL)
        (void)sscanf(line, "clockid: %d", &clock);
    (void)fclose(info);
    CU_ASSERT_EQUAL(clock, 7); /* CLOCK_BOOTTIME */
    close_all();
}

static void one_that_is_closed_does_nothing(void) {
    struct boot_timer none = {0};
    boot_timer_set(&none, 1);
    boot_timer_close(&none);
    open_all();
    boot_timer_set(&timer, 1);
    boot_timer_close(&timer);
    boot_timer_set(&timer, 1);
    run(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fires, 0);
    close_all();
}

UNIT_SUITE("os.boot_timer", UNIT(it_fires_once_and_not_before_its_deadline),
           UNIT(a_deadline_that_has_passed_fires_at_once), UNIT(it_is_put_off_and_taken_back),
           UNIT(its_clock_goes_on_while_the_machine_sleeps), UNIT(one_that_is_closed_does_nothing))
