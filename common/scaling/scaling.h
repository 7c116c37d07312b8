/* Measurements of one job at several sizes: throughput, efficiency, and what follows from a model
 * of it (scaling_model.h) and a table of prices (price_table.h) for sizes that were not measured.
 *
 * The job is the same at all sizes but for its number of ranks, each of which has the same batch:
 * weak scaling. A size that failed is a point with the reason. Variants of a job, such as
 * strategies, are a chain of studies, which one report compares. Owned by the caller; pointers are
 * borrowed. */
#ifndef COMMON_SCALING_SCALING_H
#define COMMON_SCALING_SCALING_H

#include "common/scaling/price_table.h"
#include "common/scaling/scaling_model.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SCALING_POINTS_MAX = 64,
    SCALING_PROJECTED_MAX = 16,
    SCALING_TEXT_SIZE = 256,
    SCALING_RANKS_MAX = 1 << 20,
    SCALING_STUDIES_MAX = 4,
    SCALING_VARIANT_SIZE = 32,
};

struct scaling_point {
    int ranks;
    int hosts;            /* 0: unknown */
    int on_one;           /* ranks with the same cores, where most are; 0: unknown */
    double rate;          /* samples a second of all ranks */
    double exposed;       /* share of a step that waits for other ranks; NaN: unknown */
    double start_seconds; /* from the launch to the end of the first step; NaN: unknown */
    char failure[SCALING_TEXT_SIZE]; /* "": none */
};

struct scaling_study {
    struct scaling_study *next;                      /* of another variant; NULL: the last one */
    char variant[SCALING_VARIANT_SIZE];              /* "": there is but one */
    const char *program;                             /* "ringtrain scaling" */
    char job[SCALING_TEXT_SIZE];                     /* its command line, for people */
    char place[SCALING_TEXT_SIZE];                   /* where it ran, for people */
    char unit[32];                                   /* of rates, "images/s" */
    double total;                                    /* samples to train on in all; NaN: unknown */
    double batch;                                    /* samples a rank and step; NaN: unknown */
    struct scaling_point points[SCALING_POINTS_MAX]; /* by ascending ranks */
    size_t count;
    int projected[SCALING_PROJECTED_MAX]; /* ranks, ascending */
    size_t projected_count;
    int cores;                /* that ranks of a host share; 0: unknown */
    int threads;              /* compute threads a rank; 0: unknown */
    struct scaling_comm comm; /* RANKS 0: not measured */
    struct scaling_model model;
    struct scaling_check check;       /* the model on sizes that it was not fitted to */
    const struct price_table *prices; /* borrowed; NULL: none */
};

/* Parses "1,2,4" into ascending RET of at most ROOM numbers, 1 .. MOST. Returns the count, -1 with
 * EXIT_CODE_USAGE. */
int scaling_parse_sizes(const char *text, int most, int *ret, size_t room, struct error *err);

/* Powers of two below MOST, and MOST; returns how many there are. */
size_t scaling_default_sizes(int most, int ret[SCALING_POINTS_MAX]);

/* The sizes that a user gives as TEXT of --ranks, or the default ones where that is NULL, in RET.
 */
int scaling_sizes(const char *text, int most, int ret[SCALING_POINTS_MAX], size_t *ret_count,
                  struct error *err);
/* Sets the numbers of ranks to project to from TEXT of --project: numbers, or "none". */
int scaling_project(struct scaling_study *s, const char *text, struct error *err);

/* Adds a size and returns it; NULL: there is no room. Sizes ascend. */
struct scaling_point *scaling_add(struct scaling_study *s, int ranks, int hosts);
bool scaling_is_measured(const struct scaling_point *p);
/* Fits the model to all measured points, and checks it. Call it once all are there. */
void scaling_conclude(struct scaling_study *s);

/* Throughput a rank relative to that of the smallest measured size, as a share; NaN: unknown. */
double scaling_efficiency(const struct scaling_study *s, double rate, int ranks);
/* The seconds of a whole training at RATE with a start of START seconds; NaN: unknown. */
double scaling_seconds(const struct scaling_study *s, double rate, double start);
/* Compute threads a core where most ranks are, 1 at least. */
double scaling_crowd(const struct scaling_study *s, const struct scaling_point *p);
/* Why the model projects nothing; NULL: it does. */
const char *scaling_refusal(const struct scaling_study *s);
/* What the model says of a size with as many cores a rank as the smallest measured one: samples a
 * second. NaN: nothing. */
double scaling_projected_rate(const struct scaling_study *s, int ranks);
/* The longest start-up that was measured; NaN: none was. */
double scaling_start(const struct scaling_study *s);

#endif
