/* Checkpoints of a run in one folder: step-%09d.safetensors, the newest two kept. Written by rank 0
 * alone; found again by itself.
 *
 * The state is a JSON text of the caller's (step, epoch, seed, ranks, threads...), kept in the
 * file's metadata under "state". A checkpoint is valid when header and every tensor agree with
 * their checksums; finding skips damaged ones, newest first, and tells about each. Files left by an
 * interrupted write are removed at the next save. */
#ifndef CHECKPOINT_CHECKPOINT_H
#define CHECKPOINT_CHECKPOINT_H

#include "checkpoint/array.h"
#include "checkpoint/safetensors.h"
#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHECKPOINT_PATH_MAX = 4096, CHECKPOINT_KEEP = 2, CHECKPOINT_STEP_MAX = 999999999 };
enum { CHECKPOINT_ANY = CHECKPOINT_STEP_MAX + 1 };

#define CHECKPOINT_STATE "state"

/* Publishes FOLDER/step-STEP.safetensors and removes all but the newest CHECKPOINT_KEEP. FOLDER is
 * made when missing. RET_PATH may be NULL. */
int checkpoint_save(const char *folder, int64_t step, const struct array *arrays, size_t count,
                    const char *state, char ret_path[CHECKPOINT_PATH_MAX], struct error *err);

/* Finds the newest valid checkpoint of a step below BELOW and leaves it open in FILE. *RET_FOUND is
 * false, without error, when there is no folder or no valid file in it. One line for each damaged
 * file goes to NOTES (may be NULL). The state is safetensors_note(FILE, CHECKPOINT_STATE). */
int checkpoint_find(const char *folder, int64_t below, struct safetensors *file, int64_t *ret_step,
                    bool *ret_found, struct buf *notes, struct error *err);

/* Opens PATH as a checkpoint: valid in the sense above, or an error. */
int checkpoint_open(const char *path, struct safetensors *file, struct error *err);

#endif
