/* Ranks of a job without MPI: each has a connection to rank 0, which listens at MASTER_ADDR and
 * MASTER_PORT. For a few small messages a second, as slots exchange them (common/slots).
 *
 * A rank introduces itself by the job's run ID, 16 random digits that only programs of the job are
 * given. These messages are neither encrypted nor signed, as between MPI's own processes. Every
 * wait has a deadline. */
#ifndef ENTRYPOINT_STUDY_STAR_H
#define ENTRYPOINT_STUDY_STAR_H

#include "common/error.h"
#include "common/slots/slot_group.h"

#include <stdint.h>

enum { STAR_RANKS_MAX = 4096, STAR_RUN_SIZE = 17, STAR_HOST_SIZE = 256 };

/* A rank's place in the job, from the launcher's variables. */
struct star_place {
    int rank, size, local_size;
    char address[STAR_HOST_SIZE]; /* of rank 0 */
    uint16_t port;
    char run[STAR_RUN_SIZE];
};

struct star {
    struct star_place place;
    int *peers; /* owned; rank 0: [size], -1 for itself; else one, to rank 0 */
};

/* Reads RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the run ID. Without them
 * this process is the only rank. */
int star_place_read(struct star_place *ret, struct error *err);

/* Collective. Rank 0 may be there later than the others. */
int star_open(struct star *s, const struct star_place *place, int64_t deadline, struct error *err);
/* Safe on a zeroed one. */
void star_done(struct star *s);

/* S outlives the result. A rank that ends is an error of EXIT_CODE_HOST_LOST to the others. */
struct slot_group star_group(struct star *s);

#define cleanup_star __attribute__((cleanup(star_done)))

#endif
