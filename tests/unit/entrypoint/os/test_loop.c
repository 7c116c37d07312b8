#include "entrypoint/os/loop.h"

#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct record {
    struct loop *loop;
    char order[8];
    size_t count;
    size_t enough;
};

static struct record *recording;

static void note(char what) {
    recording->order[recording->count++] = what;
    if (recording->count == recording->enough)
        loop_end(recording->loop);
}

static void fire(void *context) {
    note(*(const char *)context);
}

static void timers_fire_in_order_of_their_deadlines(void) {
    struct loop l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    struct record r = {.loop = &l, .enough = 3};
    recording = &r;
    char names[] = "abcx";
    struct timer a = {.fire = fire, .context = &names[0]};
    struct timer b = {.fire = fire, .context = &names[1]};
    struct timer c = {.fire = fire, .context = &names[2]};
    struct timer never = {.fire = fire, .context = &names[3]};
    int64_t start = clock_now();
    loop_at(&l, &c, start + 30 * CLOCK_MILLISECOND);
    loop_at(&l, &a, start + 10 * CLOCK_MILLISECOND);
    loop_at(&l, &never, start + 15 * CLOCK_MILLISECOND);
    loop_at(&l, &b, start + 60 * CLOCK_MILLISECOND);
    loop_at(&l, &b, start + 20 * CLOCK_MILLISECOND);
    loop_cancel(&l, &never);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_STRING_EQUAL(r.order, "abc");
    CU_ASSERT(clock_now() - start >= 30 * CLOCK_MILLISECOND);
    CU_ASSERT(!a.active && !b.active && !c.active);
    loop_done(&l);
}

struct pair {
    struct loop *loop;
    struct watch first;
    struct watch second;
    int calls;
};

static void take_out_both(void *context, uint32_t events) {
    struct pair *p = context;
    CU_ASSERT(events & EPOLLIN);
    p->calls++;
    loop_unwatch(p->loop, &p->first);
    loop_unwatch(p->loop, &p->second);
}

static void end(void *context) {
    loop_end(context);
}

static void a_callback_may_take_out_a_watch_that_is_ready_too(void) {
    struct loop l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    int one[2];
    int two[2];
    CU_ASSERT_EQUAL_FATAL(pipe(one) | pipe(two), 0);
    struct pair p = {.loop = &l};
    p.first = (struct watch){.fd = one[0], .ready = take_out_both, .context = &p};
    p.second = (struct watch){.fd = two[0], .ready = take_out_both, .context = &p};
    CU_ASSERT_EQUAL(loop_watch(&l, &p.first, EPOLLIN, &err), 0);
    CU_ASSERT_EQUAL(loop_watch(&l, &p.second, EPOLLIN, &err), 0);
    CU_ASSERT_EQUAL(write(one[1], "x", 1) + write(two[1], "x", 1), 2);
    struct timer last = {.fire = end, .context = &l};
    loop_after(&l, &last, 20 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_EQUAL(p.calls, 1);
    for (int i = 0; i < 2; i++) {
        (void)close(one[i]);
        (void)close(two[i]);
    }
    loop_done(&l);
}

struct late {
    struct loop *loop;
    struct watch watch;
    struct timer near;
};

static void add_near(void *context, uint32_t events) {
    struct late *late = context;
    (void)events;
    loop_unwatch(late->loop, &late->watch);
    loop_after(late->loop, &late->near, CLOCK_MILLISECOND);
}

/* An event sets it while the alarm is already set for a later deadline. */
static void a_nearer_deadline_moves_the_alarm(void) {
    struct loop l;
    struct error err;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err) | pipe(ends), 0);
    struct late late = {.loop = &l, .near = {.fire = end, .context = &l}};
    struct timer far = {.fire = end, .context = &l};
    late.watch = (struct watch){.fd = ends[0], .ready = add_near, .context = &late};
    loop_after(&l, &far, 3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_watch(&l, &late.watch, EPOLLIN, &err), 0);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    (void)alarm(60); /* the test must not take an hour */
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    (void)alarm(0);
    CU_ASSERT(far.active && !late.near.active);
    loop_cancel(&l, &far);
    (void)close(ends[0]);
    (void)close(ends[1]);
    loop_done(&l);
}

