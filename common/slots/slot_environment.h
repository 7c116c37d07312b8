/* Environment of a process that is a rank of a slice: as this process's own, without what a
 * launcher has said of the ranks of the whole job, and with the place in the slice instead. */
#ifndef COMMON_SLOTS_SLOT_ENVIRONMENT_H
#define COMMON_SLOTS_SLOT_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* The process that a child has to end with (slot_parent_follow). */
#define SLOT_PARENT_VARIABLE "RINGTRAIN_PARENT"

struct slot_place {
    int rank, size; /* SIZE 1: no other rank, and without ALWAYS only DEVICES is looked at */
    int local_rank, local_size;
    const char *address; /* of the slice's first rank */
    int port;
    const char *job;     /* distinguishes slices that might meet by mistake */
    const char *devices; /* for CUDA_VISIBLE_DEVICES; "": as it is */
    bool always;         /* a rank that is alone gets the place, too */
};

/* Fills RET from ENVIRONMENT, a list of NAME=VALUE. */
int slot_environment(struct argv *ret, char *const *environment, const struct slot_place *place,
                     struct error *err);

/* For a child: has the kernel kill this process when the one that started it ends, if that one has
 * asked for it. Returns -1 if it has ended already. */
int slot_parent_follow(struct error *err);

/* Writes the CUDA_VISIBLE_DEVICES of ranks FIRST to LAST of a host's to RET: those words of
 * VISIBLE, the present list, or these numbers where it is NULL. "" if VISIBLE has fewer. */
enum { SLOT_DEVICES_SIZE = 512 };
void slot_devices(const char *visible, int first, int last, char ret[SLOT_DEVICES_SIZE]);

#endif
