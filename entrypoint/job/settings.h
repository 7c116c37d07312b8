/* Settings from the RINGMASTER_* variables: one table with name, type, bounds, default and help,
 * which the parser, --help and `ringmaster plan` all read.
 *
 * An unknown RINGMASTER_* variable is an error, as a misspelt setting must not be ignored.
 * Variables that Kubernetes and Docker links make for a service called ringmaster are recognized by
 * their form and ignored with a warning. An empty value counts as not set. */
#ifndef ENTRYPOINT_JOB_SETTINGS_H
#define ENTRYPOINT_JOB_SETTINGS_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log/log.h"
#include "common/warnings.h"
#include "entrypoint/job/stop_signals.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prefix of a channel's name in a variable with its address (download_sources.h). */
#define SETTINGS_CHANNEL "RINGMASTER_CHANNEL_"

enum settings_logs { SETTINGS_LOGS_HOST, SETTINGS_LOGS_MASTER };

/* What starts ranks (launcher.h). */
enum settings_launcher {
    SETTINGS_LAUNCHER_AUTO,
    SETTINGS_LAUNCHER_MPIRUN,
    SETTINGS_LAUNCHER_DIRECT,
};

/* Which variables ranks get for an Elastic Fabric Adapter (machine/efa.h). */
enum settings_efa { SETTINGS_EFA_AUTO, SETTINGS_EFA_TOOLKIT };

/* Strings are borrowed from the parsed environment; NULL if not set. */
struct settings {
    const char *hosts;
    const char *host;
    const char *job;
    const char *interface;
    const char *key; /* secret */
    const char *key_file;
    const char *user;        /* user of the programs (os/run_as.h); NULL: this process's */
    const char *run;         /* directory for sockets; NULL: /run, else /tmp */
    const char *sharded;     /* channels with objects that hosts share, a,b */
    const char *checkpoints; /* this and the next: see upload_targets.h */
    const char *output;
    const char *base_dir;   /* SAGEMAKER_BASE_DIR, default /opt/ml */
    int64_t count;          /* for the table of platforms; 0: not set */
    int64_t ranks_per_host; /* 0: not set */
    int64_t port;
    int64_t stop_seconds; /* 0: not set, see settings_stop_seconds */
    int64_t time_limit;   /* s after which the platform stops the job; 0: not set */
    int stop_signal;
    struct stop_warning warning;
    int64_t ready_seconds;
    int64_t dead_seconds; /* after this silence a host is lost; see settings_dead() */
    int64_t
        stall_seconds; /* silence after which a rank that reports progress is stalled; 0: never */
    int64_t idle_seconds;   /* time without output and activity of all ranks that ends the job; 0:
                               never */
    int64_t fetch_seconds;  /* for all downloads before the job */
    int64_t upload_seconds; /* for all uploads at the end */
    int64_t restarts;       /* after the first launch; as the first host has it */
    int64_t min_hosts;      /* of a restart, with shrink */
    int64_t lost_ranks;     /* that an attempt may lose without ending */
    int64_t spares;         /* hosts without ranks (cluster/seats.h) */
    const char *restart_codes; /* codes of the program that allow a restart; NULL: none */
    bool fetch_once;           /* the first host downloads and shares with the others */
    bool stall_learned;        /* the learned limit of a rank's silence applies, too */
    bool shrink;
    bool failover; /* the loss of the first host is survived, too */
    bool require_key;
    bool tf_config; /* host/ranks/tf_environment.h */
    bool debug;
    bool evidence;        /* of ranks that hang (evidence/gather_table.h) */
    bool evidence_signal; /* SIGUSR2 is also sent to processes that handle it */
    bool stall_is_set;    /* stall_seconds is the user's own */
    bool events;          /* in output/data (observe/event_log.h) */
    int64_t metrics;      /* interval in seconds; 0: none */
    int64_t metrics_port; /* port of the exporter; 0: none */
    int64_t rank_logs;    /* MiB per rank there; 0: none */
    enum log_form form;   /* of ringmaster's own lines */
    /* "none", or a row of cluster/platform_table.c; NULL: not set */
    const char *platform;
    enum settings_logs logs;
    enum settings_launcher launcher;
    enum settings_efa efa;
};

enum { SETTINGS_DEAD_SECONDS = 10 };

/* Returns true if a lost host that is back may take part in another attempt, as itself or as a
 * spare. */
static inline bool settings_readmit(const struct settings *s) {
    return (s->shrink || s->spares > 0) && s->restarts > 0;
}

/* Returns how long a host may be silent, in ns. */
static inline int64_t settings_dead(const struct settings *s) {
    return s->dead_seconds * CLOCK_SECOND;
}

/* Returns the interval of heartbeats in a job of HOSTS, in ns: half a second, so that an outage
 * that ends a second before a host counts as lost is survived, whenever it began. A master of many
 * hosts sends and reads at most 250 a second, but at least three in the time after which a host is
 * lost, and one in 3 s. */
int64_t settings_beat(const struct settings *s, size_t hosts);

/* ENVIRONMENT is a NULL-terminated list of NAME=VALUE that outlives *RET. The first error counts;
 * what can be read is in *RET all the same, so that this host can still inform the others. */
int settings_parse(char *const *environment, struct settings *ret, struct warnings *warnings,
                   struct error *err);

/* Returns the time from a stop request to SIGKILL: the setting, else the platform's own GRACE (0:
 * unknown, counts as 120 s) minus a sixth of it, and at least 2 s, for files. */
int64_t settings_stop_seconds(const struct settings *s, unsigned grace);

/* Returns the help of the variable with this number, from 0, and its name; NULL after the last. */
const char *settings_help(size_t number, const char **ret_name);
/* Appends the table of all variables as Markdown (docs/reference/variables.md). */
int settings_page(struct buf *ret, struct error *err);

/* Returns true if CODES, a list like "1,40-49" in RINGMASTER_RESTART_CODES, has CODE. NULL has
 * none. */
bool settings_has_code(const char *codes, int code);

/* Writes the default of the setting with this NUMBER, to follow its help: " (default 7070)"; "" if
 * there is none, or if the help names it. */
enum { SETTINGS_DEFAULT_SIZE = 64 };
void settings_default(size_t number, char ret[SETTINGS_DEFAULT_SIZE]);

/* Returns name and value of every setting, for `plan`; the key as "***". The caller owns the
 * object; NULL when out of memory. */
json_t *settings_json(const struct settings *s);

#endif
