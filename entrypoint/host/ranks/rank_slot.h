/* A rank of this host, as its supervisor sees it; internal to the files of the rank set. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SLOT_H
#define ENTRYPOINT_HOST_RANKS_RANK_SLOT_H

#include "common/system/progress.h"
#include "entrypoint/host/monitor/idle.h"
#include "entrypoint/host/monitor/stall.h"
#include "entrypoint/host/ranks/rank_exception.h"
#include "entrypoint/os/pipe_reader.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/wire/link.h"
#include "entrypoint/wire/message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rank_set;

/* Last sign of a rank (rank_stillness.h). */
struct rank_sign {
    uint64_t marks;
    uint64_t printed; /* bytes */
    int64_t since;    /* since when both are the same; 0: not looked at yet */
};

struct rank_slot {
    struct rank_set *rank_set;
    struct link *link; /* NULL once the shim is gone */
    unsigned rank;
    pid_t shim;
    char prefix[LINE_SPLITTER_PREFIX_SIZE]; /* of its lines */
    struct pipe_reader out;
    struct pipe_reader error_out;
    struct tail tail; /* end of its standard output */
    struct tail error_tail;
    struct rank_exception exception;
    struct progress progress;
    int opens; /* the watch on the opening of that memory (rank_monitor.h); -1: none */
    struct stall stall;
    struct rank_sign sign;
    struct idle idle; /* of a rank that reports no progress */
    enum rank_cause cause;
    bool reported;
    bool in_barrier; /* of PMI */
    struct rank_slot *next;
};

/* Returns the slot of RANK in the list that begins with FIRST; NULL: there is none. */
static inline struct rank_slot *rank_slot_find(struct rank_slot *first, int64_t rank) {
    while (first != NULL && first->rank != rank)
        first = first->next;
    return first;
}

/* Sends an order without members to the shim, if it is there. */
static inline void rank_slot_order(struct rank_slot *s, enum message kind) {
    if (s->link != NULL)
        link_send(s->link, message_new(kind));
}

/* Likewise, an order to pass a signal on; STOPS: the job is being stopped. */
static inline void rank_slot_order_signal(struct rank_slot *s, enum message kind, int number,
                                          bool stops) {
    if (s->link != NULL)
        link_send(s->link, message_with(kind, json_pack("{s:i, s:b}", "number", number, "stops",
                                                        (int)stops)));
}

#endif
