/* Order for `ringmaster gather` (gather.h): what a supervisor asks its child to gather, as JSON in
 * sealed memory. */
#ifndef ENTRYPOINT_EVIDENCE_GATHER_ORDER_H
#define ENTRYPOINT_EVIDENCE_GATHER_ORDER_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    GATHER_ORDER_RANKS_MAX = 120,
    GATHER_ORDER_PATH_SIZE = 1024,
    GATHER_ORDER_NAME_SIZE = 256,
    GATHER_ORDER_LINES_SIZE = 1024,
    /* Maximum time of everything, and size of everything on one host. */
    GATHER_ORDER_SECONDS = 10,
    GATHER_ORDER_BYTES = 64 * 1024 * 1024,
};

struct gather_rank {
    unsigned rank;
    pid_t shim;
    char lines[GATHER_ORDER_LINES_SIZE]; /* the last that it has printed; "" */
};

struct gather_order {
    char base[GATHER_ORDER_PATH_SIZE];   /* without this folder no file is written; "": needless */
    char folder[GATHER_ORDER_PATH_SIZE]; /* for the files */
    char host[GATHER_ORDER_NAME_SIZE];   /* name of this host, part of file names */
    char recorder[GATHER_ORDER_PATH_SIZE]; /* names of Flight Recorder's files; "": none */
    char fifo[GATHER_ORDER_PATH_SIZE];     /* and of its FIFOs (flight_recorder.h) */
    char ras[GATHER_ORDER_NAME_SIZE];      /* address of NCCL RAS; "": not asked by this host */
    int64_t milliseconds;                  /* for everything */
    int signal;                            /* for processes that have a handler for it; 0: none */
    bool quick;                            /* only rows of ranks that are about to be ended */
    bool gpus;                             /* the host has some */
    struct gather_rank ranks[GATHER_ORDER_RANKS_MAX];
    size_t rank_count;
};

/* Returns the order as a descriptor of sealed memory, or -1. */
int gather_order_make(const struct gather_order *order, struct error *err);
/* Reads the order in FD, which must be sealed memory. */
int gather_order_read(int fd, struct gather_order *ret, struct error *err);

#endif