struct rider {
    struct loop *loop;
    struct timer loose;
    struct timer strict;
    int64_t fired;  /* when the loose timer fired */
    int64_t passed; /* when the strict timer fired */
    int fires;
};

static void ride(void *context) {
    struct rider *r = context;
    r->fired = clock_now();
    r->fires++;
    loop_end(r->loop);
}

static void pass(void *context) {
    struct rider *r = context;
    r->passed = clock_now();
}

/* First, the loop wakes for the loose timer alone; then another timer wakes it after more than half
 * of the time; finally, another timer wakes it too early. */
static void a_loose_timer_rides_along(void) {
    struct loop l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    struct rider r = {.loop = &l};
    r.loose = (struct timer){.fire = ride, .context = &r};
    r.strict = (struct timer){.fire = end, .context = &l};
    held_clock_begin();
    int64_t start = clock_now();
    loop_within(&l, &r.loose, 60 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_EQUAL(r.fired - start, 60 * CLOCK_MILLISECOND);
    start = clock_now();
    loop_within(&l, &r.loose, 2 * CLOCK_SECOND);
    r.strict = (struct timer){.fire = pass, .context = &r};
    loop_after(&l, &r.strict, 1050 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_EQUAL(r.passed - start, 1050 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(r.fired, r.passed); /* earlier than by itself */
    loop_within(&l, &r.loose, 3600 * CLOCK_SECOND);
    r.strict = (struct timer){.fire = end, .context = &l};
    loop_after(&l, &r.strict, 20 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT(r.loose.active && r.fires == 2);
    loop_cancel(&l, &r.loose);
    CU_ASSERT(!r.loose.active);
    held_clock_end();
    loop_done(&l);
}

static void count_signal(void *context, int number) {
    struct record *r = context;
    CU_ASSERT(number == SIGUSR1 || number == SIGTERM);
    r->count++;
    if (r->count == r->enough)
        loop_end(r->loop);
}

static void signals_come_as_events(void) {
    struct loop l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    struct record r = {.loop = &l, .enough = 2};
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGTERM);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&l, &set, count_signal, &r, &err), 0);
    (void)kill(getpid(), SIGUSR1);
    (void)kill(getpid(), SIGTERM);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_EQUAL(r.count, 2);
    loop_done(&l);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void rest(void *context) {
    const struct record *r = recording;
    note(*(const char *)context);
    loop_rest(r->loop, 60 * CLOCK_MILLISECOND);
}

static void see(void *context, uint32_t events) {
    (void)events;
    note(*(const char *)context);
}

/* Input on a descriptor is handled when the rest is over; timers fire in the meantime. */
static void a_loop_that_rests_lets_descriptors_wait(void) {
    struct loop l;
    struct error err;
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    struct record r = {.loop = &l, .enough = 3};
    recording = &r;
    char names[] = "rtd";
    struct timer resting = {.fire = rest, .context = &names[0]};
    struct timer timer = {.fire = fire, .context = &names[1]};
    struct watch watch = {.fd = fds[0], .ready = see, .context = &names[2]};
    held_clock_begin();
    int64_t start = clock_now();
    loop_at(&l, &resting, start);
    loop_after(&l, &timer, 20 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_watch(&l, &watch, EPOLLIN, &err), 0);
    resting.fire(resting.context);
    r.count = 0;
    CU_ASSERT_EQUAL(write(fds[1], "x", 1), 1);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT_STRING_EQUAL(r.order, "rtd");
    CU_ASSERT_EQUAL(clock_now() - start, 60 * CLOCK_MILLISECOND);
    held_clock_end();
    loop_done(&l);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void end_at_signal(void *context, int number) {
    (void)number;
    loop_end(context);
}

static void a_signal_ends_a_rest(void) {
    struct loop l;
    struct error err;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&l, &set, end_at_signal, &l, &err), 0);
    int64_t start = clock_now();
    loop_rest(&l, 120 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(raise(SIGUSR1), 0);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT(clock_now() - start < 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(l.rest, 0);
    loop_done(&l);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void an_unwatchable_descriptor_is_an_error(void) {
    struct loop l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    struct watch w = {.fd = 999};
    CU_ASSERT_EQUAL(loop_watch(&l, &w, EPOLLIN, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(!w.active);
    loop_unwatch(&l, &w);
    loop_done(&l);
}

static int lowest_free_descriptor(void) {
    int fd = dup(0);
    (void)close(fd);
    return fd;
}

static void a_loop_that_is_done_holds_no_descriptor(void) {
    struct loop l;
    struct error err;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    int before = lowest_free_descriptor();
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&l, &set, count_signal, NULL, &err), 0);
    CU_ASSERT_NOT_EQUAL(lowest_free_descriptor(), before);
    loop_done(&l);
    for (int fd = before; fd < before + 3; fd++)
        CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), -1);
    loop_done(&l);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A deadline that has passed, and bytes that can be read; a full stop cancels the deadline. */
struct spoken {
    struct loop *loop;
    struct watch watch;
    struct timer deadline;
    int heard;
    bool missed;
};

static void hear_word(void *context, uint32_t events) {
    struct spoken *s = context;
    char byte;
    (void)events;
    CU_ASSERT_EQUAL(read(s->watch.fd, &byte, 1), 1);
    s->heard++;
    if (byte == '.') {
        loop_cancel(s->loop, &s->deadline);
        loop_end(s->loop);
    }
}

static void miss(void *context) {
    struct spoken *s = context;
    s->missed = true;
    loop_end(s->loop);
}

static struct spoken speak(const char *words, int64_t ago) {
    struct loop l;
    struct error err;
    int ends[2];
    struct spoken s = {.loop = &l};
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], words, strlen(words)), (ssize_t)strlen(words));
    s.watch = (struct watch){.fd = ends[0], .ready = hear_word, .context = &s};
    s.deadline = (struct timer){.fire = miss, .context = &s};
    CU_ASSERT_EQUAL(loop_watch(&l, &s.watch, EPOLLIN, &err), 0);
    loop_at(&l, &s.deadline, clock_now() - ago);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    loop_unwatch(&l, &s.watch);
    loop_cancel(&l, &s.deadline);
    (void)close(ends[0]);
    (void)close(ends[1]);
    loop_done(&l);
    return s;
}

