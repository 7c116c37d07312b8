/* Exchange of bytes with all other ranks at once: the one step of which every collective consists.
 *
 * What goes out and what comes in move side by side over nonblocking sockets, so that two ranks
 * that send to each other never wait for each other. */
#ifndef TRAINER_COMM_TCP_EXCHANGE_H
#define TRAINER_COMM_TCP_EXCHANGE_H

#include "common/error.h"
#include "trainer/comm/shares.h"
#include "trainer/comm/tcp/mesh.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

/* First in a collective's first exchange: ranks that make different calls get an error instead of
 * getting each other's bytes. */
struct exchange_head {
    uint64_t number; /* of the collective, from 1 */
    uint64_t kind;   /* enum work_kind, and the type */
    uint64_t size;   /* bytes or elements */
};

struct rank_exchange {
    const struct mesh *mesh;
    struct comm_part *parts; /* owned; one a rank, its own is not looked at */
    struct exchange_state *states;
    struct pollfd *polls;
};

int exchange_init(struct rank_exchange *x, const struct mesh *mesh, struct error *err);
void exchange_done(struct rank_exchange *x);

/* Moves all of `parts`, after HEAD if that is not NULL. A rank that has closed its connection, or
 * makes another call, is an error that names it, and so is the DEADLINE (clock.h), with
 * EXIT_CODE_STALLED. The parts are empty afterwards. */
int exchange_run(struct rank_exchange *x, const struct exchange_head *head, int64_t deadline,
                 struct error *err);

#endif
