/* This container as the master's subordinate: its ranks (ranks/crew.h), Open MPI's daemon and its
 * log. The master's own container is one too and is given orders through the same function.
 *
 *   orders from the master                    words to the master
 *   launch command   start the daemon         daemon code text   it ended, or was refused
 *   stop             SIGTERM to the programs  seated rank
 *   end              SIGTERM, as the job has failed
 *   kill             SIGKILL to them          report ...
 *   release rank     let its shim leave       stalled rank seconds, quiet rank, busy rank
 *                                             line text dropped  with RINGMASTER_LOGS=master
 *                                             metric name        a rank's line matched it first
 *   clear            end all of the attempt   cleared fault      all is ended; without fault ready
 *   attempt gone     begin the next one       daemon code text   where that is not possible
 *   upload seconds   end all, upload it       uploaded code text   all is there, or what is not
 *   hurry seconds    within so many at most
 *   prove step       look at the folder       proved step word fault    with RINGMASTER_FAILOVER
 *   attempt          ... take its roll        begun                     likewise
 *   sure addresses   all have taken it                                  likewise
 *
 * Orders and words carry the number of the attempt that they are about. Each `clear` brings the
 * next number; orders about another one are left alone. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "common/attempt.h"
#include "common/net_address.h"
#include "entrypoint/host/host_proof.h"
#include "entrypoint/host/ranks/crew.h"
#include "entrypoint/host/succession.h"
#include "entrypoint/host/supply/uploading.h"
#include "entrypoint/host/traces/failure_child.h"
#include "entrypoint/host/traces/journal.h"
#include "entrypoint/host/vacancy.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/mpi/scratch.h"
#include "entrypoint/mpi/tools.h"
#include "entrypoint/os/console.h"
#include "entrypoint/os/sweep.h"
#include "entrypoint/os/task.h"
#include "entrypoint/outcome/metric_counts.h"
#include "entrypoint/wire/local.h"

#include <jansson.h>
#include <stdint.h>

struct host {
    struct loop *loop;
    struct reaper *reaper;
    struct sweep *sweep;
    struct job *job; /* whose cluster loses hosts between attempts */
    char run[ATTEMPT_RUN_SIZE];
    char *const *environment; /* this process's own */
    struct local *local;
    const struct tools *tools;
    struct console *console;
    struct failure_child *failure;
    struct journal *journal;       /* may be NULL */
    struct uploading *uploading;   /* open where the job has targets */
    struct succession *succession; /* NULL: none */
    struct host_proof proof;
    int64_t upload_seconds;
    struct crew crew;
    struct metric_counts metrics; /* of all attempts */
    struct task daemon;
    struct scratch scratch;
    struct vacancy vacancy; /* between attempts, until the ports are free */
    struct interface interface;
    struct net_address master; /* who proved to be it */
    void (*tell)(void *context, json_t *message);
    size_t (*queued)(void *context); /* bytes that still wait on the way to the master */
    void *context;
    uint64_t dropped; /* lines not forwarded */
    bool quiet;       /* job or attempt are over: what mpirun and its daemon say of that is noise */
};

/* All pointers outlive it. Callbacks may not come before it returns. */
struct host_options {
    struct loop *loop;
    struct reaper *reaper;
    struct sweep *sweep;
    struct job *job;
    char *const *environment;
    struct local *local;
    const struct tools *tools;
    struct console *console;
    struct failure_child *failure;
    struct journal *journal;
    struct uploading *uploading;
    struct succession *succession;
    void (*tell)(void *context, json_t *message);
    size_t (*queued)(void *context);
    void *context;
};
int host_open(struct host *h, const struct host_options *options, struct error *err);
void host_done(struct host *h);

/* Where the master is, once that is known: chooses the interface. WARNING is for the log. */
int host_meet_master(struct host *h, const struct net_address *master,
                     const struct net_address *peer, char warning[INTERFACE_WARNING_SIZE],
                     struct error *err);

/* The name of this run, which the master gives to all hosts. Longer ones are cut. */
void host_set_run(struct host *h, const char *run);

/* This host has a part in no attempt before the next one that it hears of. */
void host_await(struct host *h);
/* Its master leads none any more: it may be one of a job's first, like any that has just come. */
void host_await_none(struct host *h);
bool host_awaits(const struct host *h);

/* The attempt is over, for this host at least: takes all seats away, and lets none of it sit down
 * again (crew_clear). NEXT: the one that may follow, 0: whichever is heard of. */
void host_end_attempt(struct host *h, unsigned next);

/* Unknown orders are left alone. */
void host_order(struct host *h, const json_t *order);

/* A line of mpirun's or its daemon's, for this container's log; noise is left out. */
void host_tool_line(void *host, const char *line, size_t size);

/* At the end: tells the master of lines that were dropped since it was last told. */
void host_tell_dropped(struct host *h);

/* The job has failed: its daemon, which would spend seconds on ranks that are gone, is killed. */
void host_kill_daemon(struct host *h);

/* Before a program of Open MPI starts here: makes what this attempt's ones may fill. */
int host_open_scratch(struct host *h, struct error *err);
/* The environment of mpirun and its daemon here. */
int host_tool_environment(const struct host *h, struct argv *ret, struct error *err);

/* The request that mpirun's and its daemons' command lines are made of, on this host. AGENT is
 * filled with the agent's path and must outlive the request. */
void host_request(const struct host *h, char agent[LOCAL_FILE_SIZE], struct openmpi_request *ret);

#endif
