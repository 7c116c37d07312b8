/* This container as the master's subordinate: its ranks (ranks/rank_set.h), Open MPI's daemon and
 * its log. The master's own container is one too and is given orders through the same function.
 * Messages have the names of their MESSAGE_ kinds (wire/messages.def).
 *
 *   orders from the master                    messages to the master
 *   launch command   start the daemon         daemon code text   it ended, or was refused
 *   ranks first size start shims directly     unstarted text     they were not, or one ended early
 *   stop             stop signal to programs  rank_started rank
 *   end              SIGTERM, as the job has failed
 *   kill             SIGKILL to them          report ...
 *   release rank     let its shim leave       stalled rank seconds, quiet rank, busy rank
 *                                             line text dropped  with RINGMASTER_LOGS=master
 *                                             metric name        a rank's line matched it first
 *   gather number    where are the ranks?     gathered number ranks
 *   clear            end all of the attempt   cleared fault      all is ended; without fault ready
 *   attempt gone     begin the next one       daemon code text   where that is not possible
 *   upload seconds   end all, upload it       uploaded code text   all is there, or what is not
 *   upload_deadline seconds   within so many at most
 *   probe_dir step   look at the folder       dir_probed step word fault   with RINGMASTER_FAILOVER
 *   attempt          ... accept its view      view_accepted                likewise
 *   view_committed addresses   all have accepted                           likewise
 *
 * Orders and answers carry the number of the attempt that they are about. Each `clear` brings the
 * next number; orders about another one are left alone. */
#ifndef ENTRYPOINT_HOST_EXECUTOR_H
#define ENTRYPOINT_HOST_EXECUTOR_H

#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/host/failover/shared_dir_check.h"
#include "entrypoint/host/gatherer.h"
#include "entrypoint/host/line_forward.h"
#include "entrypoint/host/mpi_daemon.h"
#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/observe/failure_writer.h"
#include "entrypoint/host/provision/output_upload.h"
#include "entrypoint/host/rank_launch.h"
#include "entrypoint/host/ranks/rank_saves.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/resource_wait.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/os/console.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/outcome/metric_counts.h"
#include "entrypoint/wire/control_socket.h"

#include <jansson.h>
#include <stdint.h>

struct executor {
    const struct services *services;
    char run[ATTEMPT_RUN_SIZE];
    struct output_upload *output_upload; /* open if the job has upload targets */
    struct shared_dir_check proof;
    int64_t upload_seconds;
    struct rank_set rank_set;
    struct metric_counts metrics; /* of all attempts */
    struct mpi_daemon daemon;
    struct rank_launch rank_launch; /* of ranks that are started without mpirun */
    struct gatherer gatherer;
    struct resource_wait resource_wait; /* between attempts */
    struct interface interface;
    struct net_address master; /* the address that has proved to be the master */
    void (*send)(void *context, json_t *message);
    void *context;
    struct line_forward forward;
    bool quiet; /* the job or attempt is over: output of mpirun and its daemon is noise */
};

/* All pointers outlive it. Callbacks may not be called before it returns. */
struct executor_options {
    struct output_upload *output_upload;
    void (*send)(void *context, json_t *message);
    size_t (*queued)(void *context); /* bytes that still wait on the way to the master */
    void *context;
};
int executor_open(struct executor *h, const struct services *services,
                  const struct executor_options *options, struct error *err);
void executor_done(struct executor *h);

/* Records the master's address and chooses the interface. WARNING is for the log. */
int executor_meet_master(struct executor *h, const struct net_address *master,
                         const struct net_address *peer, char warning[INTERFACE_WARNING_SIZE],
                         struct error *err);

/* Sets the run ID, which the master gives to all hosts. A longer one is cut. */
void executor_set_run(struct executor *h, const char *run);

/* This host takes part in no attempt before the next one that it learns of. */
void executor_await(struct executor *h);
/* Its master leads no job any more: it may be one of the first hosts of a job, like any new one. */
void executor_await_none(struct executor *h);
bool executor_awaits(const struct executor *h);

/* The attempt is over, at least for this host: ends all its ranks and admits none of it again
 * (rank_set_clear). NEXT is the attempt that may follow; 0: any. */
void executor_end_attempt(struct executor *h, unsigned next);

/* Carries out an order. Unknown orders are ignored. */
void executor_order(struct executor *h, const json_t *order);

/* Handles an output line of mpirun or its daemon, for this container's log; noise is dropped. */
void executor_tool_line(void *host, const char *line, size_t size);

/* At the end: reports lines that were dropped since the last report. */
void executor_send_dropped(struct executor *h);

#endif
