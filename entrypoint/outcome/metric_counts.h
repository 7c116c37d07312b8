/* Counts of matches of each metric definition.
 *
 * They tell how often each definition of the job matches what ranks print. A service ignores an
 * expression that matches nothing, without a message: here the job itself reports it at its end.
 *
 * Lines are looked at as they pass, in the loop: the head of a line only, and for so much of every
 * second at most. Lines beyond that are counted as unread. An expression that takes too long on one
 * line, or too much memory, is left out from then on. */
#ifndef ENTRYPOINT_OUTCOME_METRIC_COUNTS_H
#define ENTRYPOINT_OUTCOME_METRIC_COUNTS_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/warnings.h"
#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "entrypoint/outcome/regex.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRIC_COUNTS_HEAD = 4096 };
#define METRIC_COUNTS_SHARE (20 * CLOCK_MILLISECOND) /* of a second */

struct metric_count {
    char name[METRIC_NAME_SIZE];
    struct regex regex;
    uint64_t matches; /* of lines of this host */
    bool elsewhere;   /* it matched on another host */
    bool left_out;
};

/* Zeroed it counts nothing. */
struct metric_counts {
    struct metric_count *items;
    size_t count;
    struct regex_scratch *scratch;
    bool asked; /* the job has definitions of its own; else they are our trainer's */
    uint64_t lines;
    uint64_t unread;
    bool unread_reported;  /* to the first host */
    bool unread_elsewhere; /* another host has lines that there was no time for */
    int64_t second;        /* when the one began that SPENT is about */
    int64_t spent;
    int64_t (*now)(void);
};

/* Those of LIST, or where it is empty our trainer's. An expression that is not understood is left
 * out, with a warning. */
void metric_counts_open(struct metric_counts *c, const struct metric_definitions *list,
                        struct warnings *warnings);
void metric_counts_done(struct metric_counts *c);

/* LINE as it is printed, '\n' included. Returns a bit for each item that has matched for the first
 * time, and in *RET_LEFT_OUT one for each that was left out just now. */
uint64_t metric_counts_line(struct metric_counts *c, const char *line, size_t size,
                            uint64_t *ret_left_out);
/* Another host says that this one has matched there. */
void metric_counts_elsewhere(struct metric_counts *c, const char *name);

/* Whether there is anything to say: lines were looked at. */
bool metric_counts_any(const struct metric_counts *c);
/* Appends the names of those that no line matched, ", " between; those left out do not count. */
int metric_counts_never(const struct metric_counts *c, struct buf *ret, struct error *err);
/* Members of a record; NULL without memory. Of our trainer's those that matched. */
json_t *metric_counts_json(const struct metric_counts *c);

#endif
