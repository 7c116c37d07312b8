/* Interface of a communicator's implementation; comm.h documents each call. comm.c checks
 * arguments and forwards; a driver embeds struct comm as its first member. */
#ifndef TRAINER_COMM_COMM_DRIVER_H
#define TRAINER_COMM_COMM_DRIVER_H

#include "common/error.h"
#include "trainer/comm/comm_type.h"

#include <stddef.h>
#include <stdint.h>

struct comm;

struct comm_driver {
    int (*split)(struct comm *c, int group, struct comm **ret, struct error *err);
    void (*close)(struct comm *c);
    void (*abort)(struct comm *c);
    int (*sum_start)(struct comm *c, void *values, size_t count, enum comm_type type,
                     uint64_t *ret_ticket, struct error *err);
    int (*shares_start)(struct comm *c, enum work_kind kind, float *values,
                        const struct comm_shares *shares, uint64_t *ret_ticket, struct error *err);
    int (*wait)(struct comm *c, uint64_t ticket, struct error *err);
    int (*broadcast)(struct comm *c, void *bytes, size_t size, int root, struct error *err);
    int (*gather)(struct comm *c, const void *bytes, size_t size, void *all, struct error *err);
    int (*barrier)(struct comm *c, struct error *err);
    /* NULL: there are no connections between two ranks that others can use. */
    int (*move)(struct comm *c, const struct comm_part *parts, struct error *err);
    int (*socket)(struct comm *c, int rank);
    int (*narrow)(struct comm *c, const unsigned char *gone, struct error *err);
};

/* The error of a communicator without connections for others; returns -1. */
int comm_no_connections(const struct comm *c, struct error *err);

struct comm {
    const struct comm_driver *driver;
    const char *name; /* of what connects the ranks */
    int rank;
    int size;
    int local_rank;
    int local_size;
    int patience; /* seconds; 0: COMM_DEADLINE_SECONDS */
    struct comm_observer observer;
};

#endif
