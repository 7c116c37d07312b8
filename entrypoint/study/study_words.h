/* Words of `ringmaster trials` and `ringmaster scaling`:
 *
 *     trials [--once-per-host] FILE [--out DIR] [--then-best] -- PROGRAM ARGS
 *     scaling [--once-per-host] [--ranks 1,2,4] [--metric NAME] ... -- PROGRAM ARGS
 *
 * All hosts read the same ones, before anything runs. */
#ifndef ENTRYPOINT_STUDY_STUDY_WORDS_H
#define ENTRYPOINT_STUDY_STUDY_WORDS_H

#include "common/argv.h"
#include "common/error.h"
#include "common/scaling/scaling_variants.h"

#include <stdbool.h>

enum study_kind { STUDY_TRIALS, STUDY_SCALING };

/* NULL and 0: not given. All texts are borrowed. */
struct study_words {
    enum study_kind kind;
    bool once_per_host;
    const char *file; /* the plan of trials */
    const char *out;  /* never NULL */
    bool then_best;
    const char *ranks, *project, *prices, *unit;
    const char *metric;                        /* never NULL: throughput */
    bool per_rank;                             /* the metric is each rank's own */
    const char *variants[SCALING_STUDIES_MAX]; /* each NAME=WORDS (study_variant.h) */
    struct scaling_names names;                /* theirs */
    double samples;                            /* of the whole work */
    double limit;                              /* seconds for a size */
    const char *const *program;                /* NULL-terminated; at least one */
};

/* The command called NAME; -1: none. */
int study_kind_of(const char *name);

/* WORDS are those after the command's name. EXIT_CODE_USAGE. */
int study_words_read(enum study_kind kind, const char *const *words, struct study_words *ret,
                     struct error *err);

/* Checks WORDS, and appends those after `train` of a job: all its ranks run `ringmaster study` with
 * the same WORDS. */
int study_words_job(enum study_kind kind, const char *const *words, struct argv *ret,
                    struct error *err);

/* Appends the program's command line and then MORE, which may be NULL, with FOLDER in place of each
 * {dir}. */
int study_words_program(const struct study_words *w, const char *const *more, const char *folder,
                        struct argv *ret, struct error *err);

#endif
