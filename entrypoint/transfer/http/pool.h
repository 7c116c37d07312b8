/* Exchanges side by side, by libcurl's multi interface, in one thread. Each is tried again after a
 * pause of its own, while others go on. Every wait has an end: a try that is silent, tries that are
 * counted, and the deadline of the whole. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_POOL_H
#define ENTRYPOINT_TRANSFER_HTTP_POOL_H

#include "entrypoint/transfer/http/exchange.h"

#include <signal.h>

enum { POOL_WIDTH = 16 };

struct pool {
    CURLM *multi;
    const char *certificates; /* a file of them; NULL or "": the system's */
    struct exchange *waiting; /* for a place or for their pause, in order */
    struct exchange **waiting_end;
    struct exchange *running; /* in any order */
    size_t running_count;
    const volatile sig_atomic_t *give_up; /* not 0: nothing goes on; may be NULL */
    bool closing;                         /* nothing may be added any more */
    bool stop; /* set by whoever wants pool_run() to come back before all have ended */
    /* Called about once a second, for progress; may be NULL. */
    void (*tick)(void *context);
    /* More work, for when there is room; false when there is none. May be NULL. */
    bool (*more)(void *context);
    /* A little of what is to be done beside the requests, some milliseconds of it: it is called
     * once a turn, and the pool stays for it. False when there was none. May be NULL. */
    bool (*aside)(void *context);
    void *context;
    int64_t next_tick;
};

int pool_open(struct pool *p, const char *certificates, struct error *err);
/* Ends what is left, each with an error. */
void pool_close(struct pool *p);

void pool_add(struct pool *p, struct exchange *e);
bool pool_has_room(const struct pool *p);

/* Until all have ended, or p->stop, or DEADLINE (clock_now()), which is an error. */
int pool_run(struct pool *p, int64_t deadline, struct error *err);

/* All of MORE's work, from the pool's opening to its closing. 1 where somebody set p->stop. */
struct pool_work {
    const char *certificates;
    bool (*more)(void *context);
    void (*tick)(void *context); /* or NULL */
    void *context;
    const volatile sig_atomic_t *give_up; /* or NULL */
    int64_t deadline;
};
int pool_work(struct pool *p, const struct pool_work *work, struct error *err);

/* One request that is made by PREPARE, with its answer's body in BODY, whose ceiling bounds it. */
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
int pool_ask(const struct question *q, struct buf *body, struct answer *ret, struct error *err);

#endif
