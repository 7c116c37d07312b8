/* Common part of master and worker: the loop, signals, children, the control socket, the executor
 * of this host (executor.h), and the exit.
 *
 * A role embeds a supervisor, which calls the functions of its table, and ends the job for this
 * container with supervisor_conclude(). */
#ifndef ENTRYPOINT_HOST_SUPERVISOR_H
#define ENTRYPOINT_HOST_SUPERVISOR_H

#include "entrypoint/host/executor.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/host/metrics_exporter.h"
#include "entrypoint/host/mpi_setup.h"
#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/observe/failure_writer.h"
#include "entrypoint/host/port_wait.h"
#include "entrypoint/host/preflight/device_probe.h"
#include "entrypoint/host/preflight/preflight_probe.h"
#include "entrypoint/host/provision/fetch_progress.h"
#include "entrypoint/host/provision/input_download.h"
#include "entrypoint/host/provision/output_upload.h"
#include "entrypoint/host/provision/pip_install.h"
#include "entrypoint/host/provision/trainer_status.h"
#include "entrypoint/host/ranks/progress_line.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/host/tls_contexts.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/os/console.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/outcome/verdict.h"
#include "entrypoint/wire/control_socket.h"

#include <stdbool.h>

/* Options of a master or worker. */
struct supervisor_options {
    struct job *job;              /* cluster and ports are valid even with a fault */
    char *const *environment;     /* this process's own */
    const char *const *arguments; /* the arguments after `train` */
    const struct error *fault;    /* a fault in the rest of the job; NULL: none */
    bool check;                   /* `ringmaster check`: nothing is downloaded */
    bool json;                    /* its rows as JSON */
    bool *begun; /* set once the loop may run: from then on programs may run, too */
    struct role_state *role_state; /* NULL: none */
};

struct role {
    /* Downloads or installations have begun or made progress, as s->mark says. From then on hosts
     * may connect. Not called if there is nothing to download. */
    void (*fetching)(void *state);
    /* Everything that this container needs for the job is here, or s->fault says what is not;
     * called once, from the loop. */
    void (*start)(void *state);
    /* Sends a message of this container's executor to the master; takes the reference. */
    void (*send)(void *state, json_t *message);
    size_t (*queued)(void *state);
    /* A remote-launch agent has connected; the link passes to the callee. */
    void (*agent)(void *state, struct link *link, const json_t *message);
    /* SIGTERM, SIGINT or SIGHUP was received; AGAIN: a SIGTERM or SIGINT at least a second later.
     */
    void (*stop)(void *state, bool again);
    /* Appends this role's metrics (observe/openmetrics.h); NULL: none. */
    int (*measure)(void *state, struct buf *ret, struct error *err);
    /* All processes are gone: returns true if nothing is left to wait for. */
    bool (*may_leave)(void *state);
    /* Returns true if this container must wait for another host, however long that takes (up to a
     * lease). NULL: never. */
    bool (*must_stay)(void *state);
};

struct supervisor {
    struct job *job;
    char *const *environment;
    const struct role *role;
    void *state;
    struct services services; /* the members below, for its parts */
    struct loop loop;
    struct reaper reaper;
    struct process_tree sweep;
    struct failure_writer failure;
    struct event_log event_log;
    struct console console; /* output of programs */
    struct log_console log_console;
    struct control_socket local;
    struct mpi_install mpi_install;
    struct mpi_setup mpi_setup;
    struct executor host;
    struct progress_line progress_line;
    struct trainer_status trainer_status;
    struct tls_contexts contexts;
    struct role_state *role_state; /* NULL: none */
    struct port_wait port_wait;    /* for ports that the lost master's attempt held */
    struct input_download input_download;
    struct preflight_probe preflight_probe; /* for `ringmaster check` */
    uint16_t examine_port;                  /* the port at which others reach it; 0: none */
    bool check;
    struct device_probe plugin; /* NCCL's, as the job begins */
    struct pip_install pip_install;
    struct output_upload output_upload; /* open if the job has upload targets */
    struct fetch_progress mark;         /* progress of downloads */
    const char *const *arguments;
    struct timer meet;
    struct timer begin;
    struct timer leave; /* then only role->must_stay() delays the exit */
    struct metrics_exporter metrics_exporter;
    struct error fault; /* code 0: none */
    struct verdict verdict;
    bool judged;
    bool at_once; /* programs are killed at once, as others may run by now */
    bool swept;
    bool overdue;       /* the time to exit is over */
    bool tried_again;   /* to write what no process could be started for */
    int64_t stop_asked; /* when a stop was first requested; 0: never */
};

/* Pointers in OPTIONS outlive it. An error here can only be reported by this container itself;
 * others become s->fault, so that the master tells every host. */
int supervisor_open(struct supervisor *s, const struct supervisor_options *options,
                    const struct role *role, void *state, struct error *err);
/* Runs to the end and returns the exit code. */
int supervisor_run(struct supervisor *s, int *ret_code, struct error *err);
void supervisor_close(struct supervisor *s);

/* Fills in the services, from members that may still be zeroed. Called by supervisor_open(). */
void supervisor_share(struct supervisor *s);

/* Acts on a signal to this process; called from the loop. */
void supervisor_signal(struct supervisor *s, int number);

/* Ends the job with a verdict: has it written, ends all processes and exits when the role agrees. A
 * second verdict changes nothing. */
void supervisor_conclude(struct supervisor *s, const struct verdict *verdict);
void supervisor_conclude_error(struct supervisor *s, const struct error *error, int host);
/* Likewise for a refusal by another host of the job: this container's result is not the job's. */
void supervisor_conclude_refused(struct supervisor *s, const struct error *error);
/* The master is lost and another host takes over (role_state.h): ends everything that runs, at once
 * and without a verdict, and then this role. */
void supervisor_follow(struct supervisor *s);
/* For a restarted first host: no host leads the job any more, so that its next role leads it anew.
 */
void supervisor_lead_anew(struct supervisor *s);
/* For a check: returns the port at which this host can be reached from now on, once its interface
 * is known; 0: none. */
uint16_t supervisor_examine_port(struct supervisor *s);
/* Has this host examined by the master's ORDER, and sends `examined`. */
void supervisor_examine(struct supervisor *s, const json_t *order);

/* Call it when the result of role->may_leave() or role->must_stay() may have changed. */
void supervisor_may_leave(struct supervisor *s);

/* Return the name of a host, and of this one. */
const char *supervisor_host_name(const struct supervisor *s, size_t index);
const char *supervisor_own_name(const struct supervisor *s);

#endif
