/* History of a run, read from its run.jsonl (docs/reference/run-log.md).
 *
 * It holds the course that led to the last state: where a run continued from an earlier step,
 * points of later steps are dropped, as they were lost. Memory is bounded: a curve of more points
 * than HISTORY_POINTS_MAX keeps every second, fourth ... one. Lines that are not as documented are
 * counted and skipped. */
#ifndef TRAINER_REPORT_RUN_HISTORY_H
#define TRAINER_REPORT_RUN_HISTORY_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_CURVES_MAX = 64,
    HISTORY_POINTS_MAX = 4096,
    HISTORY_ATTEMPTS_MAX = 1000,
    HISTORY_NAME_SIZE = 64,
    HISTORY_TIME_SIZE = 32,
};

struct history_point {
    double step;
    double value; /* NaN: it was not finite */
};

/* A number over steps. */
struct history_curve {
    char name[HISTORY_NAME_SIZE];
    bool evaluated;               /* of evaluations, not of steps */
    struct history_point *points; /* owned */
    size_t count, capacity;
    size_t stride, passed;     /* every STRIDE-th point is kept; PASSED since the last one */
    struct history_point last; /* the newest point, kept or not */
};

/* Where the time of a process went, in seconds. NaN: not known. */
enum history_part {
    HISTORY_ALL,
    HISTORY_TRAINING,
    HISTORY_DATA,  /* part of training */
    HISTORY_RANKS, /* part of training */
    HISTORY_EVALUATION,
    HISTORY_CHECKPOINTS,
    HISTORY_PARTS
};

/* A process that trained: its lines from one of kind run to the next. */
struct history_attempt {
    char begun[HISTORY_TIME_SIZE], last[HISTORY_TIME_SIZE]; /* times of its lines */
    bool started;                                           /* a first step is known */
    double from, to;                                        /* steps */
    bool ended;                                             /* by itself, with CODE */
    double code, ranks, number;
    double parts[HISTORY_PARTS];
};

struct run_history {
    struct history_curve *curves; /* owned */
    size_t curve_count;
    struct history_attempt *attempts; /* owned; the last HISTORY_ATTEMPTS_MAX */
    size_t attempt_count, attempts_dropped;
    json_t *run;        /* owned; line of kind run of the last process that began to train; of
                         * the last process if none did, NULL: none */
    json_t *next;       /* owned; of the last process if it has not begun to train, but one before
                         * it has; NULL otherwise */
    bool trained;       /* RUN began to train */
    json_t *classes;    /* owned; last line of kind classes, NULL: none */
    json_t *failure;    /* owned; line of kind failure of the last process, NULL: none */
    double checkpoints; /* that were saved */
    size_t lines, bad;  /* of BAD the reader could make nothing */
};

/* Zeroed, it is empty. */
void run_history_done(struct run_history *h);

/* Adds a line, without its end. Fails only for want of memory. */
int run_history_line(struct run_history *h, const char *bytes, size_t size, struct error *err);

/* Adds all lines of the file PATH. If it does not exist, the error has os_errno ENOENT. */
int run_history_read(struct run_history *h, const char *path, struct error *err);

/* Returns the curve of that name; NULL: there is none. */
const struct history_curve *run_history_curve(const struct run_history *h, const char *name,
                                              bool evaluated);

/* Returns the seconds that all attempts spent on PART, as far as they are known. */
double run_history_seconds(const struct run_history *h, enum history_part part);

#define cleanup_run_history __attribute__((cleanup(run_history_done)))

#endif
