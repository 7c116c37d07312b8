/* The look at ranks that fall silent, from their start on: the stalled, the quiet and the busy are
 * told to the master (crew.h). Where nobody asks for that, nothing is set. */
#ifndef RANKS_CREW_WATCH_H
#define RANKS_CREW_WATCH_H

#include "job/job.h"
#include "os/loop.h"
#include "ranks/crew_sinks.h"

#include <stdint.h>

struct seat;

struct crew_watch {
    struct loop *loop; /* borrowed, as all that follows */
    const struct job *job;
    const struct crew_sinks *sinks;
    struct seat *const *seats; /* where the first one stands */
    struct timer look;
    int64_t pause; /* between two looks */
};

void crew_watch_init(struct crew_watch *w, struct loop *loop, const struct job *job,
                     const struct crew_sinks *sinks, struct seat *const *seats);
/* All of this host's ranks have started. */
void crew_watch_begin(struct crew_watch *w);
void crew_watch_close(struct crew_watch *w);

#endif
