#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/comm/work_queue.h"

static int64_t soon(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

/* The other side: adds each work's count to a total, in order, and fails at a count of 13. */
struct worker {
    struct work_queue queue;
    pthread_t thread;
    size_t seen[3 * WORK_QUEUE_MAX];
    size_t count;
};

static void *work_off(void *argument) {
    struct worker *w = argument;
    struct work work;
    while (work_queue_take(&w->queue, &work)) {
        if (work.count == 13) {
            struct error err = {0};
            (void)error_set(&err, EXIT_CODE_INTERNAL, "thirteen");
            work_queue_fail(&w->queue, &err);
            break;
        }
        w->seen[w->count++] = work.count;
        work_queue_finish(&w->queue);
    }
    return NULL;
}

static void start(struct worker *w) {
    *w = (struct worker){.count = 0};
    CU_ASSERT_EQUAL_FATAL(work_queue_init(&w->queue, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&w->thread, NULL, work_off, w), 0);
}

static void stop(struct worker *w) {
    work_queue_close(&w->queue);
    CU_ASSERT_EQUAL(pthread_join(w->thread, NULL), 0);
    work_queue_done(&w->queue);
}

static void works_are_done_in_order_however_many(void) {
    static struct worker w;
    start(&w);
    uint64_t ticket = 0;
    enum { MANY = 3 * WORK_QUEUE_MAX };
    for (size_t i = 0; i < MANY; i++) {
        struct work work = {.kind = WORK_SUM, .count = 1000 + i};
        CU_ASSERT_EQUAL_FATAL(work_queue_post(&w.queue, &work, soon(), &ticket, NULL), 0);
        CU_ASSERT_EQUAL(ticket, i + 1);
    }
    CU_ASSERT_EQUAL(work_queue_wait(&w.queue, ticket, soon(), NULL), 0);
    CU_ASSERT_EQUAL(w.count, MANY);
    for (size_t i = 0; i < MANY; i++)
        CU_ASSERT_EQUAL(w.seen[i], 1000 + i);
    stop(&w);
}

static void a_failure_reaches_every_wait_and_post_behind_it(void) {
    static struct worker w;
    start(&w);
    uint64_t good = 0;
    uint64_t bad = 0;
    struct work fine = {.kind = WORK_SUM, .count = 1};
    struct work unlucky = {.kind = WORK_SUM, .count = 13};
    CU_ASSERT_EQUAL(work_queue_post(&w.queue, &fine, soon(), &good, NULL), 0);
    CU_ASSERT_EQUAL(work_queue_post(&w.queue, &unlucky, soon(), &bad, NULL), 0);
    struct error err = {0};
    CU_ASSERT_EQUAL(work_queue_wait(&w.queue, bad, soon(), &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "thirteen");
    CU_ASSERT_EQUAL(work_queue_wait(&w.queue, good, soon(), NULL), 0);
    CU_ASSERT_EQUAL(work_queue_post(&w.queue, &fine, soon(), &bad, NULL), -1);
    stop(&w);
}

static void nobody_waits_longer_than_the_deadline(void) {
    struct work_queue q;
    CU_ASSERT_EQUAL_FATAL(work_queue_init(&q, NULL), 0);
    uint64_t ticket = 0;
    struct work work = {.kind = WORK_BARRIER};
    for (int i = 0; i < WORK_QUEUE_MAX; i++)
        CU_ASSERT_EQUAL(work_queue_post(&q, &work, soon(), &ticket, NULL), 0);
    struct error err = {0};
    int64_t short_time = clock_now() + 20 * CLOCK_MILLISECOND;
    CU_ASSERT_EQUAL(work_queue_wait(&q, ticket, short_time, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(work_queue_post(&q, &work, short_time, &ticket, &err), -1);
    ASSERT_CONTAINS(err.text, "queue full");
    work_queue_done(&q);
}

static void a_closed_queue_finishes_what_it_has_and_takes_no_more(void) {
    struct work_queue q;
    CU_ASSERT_EQUAL_FATAL(work_queue_init(&q, NULL), 0);
    uint64_t ticket = 0;
    struct work work = {.kind = WORK_GATHER, .count = 5};
    CU_ASSERT_EQUAL(work_queue_post(&q, &work, soon(), &ticket, NULL), 0);
    work_queue_close(&q);
    CU_ASSERT_EQUAL(work_queue_post(&q, &work, soon(), &ticket, NULL), -1);
    struct work got = {0};
    CU_ASSERT(work_queue_take(&q, &got) && got.count == 5);
    work_queue_finish(&q);
    CU_ASSERT_FALSE(work_queue_take(&q, &got));
    work_queue_done(&q);
}

static void *leave(void *argument) {
    work_queue_leave(argument);
    return NULL;
}

static void the_end_of_the_thread_is_awaited(void) {
    struct work_queue q;
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(work_queue_init(&q, NULL), 0);
    CU_ASSERT_FALSE(work_queue_await_leave(&q, clock_now()));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, leave, &q), 0);
    CU_ASSERT(work_queue_await_leave(&q, soon()));
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    work_queue_done(&q);
}

UNIT_SUITE("comm.work_queue", UNIT(works_are_done_in_order_however_many),
           UNIT(a_failure_reaches_every_wait_and_post_behind_it),
           UNIT(nobody_waits_longer_than_the_deadline),
           UNIT(a_closed_queue_finishes_what_it_has_and_takes_no_more),
           UNIT(the_end_of_the_thread_is_awaited))
