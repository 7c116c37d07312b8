/* The ranks of this container, seen from its supervisor: one seat for each shim that has said
 * hello. Programs run as our user and could say all that a shim can say, so it is order that tells
 * them apart: no program is started before the last seat is taken, and no seat is given after that.
 * Lines of the ranks go to the line sink, what becomes of them to the master:
 *
 *   seated  rank            its program has been told to start, as all of this host's have
 *   report  (rank_report)   it ended, or its shim vanished
 *   stalled rank seconds    it had shown progress and fell silent
 *   quiet   rank seconds    it shows none, prints nothing and does nothing (monitor/idle.h)
 *   busy    rank            it does something again
 *
 * and the master's orders come back: stop, end, kill, release. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SET_H
#define ENTRYPOINT_HOST_RANKS_RANK_SET_H

#include "entrypoint/host/monitor/kmsg.h"
#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/ranks/crew_sinks.h"
#include "entrypoint/host/ranks/rank_monitor.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/wire/link.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct rank_slot;

struct rank_set {
    struct loop *loop;
    const struct job *job;
    struct crew_sinks sinks;
    int spec;                            /* what programs are started with (launch_spec.h) */
    int threads;                         /* OMP_NUM_THREADS of each; 0: not set by us */
    char master_addr[NET_ADDRESS_TEXT];  /* to be set before the first shim comes */
    char interface[INTERFACE_NAME_SIZE]; /* the job's; "": a host alone */
    struct rank_slot *seats;
    struct rank_monitor watch;
    unsigned attempt;  /* whose shims have a seat here */
    int64_t oom_kills; /* before this attempt */
    struct kmsg kernel;
    bool started; /* all seats were taken: no more are given */
    bool warned;  /* of a hello that was refused */
    bool stopping;
    bool killed;
};

/* Makes what this host's shims start their programs with. */
int rank_set_open(struct rank_set *c, struct loop *loop, const struct job *job,
                  char *const *environment, const struct crew_sinks *sinks, struct error *err);
void rank_set_done(struct rank_set *c);

/* Between two attempts: takes all seats away, so that shims and programs end, and lets none of the
 * old attempt sit down again; then makes ready for the new one, whose hosts may be fewer. */
void rank_set_clear(struct rank_set *c, unsigned attempt);
int rank_set_begin(struct rank_set *c, char *const *environment, struct error *err);

/* A shim's hello; the link is the crew's from here. One that has no place here is sent away: of
 * another attempt, for another host's rank, for a seat that is taken, or after the start. */
void rank_set_seat(struct rank_set *c, struct link *link, const json_t *hello);

/* A signal of the user's (os/user_signals.h) to the programs that run here. Returns how many. */
unsigned rank_set_signal(struct rank_set *c, int number);
/* SIGTERM to all programs, those still to come too. */
void rank_set_stop(struct rank_set *c);
/* SIGTERM because another rank has failed: what they end with is not their own doing. */
void rank_set_end(struct rank_set *c);
/* SIGKILL to all programs. */
void rank_set_kill(struct rank_set *c);
/* Appends the steps of ranks that show progress (observe/openmetrics.h). */
int rank_set_measure(const struct rank_set *c, struct buf *ret, struct error *err);
/* How far ranks are that show progress, for a heartbeat: an array of [rank, step, work, data],
 * times in microseconds (outcome/straggler.h); NULL where none does. The caller's. */
json_t *rank_set_pace(const struct rank_set *c);
/* Whether the kernel has killed processes of this container for lack of memory in this attempt. */
enum rank_memory rank_set_memory(const struct rank_set *c);
/* The furthest step that one of its ranks has told; 0: none has. */
uint64_t rank_set_step(const struct rank_set *c);
/* Lets a shim that has reported leave. */
void rank_set_release(struct rank_set *c, unsigned rank);

#endif
