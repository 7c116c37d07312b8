/* Queue of pictures that wait to be computed.
 *
 * The oldest picture decides when a batch is formed: it is taken once a full one waits, or when
 * that picture has waited for the delay, or at once if no other picture can arrive. A batch holds
 * pictures of one group (input size of the network), in the order of their arrival. Its size is one
 * of a few for which the network is compiled. Pure: the caller holds the lock and tells the
 * time. */
#ifndef TRAINER_APP_SERVE_PICTURE_QUEUE_H
#define TRAINER_APP_SERVE_PICTURE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PICTURE_QUEUE_SIZES_MAX = 4, PICTURE_QUEUE_BATCH_MAX = 64 };

/* Place of a picture in the queue, part of what the caller keeps for it. */
struct queued_picture {
    struct queued_picture *next;
    int64_t since; /* clock_now() at its arrival */
    int group;     /* set by the caller */
};

struct picture_queue {
    struct queued_picture *first, *last; /* borrowed */
    size_t count;
    size_t limit;                       /* pictures at most */
    int64_t delay;                      /* longest wait for a fuller batch, nanoseconds */
    int sizes[PICTURE_QUEUE_SIZES_MAX]; /* of batches, ascending; the first is 1 */
    int size_count;
    bool pads; /* an incomplete batch costs less than several smaller ones: it may have fewer
                * pictures than its size; else a batch is always full */
};

/* Sets the sizes: 1, 4, 16 and so on below MOST, and MOST, at most PICTURE_QUEUE_BATCH_MAX. */
void picture_queue_sizes(struct picture_queue *queue, int most);

/* Appends COUNT pictures, all or, if there is no room for them, none; returns which. */
bool picture_queue_add(struct picture_queue *queue, struct queued_picture *const *pictures,
                       size_t count, int64_t now);

/* Takes the next batch to RET (PICTURE_QUEUE_BATCH_MAX places); returns its pictures, or 0 if none
 * is due. Then *RET_WAKE is when one will be: INT64_MAX while the queue is empty. MORE: other
 * pictures may arrive meanwhile. */
int picture_queue_take(struct picture_queue *queue, int64_t now, bool more,
                       struct queued_picture **ret, int64_t *ret_wake);

/* Returns the size of the batch that COUNT pictures of picture_queue_take are computed in. */
int picture_queue_size_of(const struct picture_queue *queue, int count);

/* Takes out all pictures; returns them as a list. */
struct queued_picture *picture_queue_clear(struct picture_queue *queue);

#endif
