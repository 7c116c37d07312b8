/* The RINGMASTER_* variables: one table with name, type, bounds, default and help, which the
 * parser, --help and `ringmaster plan` all read. An unknown RINGMASTER_* variable is an error: a
 * misspelt setting must not be ignored. Those that Kubernetes and docker links make of a service
 * called ringmaster are known by their shape and ignored with a warning. An empty value counts as
 * not set. */
#ifndef ENTRYPOINT_JOB_SETTINGS_H
#define ENTRYPOINT_JOB_SETTINGS_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/warnings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In front of a channel's name, a variable that says where it comes from (download_sources.h). */
#define SETTINGS_CHANNEL "RINGMASTER_CHANNEL_"

enum settings_logs { SETTINGS_LOGS_HOST, SETTINGS_LOGS_MASTER };

/* Strings are borrowed from the environment that was parsed; NULL where not set. */
struct settings {
    const char *hosts;
    const char *host;
    const char *job;
    const char *interface;
    const char *key; /* secret */
    const char *key_file;
    const char *user;        /* as whom programs run (os/run_as.h); NULL: as this process */
    const char *run;         /* folder for sockets; NULL: /run, else /tmp */
    const char *sharded;     /* channels whose objects hosts share, a,b */
    const char *checkpoints; /* both as upload_targets.h has them */
    const char *output;
    const char *base_dir; /* SAGEMAKER_BASE_DIR, default /opt/ml */
    int64_t count;        /* for the table of platforms; 0: not told */
    int64_t port;
    int64_t stop_seconds; /* 0: not told, see settings_stop_seconds */
    int64_t ready_seconds;
    int64_t dead_seconds;      /* a host that says nothing is lost; as settings_dead() */
    int64_t stall_seconds;     /* a rank that had reported progress and falls silent; 0: never */
    int64_t idle_seconds;      /* all ranks print nothing and do nothing; 0: that ends nothing */
    int64_t fetch_seconds;     /* for all that is fetched before the job */
    int64_t upload_seconds;    /* for all that is uploaded at the end */
    int64_t restarts;          /* after the first launch; as the first host has it */
    int64_t min_hosts;         /* of a restart, with shrink */
    const char *restart_codes; /* the program's own that are worth a restart; NULL: none */
    bool fetch_once;           /* by the first host, and passed on from host to host */
    bool stall_learned;        /* what a rank has shown limits its silence, too */
    bool shrink;
    bool failover; /* the first host may be lost, too */
    bool require_key;
    bool debug;
    bool events;          /* in output/data (observe/event_log.h) */
    int64_t metrics;      /* seconds between two writings of them; 0: none */
    int64_t metrics_port; /* where they are answered; 0: nowhere */
    int64_t rank_logs;    /* MiB a rank there; 0: none */
    enum log_form form;   /* of our own lines */
    /* "none", or the row of cluster/platform_table.c that counts; NULL: not said */
    const char *platform;
    enum settings_logs logs;
};

enum { SETTINGS_DEAD_SECONDS = 10 };

/* So long a host may say nothing, ns. */
static inline int64_t settings_dead(const struct settings *s) {
    return s->dead_seconds * CLOCK_SECOND;
}

/* Between two heartbeats of a job of HOSTS, ns: half a second, so that an outage that ends a second
 * before a host counts as lost is survived, whenever it began. A master of many hosts sends and
 * reads 250 a second at most, but three in the time after which a host is lost, and one in 3 s. */
int64_t settings_beat(const struct settings *s, size_t hosts);

/* ENVIRONMENT is a NULL-terminated list of NAME=VALUE that outlives *RET. The first error counts;
 * what can be read is in *RET all the same, so that this host can still tell the others. */
int settings_parse(char *const *environment, struct settings *ret, struct warnings *warnings,
                   struct error *err);

/* The time from a stop request to SIGKILL: as told, else what the platform's own GRACE (0: not
 * known, which counts as 120 s) leaves when a sixth of it, and at least 2 s, is kept for files. */
int64_t settings_stop_seconds(const struct settings *s, unsigned grace);

/* The help of the variable with this number, from 0, and its name; NULL behind the last. */
const char *settings_help(size_t number, const char **ret_name);
/* Appends the table of all variables as Markdown (docs/reference/variables.md). */
int settings_page(struct buf *ret, struct error *err);

/* Whether CODES, a list as RINGMASTER_RESTART_CODES holds it ("1,40-49"), has CODE. NULL has none.
 */
bool settings_has_code(const char *codes, int code);

/* What the setting with this NUMBER is where the variable is not set, to stand after its help:
 * " (default 7070)"; "" where there is none, or where the help says it. */
enum { SETTINGS_DEFAULT_SIZE = 64 };
void settings_default(size_t number, char ret[SETTINGS_DEFAULT_SIZE]);

/* Name and value of every setting, for `plan`; the key as "***". The caller owns the object; NULL
 * when out of memory. */
json_t *settings_json(const struct settings *s);

#endif
