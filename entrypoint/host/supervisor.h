/* What master and worker have in common: the loop, signals, children, the door for this container's
 * processes, the host itself (executor.h), and the way out. A role embeds a supervisor, is told of
 * what happens through its table, and ends the job for this container by supervisor_conclude(). */
#ifndef ENTRYPOINT_HOST_SUPERVISOR_H
#define ENTRYPOINT_HOST_SUPERVISOR_H

#include "entrypoint/host/executor.h"
#include "entrypoint/host/metrics_exporter.h"
#include "entrypoint/host/mpi_setup.h"
#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/observe/failure_writer.h"
#include "entrypoint/host/port_wait.h"
#include "entrypoint/host/preflight/preflight_probe.h"
#include "entrypoint/host/provision/fetch_progress.h"
#include "entrypoint/host/provision/input_download.h"
#include "entrypoint/host/provision/output_upload.h"
#include "entrypoint/host/provision/pip_install.h"
#include "entrypoint/host/role_state.h"
#include "entrypoint/host/tls_contexts.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/os/console.h"
#include "entrypoint/os/log_console.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/outcome/verdict.h"
#include "entrypoint/wire/control_socket.h"

#include <stdbool.h>

/* What a master or worker is run with. */
struct supervisor_options {
    struct job *job;               /* cluster and ports are there even with a fault */
    char *const *environment;      /* this process's own */
    const char *const *arguments;  /* the words behind `train` */
    const struct error *fault;     /* what was wrong with the rest of the job; NULL: nothing */
    bool check;                    /* `ringmaster check`: nothing is fetched */
    bool json;                     /* its rows as JSON */
    bool *begun;                   /* set once the loop may run: from then on programs may, too */
    struct role_state *role_state; /* NULL: none */
};

struct role {
    /* What the job needs is being fetched or installed, so far as s->mark tells: when that begins,
     * and whenever it has got further. From then on hosts may meet. Not called where nothing is to
     * be fetched.
     */
    void (*fetching)(void *state);
    /* Everything that this container needs for the job has been found, or s->fault says what has
     * not; called once, from the loop. */
    void (*start)(void *state);
    /* A word of this container's host to the master; takes the reference. */
    void (*tell)(void *state, json_t *message);
    size_t (*queued)(void *state);
    /* A remote-launch agent; the link is the callee's. */
    void (*agent)(void *state, struct link *link, const json_t *message);
    /* SIGTERM, SIGINT or SIGHUP came; AGAIN for a SIGTERM or SIGINT a second or more later. */
    void (*stop)(void *state, bool again);
    /* Appends what this role knows for monitoring (observe/openmetrics.h); NULL: nothing. */
    int (*measure)(void *state, struct buf *ret, struct error *err);
    /* All processes are gone: is there nobody that has to be waited for? */
    bool (*may_leave)(void *state);
    /* Is there somebody without whom this container does not leave, however long that takes? NULL:
     * there is not. It may take as long as a lease. */
    bool (*must_stay)(void *state);
};

struct supervisor {
    struct job *job;
    char *const *environment;
    const struct role *role;
    void *state;
    struct loop loop;
    struct reaper reaper;
    struct process_tree sweep;
    struct failure_writer failure;
    struct event_log event_log;
    struct console console; /* what programs print */
    struct log_console words;
    struct control_socket local;
    struct mpi_install tools;
    struct mpi_setup mpi_setup;
    struct executor host;
    struct tls_contexts contexts;
    struct role_state *role_state; /* NULL: none */
    struct port_wait port_wait;    /* what the lost master's attempt left */
    struct input_download input_download;
    struct preflight_probe examining; /* of a check */
    uint16_t examine_port;            /* where others dial this host for it; 0: nowhere */
    bool check;
    struct pip_install installing;
    struct output_upload uploading; /* open where the job has targets */
    struct fetch_progress mark;     /* how far fetching is */
    const char *const *arguments;
    struct timer meet;
    struct timer begin;
    struct timer leave; /* then nobody is waited for but those that role->must_stay() knows */
    struct metrics_exporter metrics_exporter;
    struct error fault; /* code 0: none */
    struct verdict verdict;
    bool judged;
    bool at_once; /* programs are killed, as others may run by now */
    bool swept;
    bool overdue;       /* it would have left by now */
    bool tried_again;   /* to write what there was no process for */
    int64_t stop_asked; /* the first time; 0: never */
};

/* OPTIONS' pointers outlive it. An error here is one that this container can only tell itself;
 * others become s->fault, for the master to tell everybody. */
int supervisor_open(struct supervisor *s, const struct supervisor_options *options,
                    const struct role *role, void *state, struct error *err);
/* Runs to the end and returns the code to leave with. */
int supervisor_run(struct supervisor *s, int *ret_code, struct error *err);
void supervisor_close(struct supervisor *s);

/* The verdict stands: has it written down, ends all processes and leaves when the role agrees. A
 * second verdict changes nothing. */
void supervisor_conclude(struct supervisor *s, const struct verdict *verdict);
void supervisor_conclude_error(struct supervisor *s, const struct error *error, int host);
/* Another host of the job has refused this one for that: what becomes of it is not the job's. */
void supervisor_conclude_refused(struct supervisor *s, const struct error *error);
/* The master is lost and another host follows (role_state.h): ends all that runs, at once and
 * without a verdict, and then this life. */
void supervisor_follow(struct supervisor *s);
/* Of a check: where this host can be dialled from now on, once its interface is known; 0: nowhere.
 */
uint16_t supervisor_examine_port(struct supervisor *s);
/* Has this host look at itself by ORDER, the master's, and tell `examined`. */
void supervisor_examine(struct supervisor *s, const json_t *order);

/* To be called when what role->may_leave() or role->must_stay() says may have changed. */
void supervisor_may_leave(struct supervisor *s);

/* The name of the host with this index, and of this one. */
const char *supervisor_host_name(const struct supervisor *s, size_t index);
const char *supervisor_own_name(const struct supervisor *s);

#endif
