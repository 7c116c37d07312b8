#include "entrypoint/transfer/http/exchange_pool.h"

#include "common/clock.h"

#include <string.h>

/* An exchange is in one of two lists. `waiting` is a queue of those that are new or in the pause
 * before another try; `running` are those that libcurl works on. A failed try goes to the end of
 * the queue, so that others come first.
 *
 * One turn of exchange_pool_run does some work aside, takes new work while there is room, and
 * starts what is due. It then lets libcurl run until something happens, a pause ends or a second is
 * over. The second bounds how late a signal's flag (give_up) and the progress are looked at.
 *
 * An owner's `ended` runs inside these functions. It may free its exchange, add others to the pool
 * and set `stop`; code here does not touch an exchange after that call. There are no threads. */

enum { TICK_MS = 1000 }; /* between two ticks, and at most in one wait */

/* Keeps as many connections open for reuse as exchanges can run at once. */
int exchange_pool_open(struct exchange_pool *p, const char *certificates, struct error *err) {
    *p = (struct exchange_pool){.certificates = certificates};
    p->waiting_end = &p->waiting;
    p->multi = curl_multi_init();
    if (p->multi == NULL)
        return error_no_memory(err, "requests");
    (void)curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)EXCHANGE_POOL_WIDTH);
    return 0;
}

/* E goes to the end of the queue. It is started by exchange_pool_run when there is room and its
 * time `again` has come; 0 is at once. */
void exchange_pool_add(struct exchange_pool *p, struct exchange *e) {
    e->next = NULL;
    *p->waiting_end = e;
    p->waiting_end = &e->next;
}

/* Takes the exchange at SLOT out of the queue. If it was the last one, its place is the new end. */
static struct exchange *take(struct exchange_pool *p, struct exchange **slot) {
    struct exchange *e = *slot;
    *slot = e->next;
    if (p->waiting_end == &e->next)
        p->waiting_end = slot;
    return e;
}

/* Exchanges in their pause count as well. A server that is down would otherwise cause more and more
 * files to be opened, each waiting for another try. */
bool exchange_pool_has_room(const struct exchange_pool *p) {
    size_t count = p->running_count;
    for (const struct exchange *e = p->waiting; e != NULL; e = e->next)
        count++;
    return count < EXCHANGE_POOL_WIDTH;
}

/* Ends E with success (FAILURE is NULL) or a failure, which gets its name. E may be freed. */
static void end(struct exchange *e, struct error *failure) {
    exchange_done(e);
    if (failure != NULL)
        (void)error_wrap(failure, "%s", e->name);
    e->events->ended(e->context, failure);
}

/* Reports the end of the time, and with it why the last try failed: that is the likely cause. */
static int fail_late(const struct error *last, struct error *err) {
    return error_set(err, EXIT_CODE_NOT_READY, "it did not finish in time%s%s",
                     last->code != 0 ? "; the last try: " : "", last->text);
}

/* The next one is read before the call that may free E. */
static void end_all(struct exchange *e) {
    while (e != NULL) {
        struct error err = {0};
        struct exchange *next = e->next;
        (void)fail_late(&e->last, &err);
        end(e, &err);
        e = next;
    }
}

/* The failure of the first exchange that has been tried and is not complete; code 0: none. */
static struct error last_failure(const struct exchange_pool *p) {
    const struct exchange *const lists[] = {p->running, p->waiting};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const struct exchange *e = lists[i]; e != NULL; e = e->next)
            if (e->last.code != 0)
                return e->last;
    return (struct error){0};
}

/* `closing` is set first: an owner that reacts to a failure with another way to fetch its file
 * (fetch/fetch_file.c) must not start it now. */
void exchange_pool_close(struct exchange_pool *p) {
    p->closing = true;
    end_all(p->running);
    end_all(p->waiting);
    curl_multi_cleanup(p->multi);
    *p = (struct exchange_pool){0};
}

/* Starts a try. A request that cannot be made at all is not repeated: the same would happen again.
 */
static void start(struct exchange_pool *p, struct exchange *e) {
    struct error err = {0};
    if (exchange_start(e, p->certificates, &err) != 0) {
        end(e, &err);
        return;
    }
    if (curl_multi_add_handle(p->multi, e->easy) != CURLM_OK) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "libcurl takes no more requests");
        end(e, &err);
        return;
    }
    e->next = p->running;
    p->running = e;
    p->running_count++;
}

/* The list has EXCHANGE_POOL_WIDTH entries at most, so it is searched. */
static void forget_running(struct exchange_pool *p, const struct exchange *e) {
    for (struct exchange **slot = &p->running; *slot != NULL; slot = &(*slot)->next) {
        if (*slot != e)
            continue;
        *slot = e->next;
        p->running_count--;
        return;
    }
}

/* Starts the exchanges after their pause. Returns when the next one ends, or INT64_MAX. A pause
 * that ends later does not hold up exchanges further down in the queue. */
static int64_t start_due(struct exchange_pool *p) {
    int64_t first = INT64_MAX;
    for (struct exchange **slot = &p->waiting;
         *slot != NULL && p->running_count < EXCHANGE_POOL_WIDTH;) {
        if ((*slot)->again > clock_now()) {
            first = (*slot)->again < first ? (*slot)->again : first;
            slot = &(*slot)->next;
            continue;
        }
        start(p, take(p, slot));
    }
    return first;
}

/* Handles a try that libcurl reports as done. The handle is removed only after exchange_finish,
 * which asks it for the status. It is freed with the exchange or at its next try. */
