/* The checkpoints of a folder in their order: by course, then by samples seen. Steps are no order:
 * with another batch size the same training takes other steps. A course is one line of training;
 * a start that does not go on from the newest checkpoint begins another one, so that what it
 * writes is newer than all that lies there. */
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

/* Where a checkpoint stands. The first two decide about the order. */
struct checkpoint_place {
    int64_t course;
    int64_t samples; /* that the optimizer has seen in all */
    int64_t step;    /* in the file's name */
};

/* Below 0 if A is older than B, 0 for the same place. */
int checkpoint_place_compare(const struct checkpoint_place *a, const struct checkpoint_place *b);

struct checkpoint_item {
    struct checkpoint_place place;
    bool readable; /* its header is valid; else only the step is known */
    bool newer;    /* written by a later version of this program */
    int os_errno;  /* not 0: the system did not let it be read, so that it may well be valid */
};

struct checkpoint_list {
    struct checkpoint_item *items; /* owned; those without a place first, then newest first */
    size_t count;
    size_t capacity;
};

void checkpoint_list_done(struct checkpoint_list *list);
/* A folder that is not there holds none; one that the system does not let us read is an error
 * (EXIT_CODE_CONFIG). Reads the headers alone. */
int checkpoint_list_read(struct checkpoint_list *list, const char *folder, struct error *err);

/* An error (EXIT_CODE_CONFIG) that names the first file which the system did not let us read. */
int checkpoint_list_check(const struct checkpoint_list *list, const char *folder,
                          struct error *err);

/* FOLDER/step-STEP.safetensors. */
int checkpoint_path(const char *folder, int64_t step, char path[CHECKPOINT_PATH_MAX],
                    struct error *err);
/* Whether there is nothing by this name, not even a link that leads nowhere. */
bool checkpoint_is_gone(const char *path);
/* Whether a file of this name is a checkpoint. */
bool checkpoint_is_name(const char *name);
/* The place that the state in FILE tells; files of format version 1 count as course 0. */
int checkpoint_place_of(const struct safetensors *file, struct checkpoint_place *ret,
                        struct error *err);

#define cleanup_checkpoint_list __attribute__((cleanup(checkpoint_list_done)))

#endif
