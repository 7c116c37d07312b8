/* Types of the values that ranks sum, and how they divide them. */
#ifndef TRAINER_COMM_COMM_TYPE_H
#define TRAINER_COMM_COMM_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of work with other ranks. */
enum work_kind {
    WORK_SUM,
    WORK_SHARE_SUM,    /* of which each rank gets its share */
    WORK_SHARE_SPREAD, /* of all shares to all */
    WORK_BROADCAST,
    WORK_GATHER,
    WORK_BARRIER,
    WORK_SPLIT,
    WORK_RELEASE, /* of a communicator that a split made */
    WORK_MOVE,    /* of parts between some ranks */
    WORK_NARROW,  /* to fewer ranks */
};

/* The last two are f32 in memory, and half of that on their way (half_sum.h). */
enum comm_type { COMM_F32, COMM_F64, COMM_F32_AS_F16, COMM_F32_AS_BF16 };

/* Returns true if values of TYPE travel in half precision. */
static inline bool comm_type_is_half(enum comm_type type) {
    return type == COMM_F32_AS_F16 || type == COMM_F32_AS_BF16;
}

/* Bytes of a value of TYPE in memory. */
static inline size_t comm_type_width(enum comm_type type) {
    return type == COMM_F64 ? sizeof(double) : sizeof(float);
}

/* Bytes of a value of TYPE on its way to another rank. */
static inline size_t comm_type_sent(enum comm_type type) {
    return comm_type_is_half(type) ? sizeof(uint16_t) : comm_type_width(type);
}

/* What goes to a rank and what is awaited of it, in bytes. */
struct comm_part {
    const void *out;
    size_t out_size;
    void *in;
    size_t in_size;
};

/* Division of values: rank R owns the elements from bounds[R] up to bounds[R + 1]. The first
 * WORKERS ranks add theirs up and get what is spread; those after them only own. */
struct comm_shares {
    const size_t *bounds; /* borrowed; [ranks + 1], ascending */
    int workers;
};

/* Hears of each work that the communicator's thread has done, on that thread: when, and how many
 * bytes of a rank. */
struct comm_observer {
    void (*done)(void *user, enum work_kind kind, int64_t begin, int64_t end, size_t bytes);
    void *user;
};

#endif
