/* The look at ranks that fall silent, from their start on: the stalled, the quiet and the busy are
 * told to the master (crew.h). Where nobody asks for that, nothing is set. */
#ifndef RANKS_CREW_WATCH_H
#define RANKS_CREW_WATCH_H

#include "entrypoint/host/ranks/crew_sinks.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct seat;

struct crew_watch {
    struct loop *loop; /* borrowed, as all that follows; NULL: not open */
    const struct job *job;
    const struct crew_sinks *sinks;
    struct seat *const *seats; /* where the first one stands */
    struct timer look;
    struct watch opens; /* of a host alone: who opens the memory in which ranks show progress */
    int64_t pause;      /* between two looks */
    bool begun;
    bool shown; /* a rank may show some */
};

void crew_watch_init(struct crew_watch *w, struct loop *loop, const struct job *job,
                     const struct crew_sinks *sinks, struct seat *const *seats);
/* What SEAT's rank shows its progress in is at FD, which stays the caller's; -1: nothing. */
void crew_watch_seat(struct crew_watch *w, struct seat *seat, int fd);
/* All of this host's ranks have started. */
void crew_watch_begin(struct crew_watch *w);
/* SEAT's rank has ended. */
void crew_watch_leave(const struct crew_watch *w, struct seat *seat);
/* All have, or shall; others may begin later. */
void crew_watch_close(struct crew_watch *w);

#endif
