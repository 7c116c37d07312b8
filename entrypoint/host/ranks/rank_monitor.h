/* The look at ranks that fall silent, from their start on: the stalled, the quiet and the busy are
 * told to the master (rank_set.h). Where nobody asks for that, nothing is set. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_MONITOR_H
#define ENTRYPOINT_HOST_RANKS_RANK_MONITOR_H

#include "entrypoint/host/ranks/crew_sinks.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_slot;

struct rank_monitor {
    struct loop *loop; /* borrowed, as all that follows; NULL: not open */
    const struct job *job;
    const struct crew_sinks *sinks;
    struct rank_slot *const *seats; /* where the first one stands */
    struct timer look;
    struct watch opens; /* of a host alone: who opens the memory in which ranks show progress */
    int64_t pause;      /* between two looks */
    bool begun;
    bool shown; /* a rank may show some */
};

void rank_monitor_init(struct rank_monitor *w, struct loop *loop, const struct job *job,
                       const struct crew_sinks *sinks, struct rank_slot *const *seats);
/* What SEAT's rank shows its progress in is at FD, which stays the caller's; -1: nothing. */
void rank_monitor_seat(struct rank_monitor *w, struct rank_slot *seat, int fd);
/* All of this host's ranks have started. */
void rank_monitor_begin(struct rank_monitor *w);
/* SEAT's rank has ended. */
void rank_monitor_leave(const struct rank_monitor *w, struct rank_slot *seat);
/* All have, or shall; others may begin later. */
void rank_monitor_close(struct rank_monitor *w);

#endif
