/* Monitor of ranks that fall silent: reports stalled, quiet and busy ranks to the master
 * (rank_set.h). Does nothing unless that is configured. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_MONITOR_H
#define ENTRYPOINT_HOST_RANKS_RANK_MONITOR_H

#include "entrypoint/host/ranks/rank_sinks.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_slot;

struct rank_monitor {
    const struct services *services; /* borrowed, like everything below; NULL: not open */
    const struct rank_sinks *sinks;
    struct rank_slot *const *slots; /* the first slot */
    struct timer look;
    struct watch opens; /* of a single host: reports when a program opens its progress memory */
    int64_t pause;      /* between two looks */
    bool begun;
    bool shown; /* a rank may report progress */
};

void rank_monitor_init(struct rank_monitor *w, const struct services *services,
                       const struct rank_sinks *sinks, struct rank_slot *const *slots);
/* FD holds the progress memory of SLOT's rank and stays the caller's; -1: none. */
void rank_monitor_add(struct rank_monitor *w, struct rank_slot *slot, int fd);
/* All of this host's ranks have started. */
void rank_monitor_begin(struct rank_monitor *w);
/* SLOT's rank has ended. */
void rank_monitor_remove(const struct rank_monitor *w, struct rank_slot *slot);
/* All ranks have ended, or will; others may start later. */
void rank_monitor_close(struct rank_monitor *w);

#endif
