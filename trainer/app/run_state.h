/* Where a run stands and what it was made of: the JSON that each checkpoint carries. The first
 * group is needed to go on; the second tells whether the run that resumes is the same to the last
 * bit. */
#ifndef APP_RUN_STATE_H
#define APP_RUN_STATE_H

#include "common/buf.h"
#include "common/error.h"

#include <stdint.h>

enum { RUN_STATE_TEXT = 128, RUN_STATE_JSON_MAX = 64 * 1024 };

struct run_state {
    char model[RUN_STATE_TEXT];
    int64_t classes;
    int64_t step;         /* optimizer steps done */
    int64_t epoch;        /* the epoch that the next step belongs to, from 0 */
    int64_t images;       /* of that epoch that are done, over all ranks */
    int64_t global_batch; /* images a step, over all ranks */

    int64_t ranks;
    int64_t accumulate;
    int64_t batch_size;
    int64_t threads; /* compute threads of a rank */
    int64_t seed;
    int64_t image_size;
    char dtype[RUN_STATE_TEXT];
    char fusion[RUN_STATE_TEXT];
    char backend[RUN_STATE_TEXT]; /* with library and instruction set */
    char data[RUN_STATE_TEXT];    /* hash of the training set, hexadecimal */

    char run[RUN_STATE_TEXT]; /* ringmaster's name of it (common/attempt.h); "" where none was told
                               */
};

/* Appends one line of JSON. */
int run_state_format(struct buf *out, const struct run_state *state, struct error *err);
/* SOURCE names the text in errors (EXIT_CODE_DATA). Every key must be there but "run". */
int run_state_parse(struct run_state *ret, const char *text, const char *source, struct error *err);

/* Appends "threads 2 (was 4), ..." for what differs in the second group; nothing if all is the
 * same. */
int run_state_differences(struct buf *out, const struct run_state *now,
                          const struct run_state *before, struct error *err);

#endif
