/* Ordered list of the checkpoints in a folder: by lineage, then by samples seen.
 *
 * Steps give no order, because with another batch size the same training takes other steps. A
 * *lineage* ("course" in files) numbers the starts that did not resume from the newest checkpoint.
 * Checkpoints of a later lineage are newer than all earlier ones, whatever their step. */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_LIST_H
#define TRAINER_CHECKPOINT_CHECKPOINT_LIST_H

#include "common/error.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes in a checkpoint's file: the state of the run, and how its network is built. */
#define CHECKPOINT_STATE "state"
#define CHECKPOINT_CONFIG "config"

enum { CHECKPOINT_PATH_MAX = 4096, CHECKPOINT_STEP_MAX = 999999999 };

/* Position of a checkpoint. The first two fields determine the order. */
struct checkpoint_position {
    int64_t lineage;
    int64_t samples; /* seen by the optimizer in all */
    int64_t step;    /* in the file's name */
};

/* Returns less than 0 if A is older than B, 0 for the same position. */
int checkpoint_position_compare(const struct checkpoint_position *a,
                                const struct checkpoint_position *b);

struct checkpoint_item {
    struct checkpoint_position position;
    bool readable; /* its header is valid; else only the step is known */
    bool newer;    /* written by a later version of this program */
    int os_errno;  /* not 0: the system refused to read it, so it may be valid */
};

struct checkpoint_list {
    struct checkpoint_item *items; /* owned; those without a position first, then newest first */
    size_t count;
    size_t capacity;
};

void checkpoint_list_done(struct checkpoint_list *list);
/* A missing folder holds none. A folder that the system refuses to read is an error
 * (EXIT_CODE_CONFIG). Reads only the headers. */
int checkpoint_list_read(struct checkpoint_list *list, const char *folder, struct error *err);

/* Fails (EXIT_CODE_CONFIG) with the name of the first file that the system refused to read. */
int checkpoint_list_check(const struct checkpoint_list *list, const char *folder,
                          struct error *err);

/* Writes FOLDER/step-STEP.safetensors. */
int checkpoint_path(const char *folder, int64_t step, char path[CHECKPOINT_PATH_MAX],
                    struct error *err);
/* Returns true if PATH does not exist, not even as a dangling link. */
bool checkpoint_is_gone(const char *path);
/* Returns true if a checkpoint may have this file name. */
bool checkpoint_is_name(const char *name);
/* Reads the position from the state in FILE; files of format version 1 have lineage 0. */
int checkpoint_position_of(const struct safetensors *file, struct checkpoint_position *ret,
                           struct error *err);

#define cleanup_checkpoint_list __attribute__((cleanup(checkpoint_list_done)))

#endif
