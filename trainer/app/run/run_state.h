/* Position and provenance of a run: the JSON that each checkpoint carries.
 *
 * The first group of fields is needed to resume. The second tells whether the resumed run will be
 * the same bit for bit. Files of format version 1 lack the fields marked with *, which then read
 * as 0 or "". */
#ifndef TRAINER_APP_RUN_RUN_STATE_H
#define TRAINER_APP_RUN_RUN_STATE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"

#include <stddef.h>
#include <stdint.h>

enum {
    RUN_STATE_TEXT = 128,
    RUN_STATE_OPTIONS = 4096,
    RUN_STATE_CLASSES = 128 * 1024, /* bytes of class names; longer lists are not recorded */
    RUN_STATE_JSON_MAX = 512 * 1024,
};

struct run_state {
    char model[RUN_STATE_TEXT];
    int64_t classes;
    int64_t step;         /* optimizer steps done */
    int64_t epoch;        /* the epoch that the next step belongs to, from 0 */
    int64_t images;       /* of that epoch that are done, over all ranks */
    int64_t global_batch; /* images a step, over all ranks */
    int64_t lineage;      /* * "course" in files; checkpoint/checkpoint_list.h */
    int64_t samples;      /* * images that the optimizer has seen in all */
    int64_t batches;      /* * training forward passes that a rank's batch norms have seen */
    char loss_scale[RUN_STATE_TEXT]; /* * of f16's gradients in the next step, 9 digits */
    int64_t good_steps;              /* * steps since the loss scale changed */
    int64_t updates;                 /* * steps that changed weights */
    int64_t epoch_images;            /* * images of an epoch */

    int64_t ranks;
    int64_t accumulate;
    int64_t batch_size;
    int64_t threads; /* compute threads of a rank */
    int64_t seed;
    int64_t image_size;
    int64_t total_steps; /* * last step of the schedule */
    char dtype[RUN_STATE_TEXT];
    char fusion[RUN_STATE_TEXT];
    char backend[RUN_STATE_TEXT];    /* with library and instruction set */
    char data[RUN_STATE_TEXT];       /* hash of the training set, hexadecimal */
    char data_name[RUN_STATE_TEXT];  /* * name of that set, for people: the end of its path */
    int64_t data_images;             /* * images in it */
    char program[RUN_STATE_TEXT];    /* * version of ringtrain, and of MPI if ranks all-reduce over
                                      * it */
    char options[RUN_STATE_OPTIONS]; /* * options that change bits: "lr=0.1 momentum=0.9 ..." */

    char init[RUN_STATE_TEXT]; /* * the end of --init's path; "none" without */

    char run[RUN_STATE_TEXT]; /* ringmaster's id of the run (common/run_id.h); "" if unknown */
};

/* Appends one line of JSON. CLASS_NAMES are the state's. */
int run_state_format(struct buf *out, const struct run_state *state, char *const *class_names,
                     struct error *err);
/* SOURCE names the text in errors (EXIT_CODE_DATA). All keys but "run" and those of later format
 * versions are required, and the numbers must be consistent. */
int run_state_parse(struct run_state *ret, const char *text, const char *source, struct error *err);

/* Returns the value of the option NAME, *RET_SIZE bytes long, among those of STATE, or NULL if it
 * was not recorded. */
const char *run_state_option(const struct run_state *state, const char *name, int *ret_size);

/* Continues in NOW, which describes the new run at its beginning, from the position of BEFORE. The
 * position is kept in images if the data is the same, else as a fraction of the epoch; it is
 * rounded down to whole steps of NOW, so a few images may be used twice. */
void run_state_go_on(struct run_state *now, const struct run_state *before);

/* Appends "threads 2 (was 4), lr 5 (was 0.1), ..." for the differences in the second group that
 * belong to KINDS (enum setting_kind, as bits); nothing if there are none. Values that an earlier
 * version did not record do not count. The data counts as SETTING_WAY. */
int run_state_differences(struct buf *out, const struct run_state *now,
                          const struct run_state *before, unsigned kinds, struct error *err);

/* Reads the class names in TEXT, a state as JSON; none if they were not recorded. Free them with
 * the second function. */
int run_state_classes(const char *text, char ***ret_names, size_t *ret_count, struct error *err);
void run_state_free_classes(char **names, size_t count);

#endif
