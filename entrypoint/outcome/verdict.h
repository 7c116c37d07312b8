/* Verdict on how a job ended.
 *
 * The master judges once, from the reports of all ranks, and sends the verdict to every host. */
#ifndef ENTRYPOINT_OUTCOME_VERDICT_H
#define ENTRYPOINT_OUTCOME_VERDICT_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/outcome/rank_report.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VERDICT_CLASS_SIZE = 24,
    VERDICT_TEXT_SIZE = 768,
    VERDICT_LOG_TAIL_SIZE = RANK_REPORT_LINES_SIZE,
};

/* Prefix of mpirun's line, the last of the evidence. */
#define VERDICT_MPIRUN "mpirun: "

struct verdict {
    int code;                            /* the exit code of every container */
    int host;                            /* index, -1 for none in particular */
    int rank;                            /* -1 for none in particular */
    bool transient;                      /* another attempt may succeed; for the master only */
    char class_name[VERDICT_CLASS_SIZE]; /* exit_code_class, as the failure file's first word */
    char text[VERDICT_TEXT_SIZE];        /* "algo-3 rank 2: exited with 42" */
    char evidence[RANK_REPORT_EVIDENCE_SIZE]; /* lines from the kernel or mpirun about it; "" */
    char log_tail[VERDICT_LOG_TAIL_SIZE]; /* that rank's last lines, or what else explains it; "" */
};

struct verdict_loss {
    unsigned host;
    int64_t time;    /* ns, the master's clock */
    const char *why; /* "no heartbeat for 10 s", "its link closed" */
};

/* How mpirun or one of its daemons ended without a request. */
struct verdict_tool {
    int64_t time; /* ns, the master's clock; 0: none did */
    unsigned host;
    int signal; /* that killed it; 0: it exited with a code */
};

/* Times are clock_boot() of the master, ns; 0 means never. */
struct verdict_facts {
    const struct cluster *cluster; /* for names */
    size_t ranks;
    size_t started;                    /* ranks that have started */
    const unsigned *rank_host;         /* by rank: the host that it was placed on */
    const struct rank_report *reports; /* at most one per rank */
    size_t report_count;
    const bool *forgone; /* by rank: lost, and the others continued; NULL: none is */
    int64_t may_lose;    /* ranks that the attempt may lose (RINGMASTER_LOST_RANKS) */
    const struct verdict_loss *losses;
    size_t loss_count;
    int64_t stop_asked;
    unsigned stop_host; /* where the stop came from */
    int stop_signal;    /* that ranks were sent then; 0: none */
    int warned;         /* the signal that warned ranks of the end; 0: none */
    int64_t killed;     /* when the time of the stop was over */
    int64_t stalled;    /* when a stall was reported */
    unsigned stalled_rank;
    unsigned stalled_host;
    const char *stalled_states; /* what its threads waited in; may be NULL */
    const char *stuck;          /* which ranks waited for which; NULL or "": unknown */
    const char *others;    /* where other ranks were at the first failure; NULL or "": unknown */
    const char *lasting;   /* a rank that had not ended after an exception of its own; NULL or "":
                              none */
    int64_t lasting_since; /* when it printed that */
    int64_t dropped; /* when Open MPI first dropped a rank's connections because of their source
                        address */
    unsigned dropped_rank;
    const struct net_address *dropped_source;
    bool direct;     /* no mpirun was started */
    int mpirun_code; /* exit code or 128 + signal, -1 while it runs; only for texts */
    struct verdict_tool tool;
    const char *tool_words;   /* about that end, or why a daemon was refused; NULL or "": neither */
    const char *mpirun_words; /* the end of its stderr; may be NULL */
    const char *mpi_error_text; /* about an MPI error of the program; may be NULL */
};

/* Judges, in this order:
 *   1. a stop requested before any failure: 143, or 0 if every rank had ended with 0 before
 *     the request;
 *   2. a lost host: 73, the first one;
 *   3. the first failure without a request: of a rank (its code, 128 + signal, 130 becomes 1, 137
 *     for a vanished rank), a stall (74), connections that Open MPI drops (65), or the end of
 *     mpirun or a daemon by a signal (128 + signal), which ends its ranks;
 *   4. every rank reported and ended with 0 before an order to end: success, whatever mpirun says;
 *      ranks that are forgone need not, and are named (first_failure.h);
 *   5. else 70: a missing report is never success.
 *
 * Transient are a lost host, a stall, a rank that crashed, was killed or vanished, and the end of
 * mpirun or a daemon, or one caused by it, though no rank had failed: signals and networks do that,
 * not programs. Not transient are an exit code, which the program would return again, and a signal
 * that asks a program to end (SIGTERM, SIGINT, SIGHUP, SIGQUIT) or that warned it of the end. */
void verdict_judge(const struct verdict_facts *facts, struct verdict *ret);

/* Makes a verdict from an error of ringmaster's: on HOST, or -1. */
void verdict_from_error(const struct error *error, const struct cluster *cluster, int host,
                        struct verdict *ret);

/* The verdict as a frame (verdict_frame.c). The caller owns the object; NULL: no memory. */
json_t *verdict_json(const struct verdict *v);
/* Reads it; texts that are too long are cut. *RET is unspecified on failure. */
int verdict_parse(const json_t *object, struct verdict *ret, struct error *err);

/* Returns the exit code for a program's code: 130 (also SIGINT's 128 + 2) becomes 1. */
int verdict_program_code(int code);

#endif
