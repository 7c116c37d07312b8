/* State of the slots of a job (slots.h).
 *
 * All ranks know the same of it. Only slots.c and slot_orders.c write it. */
#ifndef COMMON_SLOTS_SLOT_SET_H
#define COMMON_SLOTS_SLOT_SET_H

#include "common/slots/slot_child.h"
#include "common/slots/slot_group.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SLOTS_MAX = 4096,
    SLOTS_ROUND_MS = 250,
    SLOTS_GRACE_SECONDS = 20, /* between SIGTERM and SIGKILL */
    SLOTS_ADDRESS_SIZE = 64,
    SLOTS_FIGURES = 8,
};

enum slot_state { SLOT_IDLE, SLOT_RUNNING, SLOT_ENDED };

/* What is known of a slot; all ranks have the same. */
struct slot_report {
    int32_t state;                 /* enum slot_state */
    int32_t code;                  /* of a process that has ended */
    int32_t stop;                  /* this rank was asked to stop */
    int32_t port;                  /* a free one of this host */
    double seconds;                /* since the process began */
    double silent;                 /* seconds since it last printed something */
    double figures[SLOTS_FIGURES]; /* of one that has ended, as `read` found them */
};

/* A job on a slice. */
struct slot_job {
    int first, size;
    const char *folder;      /* on each host that has a rank of it; made if it is missing. Rank r
                              * prints to rank-r.log there */
    const char *name;        /* distinguishes it from other jobs */
    const char *const *argv; /* as all its ranks are started; NULL-terminated */
    const char *const *environment; /* NAME=VALUE of them, in addition; NULL-terminated, or NULL */
};

struct slots {
    const struct slot_group *group;        /* borrowed */
    int own_count;                         /* slots of each rank */
    int count;                             /* of all ranks */
    struct slot_child *own;                /* owned; [own_count] */
    char (*folders)[PATH_MAX];             /* owned; [own_count]: of the jobs there */
    bool *reads;                           /* owned; [own_count]: it is the slice's first rank */
    struct slot_report *mine;              /* owned; [own_count] */
    struct slot_report *reports;           /* owned; [count] */
    char (*addresses)[SLOTS_ADDRESS_SIZE]; /* owned; of each rank of the job */
    int gpus;                              /* of this host; 0: unknown, or fewer than its slots */
    json_t *orders;                        /* owned, rank 0: of the next round */
    bool left;
    /* For programs that are not ringtrain: one that is alone in its slice gets its place, too,
     * and logs begin anew with each job. */
    bool foreign;
    /* Reads the results of a job that has ended, on the host of its first rank; may be NULL. */
    void (*read)(void *context, const char *folder, int code, double figures[SLOTS_FIGURES]);
    void *context;
};

#endif
