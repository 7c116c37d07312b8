#include "trainer/comm/comm_thread.h"

#include "common/clock.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/half_sum.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Two threads meet at the work queue. The caller's thread runs the functions of `driver` at the
 * end, which turn each call of comm.h into a struct work and post it. The communicating thread runs
 * carry_out, which takes works and hands them to the implementation (tcp/comm_tcp.c,
 * mpi/comm_mpi.c). All ranks post the same works in the same order, so their threads always meet in
 * the same work.
 *
 * Only sums, whole or in shares, are asynchronous for the caller: all other calls post a work and
 * wait for it. Communicators that a split made have no thread and no queue; they post to those of
 * `world`, which keeps one order over all of them.
 *
 * After a failure nothing is freed that the thread may still use. The process is about to end, and
 * memory that is kept does less harm than a thread that writes to freed memory. */

enum { END_DEADLINE_SECONDS = 60 }; /* for the thread to end after comm_close */

/* Call before the work counts as finished: the observer may change afterwards. Of a sum, the bytes
 * are those that travel, which are fewer than in memory for half precision. */
static void notify(const struct comm_observer *observer, const struct work *work, int64_t begun) {
    const bool sum = work->kind == WORK_SUM || work->shares != NULL;
    const size_t width = sum ? comm_type_sent(work->type) : 1;
    if (observer->done != NULL)
        observer->done(observer->user, work->kind, begun, clock_now(), work->count * width);
}

/* Carries out works until the queue is closed (returns 0) or one fails (-1). After that every call
 * of the caller's thread fails with the same error. The clock is read only if there is an observer.
 */
static int work_off(struct comm_thread *t, struct error *err) {
    struct work work;
    while (work_queue_take(&t->queue, &work)) {
        const struct comm_observer *observer = &t->base.observer;
        const int64_t begun = observer->done != NULL ? clock_now() : 0;
        if (t->works->perform(work.among, &work, err) != 0) {
            work_queue_fail(&t->queue, err);
            return -1;
        }
        notify(observer, &work, begun);
        work_queue_finish(&t->queue);
    }
    return 0;
}

/* The first posted work is a barrier: once it is finished, all ranks are there. A failure to join
 * fails the queue, and with it that barrier. `end` is called only after a successful `begin`. */
static void *carry_out(void *argument) {
    struct comm_thread *t = argument;
    struct error err = {0};
    if (t->works->begin(t, &err) != 0)
        work_queue_fail(&t->queue, &err);
    else
        t->works->end(t, work_off(t, &err) != 0);
    work_queue_leave(&t->queue);
    return NULL;
}

static int64_t deadline_in(int seconds) {
    return clock_now() + seconds * CLOCK_SECOND;
}

int64_t comm_thread_deadline(const struct comm_thread *t) {
    const int patience = t->base.patience;
    return deadline_in(patience > 0 ? patience : COMM_DEADLINE_SECONDS);
}

/* Called back by implementations from `perform`, for which the exchange X is the only thing that
 * differs between them. */
int comm_thread_share(const struct shares_exchange *x, const struct work *work, struct error *err) {
    if (work->kind == WORK_SUM)
        return half_sum(x, work->data, work->count, work->type, err);
    return work->kind == WORK_SHARE_SUM ? shares_sum(x, work->data, work->shares, err)
                                        : shares_spread(x, work->data, work->shares, err);
}

/* Posts WORK on behalf of C. Waits only while the queue is full. */
static int post(struct comm *c, struct work *work, uint64_t *ret_ticket, struct error *err) {
    struct comm_thread *t = (struct comm_thread *)c;
    work->among = t;
    return work_queue_post(&t->world->queue, work, comm_thread_deadline(t), ret_ticket, err);
}

/* A wait that misses its deadline is an error of this rank; the work itself continues. */
static int thread_wait(struct comm *c, uint64_t ticket, struct error *err) {
    struct comm_thread *t = (struct comm_thread *)c;
    return work_queue_wait(&t->world->queue, ticket, comm_thread_deadline(t), err);
}

/* For works that are not sums. WORK may live on the caller's stack: the queue keeps a copy, and
 * what it points to is used up on return, except after an error. */
static int post_and_wait(struct comm *c, struct work *work, struct error *err) {
    uint64_t ticket = 0;
    if (post(c, work, &ticket, err) != 0)
        return -1;
    return thread_wait(c, ticket, err);
}

static int thread_sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                            uint64_t *ret_ticket, struct error *err) {
    struct work work = {.kind = WORK_SUM, .data = values, .count = count, .type = type};
    return post(c, &work, ret_ticket, err);
}

/* COUNT, for the observer and for the check between ranks, is the size of all shares together. */
static int thread_shares_start(struct comm *c, enum work_kind kind, float *values,
                               const struct comm_shares *shares, uint64_t *ret_ticket,
                               struct error *err) {
    struct work work = {.kind = kind,
                        .data = values,
                        .count = shares->bounds[c->size] - shares->bounds[0],
                        .type = COMM_F32,
                        .shares = shares};
    return post(c, &work, ret_ticket, err);
}

static int thread_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    struct work work = {.kind = WORK_BROADCAST, .data = bytes, .count = size, .root = root};
    return post_and_wait(c, &work, err);
}

