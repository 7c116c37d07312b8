/* Pool of parallel exchanges, with libcurl's multi interface, in one thread.
 *
 * Each is retried after a pause of its own while others continue. Every wait is bounded: by silence
 * of a try, by the number of tries, and by the deadline of the whole. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_EXCHANGE_POOL_H
#define ENTRYPOINT_TRANSFER_HTTP_EXCHANGE_POOL_H

#include "entrypoint/transfer/http/exchange.h"

#include <signal.h>

enum { EXCHANGE_POOL_WIDTH = 16 };

struct exchange_pool {
    CURLM *multi;
    const char *certificates; /* file of certificates; NULL or "": the system's */
    struct exchange *waiting; /* waiting for room or for their pause, in order */
    struct exchange **waiting_end;
    struct exchange *running; /* in any order */
    size_t running_count;
    const volatile sig_atomic_t *give_up; /* not 0: everything is abandoned; may be NULL */
    bool closing;                         /* nothing may be added any more */
    bool stop; /* set it to make exchange_pool_run() return before all have ended */
    /* Called about once a second, for progress; may be NULL. */
    void (*tick)(void *context);
    /* Adds work when there is room; returns false if there is none. May be NULL. */
    bool (*more)(void *context);
    /* Does some milliseconds of other work; called once per turn. Returns false if there was none.
     * May be NULL. */
    bool (*aside)(void *context);
    void *context;
    int64_t next_tick;
};

int exchange_pool_open(struct exchange_pool *p, const char *certificates, struct error *err);
/* Ends the remaining exchanges, each with an error. */
void exchange_pool_close(struct exchange_pool *p);

void exchange_pool_add(struct exchange_pool *p, struct exchange *e);
bool exchange_pool_has_room(const struct exchange_pool *p);

/* Runs until all have ended, or p->stop, or DEADLINE (clock_now()), which is an error. */
int exchange_pool_run(struct exchange_pool *p, int64_t deadline, struct error *err);

/* Runs all of MORE's work in a pool of its own. Returns 1 if p->stop was set. */
struct exchange_pool_work {
    const char *certificates;
    bool (*more)(void *context);
    void (*tick)(void *context); /* or NULL */
    void *context;
    const volatile sig_atomic_t *give_up; /* or NULL */
    int64_t deadline;
};
int exchange_pool_work(struct exchange_pool *p, const struct exchange_pool_work *work,
                       struct error *err);

/* A single request, prepared by PREPARE; its answer's body goes to BODY, up to BODY's maximum.
 */
struct question {
    const char *name;
    int (*prepare)(void *context, struct request *ret, struct error *err);
    int (*refused)(void *context, const struct answer *answer, struct error *err); /* or NULL */
    void *context;
    unsigned tries;
    int64_t silence;
    int64_t seconds; /* for all of it */
    const char *certificates;
    const volatile sig_atomic_t *give_up; /* as the pool's */
};
int exchange_pool_ask(const struct question *q, struct buf *body, struct answer *ret,
                      struct error *err);

#endif
