#include "trainer/checkpoint/writer.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <semaphore.h>
#include <signal.h>

/* An order that stays at its work until the test lets it go. */
struct gate {
    sem_t entered, open;
    bool fails;
    int runs;
    sigset_t mask;
};

static void gate_init(struct gate *g, bool fails) {
    *g = (struct gate){.fails = fails};
    CU_ASSERT_EQUAL_FATAL(sem_init(&g->entered, 0, 0), 0);
    CU_ASSERT_EQUAL_FATAL(sem_init(&g->open, 0, 0), 0);
}

static void gate_done(struct gate *g) {
    (void)sem_destroy(&g->entered);
    (void)sem_destroy(&g->open);
}

static int pass_gate(void *user, struct error *err) {
    struct gate *g = user;
    g->runs++;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &g->mask);
    (void)sem_post(&g->entered);
    while (sem_wait(&g->open) != 0) {
    }
    return g->fails ? error_set(err, EXIT_CODE_CONFIG, "the disk is full") : 0;
}

static int64_t in_a_minute(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

static void an_outcome_is_reported_once(void) {
    struct writer w;
    struct gate g;
    struct error err = {0};
    gate_init(&g, false);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, &err), 0);
    CU_ASSERT_EQUAL(writer_poll(&w, &err), WRITER_IDLE);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_IDLE);
    for (int i = 1; i <= 3; i++) {
        CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, &err), 0);
        (void)sem_wait(&g.entered);
        CU_ASSERT_EQUAL(writer_poll(&w, &err), WRITER_WRITING);
        (void)sem_post(&g.open);
        CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_DONE);
        CU_ASSERT_EQUAL(g.runs, i);
        CU_ASSERT_EQUAL(writer_poll(&w, &err), WRITER_IDLE);
    }
    writer_close(&w);
    gate_done(&g);
}

static void a_failure_is_reported_once_and_the_next_order_is_taken(void) {
    struct writer w;
    struct gate g;
    struct error err = {0};
    gate_init(&g, true);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, &err), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, &err), 0);
    (void)sem_post(&g.open);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_FAILED);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "the disk is full");
    CU_ASSERT_EQUAL(writer_poll(&w, &err), WRITER_IDLE);
    g.fails = false;
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, &err), 0);
    (void)sem_post(&g.open);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_DONE);
    writer_close(&w);
    gate_done(&g);
}

static void there_are_never_two(void) {
    struct writer w;
    struct gate g, other;
    struct error err = {0};
    gate_init(&g, false);
    gate_init(&other, false);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, &err), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, &err), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &other, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    (void)sem_post(&g.open);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_DONE);
    CU_ASSERT_EQUAL(other.runs, 0);
    writer_close(&w);
    gate_done(&other);
    gate_done(&g);
}

static void a_drain_ends_at_its_deadline(void) {
    struct writer w;
    struct gate g;
    struct error err = {0};
    gate_init(&g, false);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, &err), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, &err), 0);
    CU_ASSERT_EQUAL(writer_drain(&w, clock_now() - 1, &err), WRITER_WRITING);
    CU_ASSERT_EQUAL(writer_drain(&w, clock_now() + 1000, &err), WRITER_WRITING);
    (void)sem_post(&g.open);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), &err), WRITER_DONE);
    writer_close(&w);
    gate_done(&g);
}

/* Signals are for the thread that trains. */
static void its_thread_takes_no_signals(void) {
    struct writer w;
    struct gate g;
    gate_init(&g, false);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, NULL), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, NULL), 0);
    (void)sem_post(&g.open);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), NULL), WRITER_DONE);
    CU_ASSERT(sigismember(&g.mask, SIGTERM) && sigismember(&g.mask, SIGINT));
    writer_close(&w);
    gate_done(&g);
}

static void closing_waits_for_the_order_and_a_closed_one_is_idle(void) {
    struct writer w = {0};
    struct gate g;
    gate_init(&g, false);
    writer_close(&w);
    CU_ASSERT_EQUAL(writer_poll(&w, NULL), WRITER_IDLE);
    CU_ASSERT_EQUAL(writer_drain(&w, in_a_minute(), NULL), WRITER_IDLE);
    CU_ASSERT_EQUAL_FATAL(writer_open(&w, NULL), 0);
    CU_ASSERT_EQUAL(writer_submit(&w, pass_gate, &g, NULL), 0);
    (void)sem_post(&g.open);
    writer_close(&w);
    CU_ASSERT_EQUAL(g.runs, 1);
    CU_ASSERT_FALSE(w.running);
    gate_done(&g);
}

UNIT_SUITE("checkpoint.writer", UNIT(an_outcome_is_reported_once),
           UNIT(a_failure_is_reported_once_and_the_next_order_is_taken), UNIT(there_are_never_two),
           UNIT(a_drain_ends_at_its_deadline), UNIT(its_thread_takes_no_signals),
           UNIT(closing_waits_for_the_order_and_a_closed_one_is_idle))