static void input_comes_before_deadlines_that_have_passed(void) {
    struct spoken s = speak("some words.", 5 * CLOCK_SECOND);
    CU_ASSERT_FALSE(s.missed);
    CU_ASSERT_EQUAL(s.heard, 11);
    s = speak("none that matters", 5 * CLOCK_SECOND);
    CU_ASSERT(s.missed);
    CU_ASSERT_EQUAL(s.heard, 17);
    s = speak("at this very moment.", 0);
    CU_ASSERT_FALSE(s.missed);
    CU_ASSERT_EQUAL(s.heard, 20);
}

static void hear_endless(void *context, uint32_t events) {
    struct spoken *s = context;
    (void)events;
    s->heard++;
}

static void endless_input_does_not_hold_up_a_deadline(void) {
    struct loop l;
    struct error err;
    int ends[2];
    struct spoken s = {.loop = &l};
    CU_ASSERT_EQUAL_FATAL(loop_init(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    s.watch = (struct watch){.fd = ends[0], .ready = hear_endless, .context = &s};
    s.deadline = (struct timer){.fire = miss, .context = &s};
    CU_ASSERT_EQUAL(loop_watch(&l, &s.watch, EPOLLIN, &err), 0);
    loop_at(&l, &s.deadline, clock_now() - 5 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&l, &err), 0);
    CU_ASSERT(s.missed && s.heard > 1);
    loop_unwatch(&l, &s.watch);
    (void)close(ends[0]);
    (void)close(ends[1]);
    loop_done(&l);
}

UNIT_SUITE("os.loop", UNIT(input_comes_before_deadlines_that_have_passed),
           UNIT(endless_input_does_not_hold_up_a_deadline),
           UNIT(a_loop_that_is_done_holds_no_descriptor),
           UNIT(timers_fire_in_order_of_their_deadlines), UNIT(a_nearer_deadline_moves_the_alarm),
           UNIT(a_loose_timer_rides_along), UNIT(a_callback_may_take_out_a_watch_that_is_ready_too),
           UNIT(a_loop_that_rests_lets_descriptors_wait), UNIT(a_signal_ends_a_rest),
           UNIT(signals_come_as_events), UNIT(an_unwatchable_descriptor_is_an_error))
