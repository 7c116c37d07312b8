/* Where a run stands and what it was made of: the JSON that each checkpoint carries. The first
 * group is needed to go on; the second tells whether the run that resumes is the same to the last
 * bit. Files of format version 1 lack what is marked with *; it then reads as 0 or "". */
#ifndef TRAINER_APP_RUN_RUN_STATE_H
#define TRAINER_APP_RUN_RUN_STATE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"

#include <stddef.h>
#include <stdint.h>

enum {
    RUN_STATE_TEXT = 128,
    RUN_STATE_OPTIONS = 2048,
    RUN_STATE_CLASSES = 128 * 1024, /* bytes of class names; more are not recorded */
    RUN_STATE_JSON_MAX = 512 * 1024,
};

struct run_state {
    char model[RUN_STATE_TEXT];
    int64_t classes;
    int64_t step;         /* optimizer steps done */
    int64_t epoch;        /* the epoch that the next step belongs to, from 0 */
    int64_t images;       /* of that epoch that are done, over all ranks */
    int64_t global_batch; /* images a step, over all ranks */
    int64_t course;       /* * checkpoint/checkpoint_list.h */
    int64_t samples;      /* * that the optimizer has seen in all */
    int64_t batches;      /* * forward passes of training that a rank's norms have seen */
    char loss_scale[RUN_STATE_TEXT]; /* * of f16's gradients in the next step, 9 digits */
    int64_t good_steps;              /* * since it last changed */
    int64_t epoch_images;            /* * that an epoch takes */

    int64_t ranks;
    int64_t accumulate;
    int64_t batch_size;
    int64_t threads; /* compute threads of a rank */
    int64_t seed;
    int64_t image_size;
    int64_t total_steps; /* * at which the schedule ends */
    char dtype[RUN_STATE_TEXT];
    char fusion[RUN_STATE_TEXT];
    char backend[RUN_STATE_TEXT];   /* with library and instruction set */
    char data[RUN_STATE_TEXT];      /* hash of the training set, hexadecimal */
    char data_name[RUN_STATE_TEXT]; /* * of that set, for people: the end of its path */
    int64_t data_images;            /* * in it */
    char program[RUN_STATE_TEXT];   /* * version of ringtrain, and of MPI where ranks sum over it */
    char options[RUN_STATE_OPTIONS]; /* * those that change bits: "lr=0.1 momentum=0.9 ..." */

    char init[RUN_STATE_TEXT]; /* * the end of --init's path; "none" without */

    char run[RUN_STATE_TEXT]; /* ringmaster's name of it (common/run_id.h); "" where none was told
                               */
};

/* Appends one line of JSON. CLASS_NAMES are the state's. */
int run_state_format(struct buf *out, const struct run_state *state, char *const *class_names,
                     struct error *err);
/* SOURCE names the text in errors (EXIT_CODE_DATA). Every key must be there but "run" and those of
 * later format versions than the first, and the numbers must agree. */
int run_state_parse(struct run_state *ret, const char *text, const char *source, struct error *err);

/* The value of the option NAME, of *RET_SIZE bytes, among those of STATE; NULL where it was not
 * recorded. */
const char *run_state_option(const struct run_state *state, const char *name, int *ret_size);

/* Goes on in NOW, which describes the new run at its beginning, where BEFORE stood. The place is
 * kept in images where the data is the same, and as a share of the epoch where it is other data;
 * rounded down to whole steps of NOW, so that a few images may come twice. */
void run_state_go_on(struct run_state *now, const struct run_state *before);

/* Appends "threads 2 (was 4), lr 5 (was 0.1), ..." for what differs in the second group and is of
 * one of KINDS (enum setting_kind, as bits); nothing if all is the same. What an earlier version
 * did not record is no difference. The data counts as SETTING_WAY. */
int run_state_differences(struct buf *out, const struct run_state *now,
                          const struct run_state *before, unsigned kinds, struct error *err);

/* The names of classes in TEXT, a state as JSON, to be freed with the second function; none where
 * they were not recorded. */
int run_state_classes(const char *text, char ***ret_names, size_t *ret_count, struct error *err);
void run_state_free_classes(char **names, size_t count);

#endif
