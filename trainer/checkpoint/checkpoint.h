/* Checkpoints of a run in one folder: step-%09d.safetensors, the newest few kept, in the order of
 * checkpoint_list.h. Written by rank 0 only.
 *
 * The state is the caller's JSON text, stored in the file's metadata under "state". Its "course",
 * "samples" and "step" are the checkpoint's position. Under "config" the metadata may describe the
 * network (checkpoint/model_config.h), so that others can score it.
 *
 * A checkpoint is valid if its header and all tensors match their checksums. A search goes from the
 * newest to the oldest, skips damaged files and reports each. A file that the system refuses to
 * read (EACCES, EIO, ESTALE, EMFILE, out of memory, ...) does not count as damaged. The search then
 * fails, instead of resuming from an older checkpoint.
 *
 * Files that cannot be read as a checkpoint are never removed, nor are files that another job is
 * writing; leftovers of a killed write are removed. If the disk is full, older checkpoints are
 * removed to make room, but never the newest valid one. */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_H
#define TRAINER_CHECKPOINT_CHECKPOINT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/checkpoint/array.h"
#include "trainer/checkpoint/checkpoint_list.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdbool.h>

/* How many are kept unless another number is asked for. */
enum { CHECKPOINT_KEEP = 2 };

struct checkpoint_words {
    const char *state;
    const char *config; /* NULL: unknown */
};

/* Writes FOLDER/step-STEP.safetensors atomically and removes all but the newest KEEP, at least 1.
 * Creates FOLDER if it is missing. Adds a line to NOTES for each checkpoint removed to make room.
 * RET_PATH and NOTES may be NULL. A disk that stays full is EXIT_CODE_CONFIG. */
int checkpoint_save(const char *folder, int64_t step, int keep, const struct array *arrays,
                    size_t count, const struct checkpoint_words *words,
                    char ret_path[CHECKPOINT_PATH_MAX], struct buf *notes, struct error *err);

/* Finds the newest valid checkpoint older than BELOW (NULL: any) and leaves it open in FILE. Its
 * state is safetensors_note(FILE, CHECKPOINT_STATE). *RET_FOUND is false, without an error, if
 * there is no folder or no valid file in it. Adds one line for each damaged file to NOTES (may be
 * NULL). Fails for a folder or file that the system refuses to read (EXIT_CODE_CONFIG, os_errno),
 * and for a checkpoint of a later format version. */
int checkpoint_find(const char *folder, const struct checkpoint_position *below,
                    struct safetensors *file, struct checkpoint_position *ret_position,
                    bool *ret_found, struct buf *notes, struct error *err);

/* Returns the newest position in FOLDER, of a valid checkpoint or not; false if there is none. The
 * same errors. */
int checkpoint_newest(const char *folder, struct checkpoint_position *ret_position, bool *ret_found,
                      struct error *err);

/* Opens PATH as a checkpoint and verifies it as above. EXIT_CODE_CONFIG if the system refuses to
 * read it, EXIT_CODE_DATA for an invalid file. */
int checkpoint_open(const char *path, struct safetensors *file, struct error *err);

#endif
