/* Checkpoints of a run in one folder: step-%09d.safetensors, the newest two kept, in the order of
 * checkpoint_list.h. Written by rank 0 alone; found again by itself.
 *
 * The state is a JSON text of the caller's, kept in the file's metadata under "state". Its
 * "course", "samples" and "step" are the place of the checkpoint. Under "config" it may say how to
 * build the network (checkpoint/model_config.h), so that others can score it. A checkpoint is valid
 * when header and every tensor agree with their checksums; finding passes damaged ones over, newest
 * first, and tells about each. A file that the system does not let us read (EACCES, EIO, ESTALE,
 * EMFILE, no memory, ...) is not damaged: whoever looks for a place to go on from ends with an
 * error instead of taking an older one.
 *
 * What cannot be read as a checkpoint is never removed, nor what another job is writing; what a
 * killed write has left is. Where the disk is full, older checkpoints make room, but never the
 * newest valid one. */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_H
#define TRAINER_CHECKPOINT_CHECKPOINT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/checkpoint/array.h"
#include "trainer/checkpoint/checkpoint_list.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdbool.h>

enum { CHECKPOINT_KEEP = 2 };

struct checkpoint_words {
    const char *state;
    const char *config; /* NULL: not told */
};

/* Publishes FOLDER/step-STEP.safetensors and removes all but the newest CHECKPOINT_KEEP. FOLDER is
 * made when missing. A line for each checkpoint that had to make room goes to NOTES; RET_PATH and
 * NOTES may be NULL. A disk that stays full is EXIT_CODE_CONFIG. */
int checkpoint_save(const char *folder, int64_t step, const struct array *arrays, size_t count,
                    const struct checkpoint_words *words, char ret_path[CHECKPOINT_PATH_MAX],
                    struct buf *notes, struct error *err);

/* Finds the newest valid checkpoint that is older than BELOW (NULL: any) and leaves it open in
 * FILE. *RET_FOUND is false, without error, when there is no folder or no valid file in it. One
 * line for each damaged file goes to NOTES (may be NULL). The state is safetensors_note(FILE,
 * CHECKPOINT_STATE). A folder or file that the system does not let us read is an error
 * (EXIT_CODE_CONFIG, os_errno), and so is a checkpoint of a later format version. */
int checkpoint_find(const char *folder, const struct checkpoint_place *below,
                    struct safetensors *file, struct checkpoint_place *ret_place, bool *ret_found,
                    struct buf *notes, struct error *err);

/* The newest place in FOLDER, of a valid checkpoint or not; false if there is none. The same
 * errors. */
int checkpoint_newest(const char *folder, struct checkpoint_place *ret_place, bool *ret_found,
                      struct error *err);

/* Opens PATH as a checkpoint: valid in the sense above, or an error: EXIT_CODE_CONFIG where the
 * system does not let us read what is there, else EXIT_CODE_DATA. */
int checkpoint_open(const char *path, struct safetensors *file, struct error *err);

#endif
