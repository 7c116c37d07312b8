/* Artifacts of an evaluation: detections, and pictures of predictions beside the ground truth, of a
 * classification those of its worst mistakes. Written by rank 0; training does not depend on them.
 *
 *     FOLDER/detections.json                  of the last evaluation, in COCO's results format
 *     FOLDER/pictures/step-000000120-17.jpg   after that step, of the image with id 17
 *                                            (for a classification: of the 17th worst mistake)
 *
 * The same pictures become TensorBoard events, "pictures/17". One process writes at most
 * EVAL_ARTIFACTS_FILES_MAX pictures and EVAL_ARTIFACTS_BYTES_MAX bytes of them; it logs once that
 * the limit is reached. */
#ifndef TRAINER_APP_RUN_EVAL_ARTIFACTS_H
#define TRAINER_APP_RUN_EVAL_ARTIFACTS_H

#include "common/error.h"
#include "trainer/app/task/class_tally.h"
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
    size_t pictures;         /* at most, in one evaluation */
    uint64_t seed;           /* chooses the pictures */
    double least_score;      /* of drawn objects */
    bool needed;             /* a file that cannot be written is an error, not a warning */
    int64_t step;            /* of the evaluation; set by the caller */

    size_t files; /* written so far */
    size_t bytes;
    bool told;
};

/* Call before the work: creates the folders and checks that they are writable. Errors have
 * EXIT_CODE_CONFIG and begin with "--out". */
int eval_artifacts_check(const struct eval_artifacts *artifacts, const struct task *task,
                         struct error *err);

/* Writes the artifacts of SCORE. Call after score_end, on rank 0. TALLY has the mistakes of a
 * classification; NULL: none are shown. */
int eval_artifacts_keep(struct eval_artifacts *artifacts, struct score *score,
                        const struct class_tally *tally, struct error *err);

#endif
