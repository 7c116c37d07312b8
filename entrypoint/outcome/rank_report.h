/* Report on how one rank ended.
 *
 * It goes from the rank's shim to its supervisor, and from there to the master. */
#ifndef ENTRYPOINT_OUTCOME_RANK_REPORT_H
#define ENTRYPOINT_OUTCOME_RANK_REPORT_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RANK_REPORT_LINES_SIZE = 2048,
    RANK_REPORT_EVIDENCE_SIZE = 512,
    RANK_REPORT_SIGNAL_MAX = 64,
};

enum rank_end {
    RANK_EXITED,    /* value: exit code */
    RANK_SIGNALLED, /* value: signal */
    RANK_VANISHED,  /* its socket closed without a report; value 0 */
};

/* Records if ringmaster asked the program to end before it did. */
enum rank_cause { RANK_CAUSE_NONE, RANK_CAUSE_STOP, RANK_CAUSE_TEARDOWN };

/* Records if the kernel killed a process of the container for lack of memory since the attempt
 * began, according to its control group */
enum rank_memory { RANK_MEMORY_UNKNOWN, RANK_MEMORY_ENOUGH, RANK_MEMORY_KILLED };

/* Later times are refused, so that differences never overflow. */
#define RANK_REPORT_TIME_MAX (INT64_MAX / 4)

struct rank_report {
    unsigned rank;
    unsigned host; /* index in the cluster */
    enum rank_end end;
    int value;
    enum rank_cause cause;
    enum rank_memory memory; /* set by the supervisor, not by the shim */
    uint64_t
        step; /* the last one reported (common/system/progress.h); set by the supervisor; 0: none */
    int64_t time; /* of death; clock_boot() in ns, corrected to the master's by the master */
    int64_t
        raised; /* when it printed the exception that it ended with, on the same clock; 0: none */
    char evidence[RANK_REPORT_EVIDENCE_SIZE]; /* lines from elsewhere about it: "kernel: ...",
                                                 "exception: ..."; set by the supervisor. A shim's
                                                 is the exception alone (error_file.h) */
    char lines[RANK_REPORT_LINES_SIZE];       /* the program's last lines: UTF-8, '\n' between */
};

/* Keeps the end of SIZE bytes of output: whole UTF-8 characters, anything else replaced, no empty
 * lines, as much as fits. */
void rank_report_set_lines(struct rank_report *r, const char *bytes, size_t size);

/* Writes BYTES as valid UTF-8 without control characters; lines are kept, the end is cut. */
void rank_report_clean(const char *bytes, char *ret, size_t size);

/* Returns true if the program exited with 0. */
bool rank_report_is_good(const struct rank_report *r);
/* Returns true if it ended otherwise, and no request to end had reached it. */
bool rank_report_is_failure(const struct rank_report *r);

/* Describes how a rank ended, as text after "algo-1 rank 0: ". */
enum { RANK_REPORT_END_SIZE = 192 };
void rank_report_describe(const struct rank_report *r, char *text, size_t size);
/* Likewise for a process that is no rank. */
void rank_report_describe_signal(int number, enum rank_memory memory, char *text, size_t size);

/* Returns the members of a frame: rank, host, end, value, cause, memory, time, raised, evidence,
 * lines.
 * NULL when out of memory. */
json_t *rank_report_json(const struct rank_report *r);
/* Reads and checks everything that a peer may have got wrong: rank below RANKS, host below HOSTS.
 */
int rank_report_parse(const json_t *object, unsigned ranks, unsigned hosts, struct rank_report *ret,
                      struct error *err);

#endif
