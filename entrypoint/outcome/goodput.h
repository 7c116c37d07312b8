/* Goodput accounting of a job: what became of its time, by the master's clock.
 *
 * Every moment from the start of the job to its end is one of
 *   - start-up: until all ranks of the first attempt have started;
 *   - useful: ranks run, and what they did was kept;
 *   - checkpoints: ranks say that they stood still to write one;
 *   - lost: ranks ran, and what they did since their last checkpoint went with the attempt;
 *   - down: from the first failure of an attempt until all ranks of the next one have started.
 *
 * Lost and down time are counted by the cause of the failure. Of an attempt that goes well, or that
 * was stopped on request, nothing is lost. Programs say how far they have saved (progress.h); of
 * one that does not, all the time of a failed attempt is lost.
 *
 * Pure: the caller passes the time, clock_boot(), in ns. Zeroed, it has not begun. */
#ifndef ENTRYPOINT_OUTCOME_GOODPUT_H
#define ENTRYPOINT_OUTCOME_GOODPUT_H

#include "entrypoint/outcome/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum goodput_cause {
    GOODPUT_RANK,   /* a rank crashed, was killed or failed */
    GOODPUT_HOST,   /* a host was lost */
    GOODPUT_STALL,  /* a rank stood still */
    GOODPUT_LAUNCH, /* mpirun, a daemon or the launch failed */
    GOODPUT_CAUSES,
};

enum goodput_span { GOODPUT_STARTING, GOODPUT_RUNNING, GOODPUT_DOWN, GOODPUT_OVER };

/* Times in ns. */
struct goodput {
    enum goodput_span span;
    int64_t since;            /* the begin of the span */
    int64_t saved_at;         /* while ranks run: the last checkpoint; 0: none */
    int64_t pause;            /* while ranks run: how long they stood still for checkpoints */
    int64_t saved_pause;      /* of that, until the last checkpoint */
    enum goodput_cause cause; /* of the last failure */
    unsigned failures;
    int64_t startup;
    int64_t useful;
    int64_t checkpoints;
    int64_t lost[GOODPUT_CAUSES];
    int64_t down[GOODPUT_CAUSES];
};

/* The job begins. */
void goodput_begin(struct goodput *g, int64_t now);
/* All ranks of the attempt have started. */
void goodput_started(struct goodput *g, int64_t now);
/* A rank's last checkpoint was complete AT (0: none was), and all that it wrote in this attempt
 * took PAUSE. */
void goodput_saved(struct goodput *g, int64_t at, int64_t pause);
/* The attempt failed AT, and another one follows. */
void goodput_failed(struct goodput *g, int64_t at, enum goodput_cause cause);
/* The job ends, because of FAILURE or well. */
void goodput_end(struct goodput *g, int64_t at, bool failure, enum goodput_cause cause);

/* Returns what it would be if the job went well until NOW. */
struct goodput goodput_at(const struct goodput *g, int64_t now);
/* Returns the sum of all. */
int64_t goodput_total(const struct goodput *g);
/* Returns the useful part of it, from 0 to 1; 1 of nothing. */
double goodput_ratio(const struct goodput *g);

/* Returns the cause of an attempt's end by its verdict. */
enum goodput_cause goodput_cause_of(const struct verdict *v);
const char *goodput_cause_name(enum goodput_cause cause);

enum { GOODPUT_TEXT_SIZE = 512 };
/* Describes it, for the log: "goodput 97.1 %: useful 3496.1 s, ...". */
void goodput_text(const struct goodput *g, char ret[GOODPUT_TEXT_SIZE]);
/* Returns the members of the event, owned by the caller: seconds. */
json_t *goodput_record(const struct goodput *g);

/* What a master tells the hosts when an attempt begins, from which the next master continues;
 * owned by the caller. */
json_t *goodput_json(const struct goodput *g);
/* Reads it as it is NOW, while the job is down; returns false and leaves RET unchanged if it is
 * none. */
bool goodput_parse(const json_t *object, int64_t now, struct goodput *ret);

#endif
