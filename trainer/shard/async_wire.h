/* Messages between workers and asynchronous parameter servers. Ranks of one program exchange them,
 * so they have the layout of memory.
 *
 * A request may be followed by the values of the server's share, a reply by those of the share in
 * several arenas. */
#ifndef TRAINER_SHARD_ASYNC_WIRE_H
#define TRAINER_SHARD_ASYNC_WIRE_H

#include <stdint.h>

enum { ASYNC_FLAGS = 16, ASYNC_WORKERS_MAX = 512 };

enum async_kind {
    ASYNC_DEAL = 1, /* the share of an arena follows; no reply */
    ASYNC_PUSH,     /* the gradients of a step follow; the reply brings weights */
    ASYNC_VOID,     /* a step that changes nothing */
    ASYNC_MEET,     /* once all workers have asked for it: weights and average; rank 0 also gets
                     * the rest of the optimizer's state */
    ASYNC_END,      /* the worker leaves; no reply */
    ASYNC_KINDS
};

/* What a worker wants all of them to do after one and the same step. */
enum async_wish { ASYNC_STOP = 1, ASYNC_SAVE = 2, ASYNC_FAIL = 4 };

struct async_request {
    uint32_t kind;
    uint32_t wishes;
    int64_t clock;    /* of a step: its number */
    int64_t argument; /* of a deal: the arena; of the end: the exit code */
    int64_t updates;  /* of a deal: made before this run */
    double rate, momentum;
    double squares; /* of all gradients, if they are clipped */
    float flags[ASYNC_FLAGS];
};

struct async_reply {
    uint32_t wishes; /* which all follow after this step */
    uint32_t live;   /* workers that are there */
    int64_t clock;   /* of the slowest of them */
    double
        flags[ASYNC_FLAGS]; /* for rank 0: sums over what others have pushed since its last reply */
    unsigned char gone[ASYNC_WORKERS_MAX]; /* workers that are not */
};

#endif
