/* What an evaluation leaves beside its figures, where its task has such: what was found, and a few
 * pictures of it beside the truth. By rank 0 alone; nothing of a training hangs on it.
 *
 *     FOLDER/detections.json                  of the last evaluation, in COCO's form of results
 *     FOLDER/pictures/step-000000120-17.jpg   after that step, of the image with id 17
 *
 * and the same pictures as TensorBoard events, "pictures/17". One process writes
 * EVAL_ARTIFACTS_FILES_MAX pictures and EVAL_ARTIFACTS_BYTES_MAX bytes of them at most; a word is
 * said when there are no more. */
#ifndef TRAINER_APP_RUN_EVAL_ARTIFACTS_H
#define TRAINER_APP_RUN_EVAL_ARTIFACTS_H

#include "common/error.h"
#include "trainer/app/task/score.h"
#include "trainer/telemetry/tfevents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVAL_ARTIFACTS_FILES_MAX = 4096, EVAL_ARTIFACTS_PICTURES_MAX = 64 };
#define EVAL_ARTIFACTS_BYTES_MAX ((size_t)256 << 20)

struct eval_artifacts {
    const char *folder;      /* borrowed; "": no files */
    struct tfevents *events; /* borrowed; NULL or closed: none */
    size_t pictures;         /* of an evaluation, at most */
    uint64_t seed;           /* which */
    double least_score;      /* of what is painted */
    bool needed;             /* a file that cannot be written is an error, and not a warning */
    int64_t step;            /* of the evaluation; the caller's */

    size_t files; /* so far */
    size_t bytes;
    bool told;
};

/* Before the work: the folders are made, and what is to be written there can be. Errors have
 * EXIT_CODE_CONFIG and begin with "--out". */
int eval_artifacts_check(const struct eval_artifacts *findings, const struct task *task,
                         struct error *err);

/* After score_end, on rank 0. */
int eval_artifacts_keep(struct eval_artifacts *findings, struct score *score, struct error *err);

#endif
