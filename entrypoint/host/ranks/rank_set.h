/* Ranks of this container, as its supervisor sees them: one slot per shim that has registered.
 *
 * User programs run under our uid and could impersonate a shim. Ordering prevents it: no program
 * starts until every local rank has registered, and no registration is accepted afterwards. Output
 * lines go to the line sink; these messages go to the master:
 *
 *   rank_started rank            its program is to start, as all of this host's have registered
 *   report       (rank_report)   it ended, or its shim vanished
 *   stalled      rank seconds    it had reported progress and fell silent
 *   quiet        rank seconds    it reports none, prints nothing and does nothing (monitor/idle.h)
 *   busy         rank            it does something again
 *   pairs        pairs           what a rank has put, by PMI (rank_pmi.h)
 *   barrier                      all of them wait in a barrier of PMI
 *
 * The master's orders are: stop, end, kill, release. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SET_H
#define ENTRYPOINT_HOST_RANKS_RANK_SET_H

#include "common/system/progress.h"
#include "entrypoint/host/monitor/kmsg.h"
#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/ranks/rank_exception.h"
#include "entrypoint/host/ranks/rank_monitor.h"
#include "entrypoint/host/ranks/rank_sinks.h"
#include "entrypoint/host/ranks/xid_watch.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/traceback_frame.h"
#include "entrypoint/wire/link.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct rank_slot;

struct rank_set {
    const struct services *services; /* NULL: never open */
    struct rank_sinks sinks;
    int spec;    /* environment and arguments of the programs (launch_spec.h) */
    int threads; /* OMP_NUM_THREADS of each; 0: not set by us */
    struct traceback_folders folders;    /* of the programs' own code */
    char master_addr[NET_ADDRESS_TEXT];  /* set it before the first shim registers */
    char interface[INTERFACE_NAME_SIZE]; /* the job's; "": a single host */
    struct rank_slot *slots;
    struct rank_monitor monitor;
    struct {
        int64_t at; /* when it was read; 0: not in this silence */
        int64_t time;
        bool busy;
    } cpu;              /* processor time of all processes (rank_stillness.h) */
    int64_t echo_until; /* what ranks print before answers a signal (rank_stillness.h) */
    unsigned attempt;   /* the attempt of the shims that are admitted */
    int64_t oom_kills;  /* before this attempt */
    struct kmsg kernel;
    struct xid_watch xids;
    bool direct;  /* mpirun has not started these ranks */
    bool started; /* all ranks have registered: no more are admitted */
    bool warned;  /* a refused registration was logged */
    bool stopping;
    int stop_signal; /* that the ranks are to get; 0: none */
    int warning;     /* likewise, the signal that warns of the end */
    bool killed;
};

/* Prepares the environment and arguments for this host's programs. */
int rank_set_open(struct rank_set *c, const struct services *services,
                  const struct rank_sinks *sinks, struct error *err);
void rank_set_done(struct rank_set *c);

/* Between two attempts: ends all shims and programs and admits none of the old attempt again, then
 * prepares for the new one, which may have fewer hosts. */
void rank_set_clear(struct rank_set *c, unsigned attempt);
int rank_set_begin(struct rank_set *c, struct error *err);

/* Registers a shim; takes over the link. It is refused if it is of another attempt, for another
 * host's rank, for a rank that has registered, or after the start. */
void rank_set_register(struct rank_set *c, struct link *link, const json_t *hello);

/* Returns whether the shim of RANK has registered. */
bool rank_set_has(const struct rank_set *c, unsigned rank);

/* Sends a user signal (os/user_signals.h) to the programs that run here. Returns how many. */
unsigned rank_set_signal(struct rank_set *c, int number);
/* Sends the stop signal to all programs, also to those still to start. */
void rank_set_stop(struct rank_set *c, int number);
/* Likewise the signal that warns of the end; STOPS: the job is being stopped. */
void rank_set_warn(struct rank_set *c, int number, bool stops);
/* Sends SIGTERM because another rank has failed: their exit codes do not count then. */
void rank_set_end(struct rank_set *c);
/* Sends SIGKILL to all programs. */
void rank_set_kill(struct rank_set *c);
/* Appends the steps of ranks that report progress (observe/openmetrics.h). */
int rank_set_measure(const struct rank_set *c, struct buf *ret, struct error *err);
/* Returns how far ranks are that report progress, for a heartbeat: an array of [rank, step, work,
 * data], times in microseconds (outcome/straggler.h), owned by the caller; NULL if none does. */
json_t *rank_set_pace(const struct rank_set *c);
/* Returns whether the kernel killed processes of this container for lack of memory in this attempt.
 */
enum rank_memory rank_set_memory(const struct rank_set *c);
/* Returns the furthest step that one of its ranks reported; 0: none has. */
uint64_t rank_set_step(const struct rank_set *c);
/* Returns the state of the rank that is furthest among those that run and report progress; zeros if
 * none does. */
struct progress_state rank_set_progress(const struct rank_set *c);
/* The same of ranks that have ended, too, until the next attempt. */
struct progress_state rank_set_progress_last(const struct rank_set *c);
/* As rank_exception_lasts, of RANK; 0 if it is of another host, or has ended since. */
int64_t rank_set_exception(const struct rank_set *c, unsigned rank, int64_t now,
                           char ret[TRACEBACK_TEXT_SIZE]);
/* Lets a shim that has reported exit. */
void rank_set_release(struct rank_set *c, unsigned rank);
/* Hands on what the master says of PMI (rank_pmi.h): KIND is MESSAGE_PAIRS with PAIRS, or
 * MESSAGE_PASSED with NULL. */
void rank_set_exchange(struct rank_set *c, enum message kind, json_t *pairs);

#endif
