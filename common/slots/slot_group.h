/* Ranks of a job as slots see them (slots.h): the place of this one, and two collective
 * operations over whatever connects the ranks. */
#ifndef COMMON_SLOTS_SLOT_GROUP_H
#define COMMON_SLOTS_SLOT_GROUP_H

#include "common/error.h"

#include <stddef.h>

struct slot_group {
    int rank, size;
    int local_size; /* ranks on this host */
    void *context;
    /* ALL gets SIZE bytes of each rank, in rank order, on every rank. */
    int (*gather)(void *context, const void *bytes, size_t size, void *all, struct error *err);
    /* All ranks get the BYTES of rank 0. */
    int (*broadcast)(void *context, void *bytes, size_t size, struct error *err);
};

#endif
