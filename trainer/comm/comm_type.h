/* Types of the values that ranks sum. */
#ifndef TRAINER_COMM_COMM_TYPE_H
#define TRAINER_COMM_COMM_TYPE_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of work with other ranks. */
enum work_kind {
    WORK_SUM,
    WORK_BROADCAST,
    WORK_GATHER,
    WORK_BARRIER,
    WORK_SPLIT,
    WORK_RELEASE, /* of a communicator that a split made */
};

enum comm_type { COMM_F32, COMM_F64 };

/* Hears of each work that the communicator's thread has done, on that thread: when, and how many
 * bytes of a rank. */
struct comm_observer {
    void (*done)(void *user, enum work_kind kind, int64_t begin, int64_t end, size_t bytes);
    void *user;
};

#endif