static int thread_gather(struct comm *c, const void *bytes, size_t size, void *all,
                         struct error *err) {
    struct work work = {.kind = WORK_GATHER, .input = bytes, .data = all, .count = size};
    return post_and_wait(c, &work, err);
}

/* COUNT is what this rank sends, as ranks need not send the same. */
static int thread_move(struct comm *c, const struct comm_part *parts, struct error *err) {
    struct work work = {.kind = WORK_MOVE, .input = parts};
    if (((struct comm_thread *)c)->works->socket == NULL)
        return comm_no_connections(c, err);
    for (int i = 0; i < c->size; i++)
        work.count += parts[i].out_size;
    return post_and_wait(c, &work, err);
}

static int thread_narrow(struct comm *c, const unsigned char *gone, struct error *err) {
    struct work work = {.kind = WORK_NARROW, .input = gone};
    if (((struct comm_thread *)c)->works->socket == NULL)
        return comm_no_connections(c, err);
    return post_and_wait(c, &work, err);
}

/* Answers from memory, without the thread: connections change only in a split or a narrowing. */
static int thread_socket(struct comm *c, int rank) {
    const struct comm_thread *t = (const struct comm_thread *)c;
    return t->works->socket != NULL ? t->works->socket(t, rank) : -1;
}

static int thread_barrier(struct comm *c, struct error *err) {
    struct work work = {.kind = WORK_BARRIER};
    return post_and_wait(c, &work, err);
}

/* Frees T once its thread has ended. If that hangs, the memory is kept until the process ends. T is
 * the whole implementation, of which it is the first member. */
static void release(struct comm_thread *t, int seconds) {
    if (!work_queue_await_leave(&t->queue, deadline_in(seconds))) {
        (void)pthread_detach(t->thread);
        return;
    }
    (void)pthread_join(t->thread, NULL);
    work_queue_done(&t->queue);
    free(t);
}

/* Makes a communicator that shares the thread. The thread fills it in; a size of 0 afterwards means
 * that this rank is in no group. */
static int thread_split(struct comm *c, int group, struct comm **ret, struct error *err) {
    struct comm_thread *t = (struct comm_thread *)c;
    struct comm_thread *made = calloc(1, t->works->size);
    if (made == NULL)
        return error_no_memory(err, "communicator");
    made->base.driver = c->driver;
    made->base.name = c->name;
    made->world = t->world;
    made->works = t->works;
    struct work work = {.kind = WORK_SPLIT, .data = made, .root = group};
    if (post_and_wait(c, &work, err) != 0)
        return -1; /* the thread may still write to it */
    *ret = made->base.size > 0 ? &made->base : NULL;
    if (*ret == NULL)
        free(made);
    return 0;
}

/* Frees a split communicator once the thread has released what is in it. After an error it is kept.
 */
static void close_group(struct comm_thread *t) {
    struct error ignored;
    struct work work = {.kind = WORK_RELEASE};
    if (post_and_wait(&t->base, &work, &ignored) == 0)
        free(t);
}

/* Closes a split communicator, or the one with the thread, after all works that were posted. */
static void thread_close(struct comm *c) {
    struct comm_thread *t = (struct comm_thread *)c;
    if (t->world != t) {
        close_group(t);
        return;
    }
    work_queue_close(&t->queue);
    release(t, END_DEADLINE_SECONDS);
}

/* The thread may be in a call that never returns, so nothing is joined or freed. */
static void thread_abort(struct comm *c) {
    struct comm_thread *t = (struct comm_thread *)c;
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_INTERNAL, "this rank has left the job");
    work_queue_fail(&t->world->queue, &err);
}

/* Signals stay with the caller's thread: all are blocked while the new thread is created, which
 * inherits that. */
static int start_thread(struct comm_thread *t, struct error *err) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int bad = pthread_create(&t->thread, NULL, carry_out, t);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "communication thread: %s", strerror(bad));
    return 0;
}

/* The implementation is filled in before the thread starts; from then on T belongs to both threads.
 * A failure to join releases T after a second at most, or keeps it if the thread hangs. */
int comm_thread_open(struct comm_thread *t, const struct comm_thread_works *works,
                     struct error *err) {
    static const struct comm_driver driver = {
        .split = thread_split,
        .close = thread_close,
        .abort = thread_abort,
        .sum_start = thread_sum_start,
        .shares_start = thread_shares_start,
        .wait = thread_wait,
        .broadcast = thread_broadcast,
        .gather = thread_gather,
        .barrier = thread_barrier,
        .move = thread_move,
        .socket = thread_socket,
        .narrow = thread_narrow,
    };
    t->base.driver = &driver;
    t->base.name = works->name;
    t->world = t;
    t->works = works;
    if (work_queue_init(&t->queue, err) != 0) {
        free(t);
        return -1;
    }
    if (start_thread(t, err) != 0) {
        work_queue_done(&t->queue);
        free(t);
        return -1;
    }
    /* Makes the caller wait for all ranks; see carry_out. */
    struct work hello = {.kind = WORK_BARRIER, .among = t};
    uint64_t ticket = 0;
    int64_t deadline = deadline_in(COMM_OPEN_SECONDS);
    if (work_queue_post(&t->queue, &hello, deadline, &ticket, err) != 0 ||
        work_queue_wait(&t->queue, ticket, deadline, err) != 0) {
        release(t, 1);
        return error_wrap(err, "joining the other ranks");
    }
    return 0;
}
