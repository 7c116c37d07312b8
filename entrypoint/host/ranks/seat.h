/* A rank of this host, as its supervisor sees it: for the files of the crew alone. */
#ifndef RANKS_SEAT_H
#define RANKS_SEAT_H

#include "common/progress.h"
#include "entrypoint/host/watch/idleness.h"
#include "entrypoint/host/watch/vigil.h"
#include "entrypoint/os/tap.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>
#include <sys/types.h>

struct crew;

struct seat {
    struct crew *crew;
    struct link *link; /* NULL once the shim is gone */
    unsigned rank;
    pid_t shim;
    char prefix[LINES_PREFIX_SIZE]; /* of its lines */
    struct tap out;
    struct tap error_out;
    struct tail tail; /* of standard output */
    struct tail error_tail;
    struct progress progress;
    int opens; /* the watch on who opens that (crew_watch.h); -1: none */
    struct vigil vigil;
    struct idleness idleness; /* of one without marks */
    enum rank_cause cause;
    bool reported;
    struct seat *next;
};

#endif