static void finish(struct exchange_pool *p, const CURLMsg *message) {
    struct exchange *e = NULL;
    struct error failure;
    CURLcode code = message->data.result;
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&e);
    enum exchange_end came = exchange_finish(e, code, &failure);
    (void)curl_multi_remove_handle(p->multi, e->easy);
    forget_running(p, e);
    if (came == EXCHANGE_ONCE_MORE) {
        e->last = failure;
        exchange_pool_add(p, e);
    } else
        end(e, came == EXCHANGE_DONE ? NULL : &failure);
}

/* The time of the next tick counts from this one: after a long block none are made up for. */
static void tick(struct exchange_pool *p) {
    if (p->tick == NULL || clock_now() < p->next_tick)
        return;
    p->next_tick = clock_now() + TICK_MS * CLOCK_MILLISECOND;
    p->tick(p->context);
}

/* Waits until UNTIL at most, or not at all while there is work aside (BUSY), and processes what
 * happened. */
static int turn(struct exchange_pool *p, int64_t until, bool busy, struct error *err) {
    int running = 0;
    int left = 0;
    int64_t wait = busy ? 0 : clock_left_ms(until);
    if (wait > TICK_MS)
        wait = TICK_MS;
    if (curl_multi_poll(p->multi, NULL, 0, (int)wait, NULL) != CURLM_OK ||
        curl_multi_perform(p->multi, &running) != CURLM_OK)
        return error_set(err, EXIT_CODE_INTERNAL, "libcurl cannot go on");
    for (const CURLMsg *m = NULL; (m = curl_multi_info_read(p->multi, &left)) != NULL;)
        if (m->msg == CURLMSG_DONE)
            finish(p, m);
    tick(p);
    return 0;
}

/* Work aside comes first and is counted as work: the pool is not done while blocks are left to
 * verify, even without any exchange. Exchanges that remain after an error are ended by
 * exchange_pool_close. */
int exchange_pool_run(struct exchange_pool *p, int64_t deadline, struct error *err) {
    for (;;) {
        bool busy = p->aside != NULL && p->aside(p->context);
        while (p->more != NULL && exchange_pool_has_room(p) && p->more(p->context))
            ;
        int64_t next = start_due(p);
        if ((p->running == NULL && p->waiting == NULL && !busy) || p->stop)
            return 0;
        if (clock_now() >= deadline || (p->give_up != NULL && *p->give_up != 0)) {
            const struct error last = last_failure(p);
            return fail_late(&last, err);
        }
        if (turn(p, next < deadline ? next : deadline, busy, err) != 0)
            return -1;
    }
}

/* The pool is the caller's, since its callbacks reach it (to add exchanges, or to set `stop`). It
 * is closed again in any case, and so every exchange has ended on return. */
int exchange_pool_work(struct exchange_pool *p, const struct exchange_pool_work *work,
                       struct error *err) {
    if (exchange_pool_open(p, work->certificates, err) != 0)
        return -1;
    p->more = work->more;
    p->tick = work->tick;
    p->context = work->context;
    p->give_up = work->give_up;
    int result = exchange_pool_run(p, work->deadline, err);
    if (result == 0 && p->stop)
        result = 1;
    exchange_pool_close(p);
    return result;
}

/* --- single request --------------------------------------------------------------------------- */

/* A single request and its answer, on the stack of exchange_pool_ask. */
struct asked {
    const struct question *question;
    struct exchange exchange;
    struct buf *body;
    size_t kept; /* size of the body before this request */
    struct answer *answer;
    struct error failure;
};

/* A repeated try begins the body anew, after what the caller had in it before. */
static int prepare(void *context, struct request *ret, struct error *err) {
    struct asked *a = context;
    a->body->size = a->kept;
    return a->question->prepare(a->question->context, ret, err);
}

/* An answer that is longer than the maximum of the body is an error, and final. */
static int bytes(void *context, const char *data, size_t size, struct error *err) {
    struct asked *a = context;
    return buf_add(a->body, data, size, err);
}

/* The words of an unsuccessful answer belong to the exchange, which frees them, and are not copied.
 */
static int complete(void *context, const struct answer *answer, struct error *err) {
    struct asked *a = context;
    (void)err;
    *a->answer = *answer;
    a->answer->words = (struct buf){0};
    return 0;
}

/* Without a rule of the caller any other status is final. */
static int refused(void *context, const struct answer *answer, struct error *err) {
    struct asked *a = context;
    if (a->question->refused == NULL)
        return -1;
    return a->question->refused(a->question->context, answer, err);
}

/* The pool lives on the stack of the caller, which looks at the failure after it has run. */
static void ended(void *context, const struct error *failure) {
    struct asked *a = context;
    if (failure != NULL)
        a->failure = *failure;
}

/* Makes a pool for one request. RET may be NULL. On failure BODY may hold a part of an answer. */
int exchange_pool_ask(const struct question *q, struct buf *body, struct answer *ret,
                      struct error *err) {
    static const struct exchange_events events = {.prepare = prepare,
                                                  .bytes = bytes,
                                                  .complete = complete,
                                                  .refused = refused,
                                                  .ended = ended};
    struct exchange_pool pool;
    struct answer unwanted;
    struct asked a = {
        .question = q, .body = body, .kept = body->size, .answer = ret != NULL ? ret : &unwanted};
    a.exchange = (struct exchange){.name = q->name,
                                   .events = &events,
                                   .context = &a,
                                   .tries = q->tries,
                                   .silence = q->silence};
    if (exchange_pool_open(&pool, q->certificates, err) != 0)
        return -1;
    pool.give_up = q->give_up;
    exchange_pool_add(&pool, &a.exchange);
    int result = exchange_pool_run(&pool, clock_now() + q->seconds * CLOCK_SECOND, err);
    if (result != 0)
        (void)error_wrap(err, "%s", q->name);
    exchange_pool_close(&pool);
    if (result == 0 && a.failure.code != 0) {
        if (err != NULL)
            *err = a.failure;
        result = -1;
    }
    return result;
}
