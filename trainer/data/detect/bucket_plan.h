/* The few canvases on which all pictures of a set are laid: a network is compiled once for each,
 * and the pictures of one batch share one. A picture lies in a canvas' upper left corner; the rest
 * of it is padding. Sides are multiples of CANVAS_STEP, so that every level of a feature pyramid
 * halves them exactly.
 *
 * The automatic plan offers, across and upright, canvases for pictures of up to 4:3, 3:2 and the
 * longest shape that the sizes allow; each scaled picture goes to the smallest that holds it. A
 * canvas is then cut down to what its pictures need, and one with less than a global batch of
 * pictures to learn from is joined with the one with which that costs the fewest pixels, so that no
 * such picture is left out of every epoch. Where sizes are drawn the plan is for the largest; two
 * more canvases, across and upright, can be added for what is drawn smaller. Depends on the sizes
 * of pictures alone, not on their order. */
#ifndef TRAINER_DATA_DETECT_BUCKET_PLAN_H
#define TRAINER_DATA_DETECT_BUCKET_PLAN_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/detect/detect_size.h"

#include <stddef.h>

enum { CANVASES_MAX = 8, CANVAS_STEP = 32, CANVAS_NONE = -1 };

struct bucket_plan {
    struct detect_size canvases[CANVASES_MAX];
    size_t pictures[CANVASES_MAX]; /* how many lie on each, where the plan was made for a set, */
    size_t learnt[CANVASES_MAX];   /* and of these to learn from */
    int count;
};

/* For COUNT pictures of the given sizes (before scaling; sides above 0), at least one, of which the
 * first LEARNT are learnt from and the others scored on. GLOBAL_BATCH: the samples of one step of
 * training on all ranks. */
int bucket_plan_make(struct bucket_plan *ret, const struct detect_sizes *sizes,
                     const struct detect_size *pictures, size_t count, size_t learnt,
                     size_t global_batch, struct error *err);

/* Adds canvases for the COUNT pictures to learn from when their short side is SHORT_SIDE instead of
 * the largest one: across and upright, for pictures of up to 4:3, cut down to what these need. Only
 * where there is place, where no picture of the largest size fits, where they are smaller than any
 * canvas that would do, and with two global batches of pictures, as not all are drawn so small. */
void bucket_plan_add_smaller(struct bucket_plan *plan, const struct detect_sizes *sizes,
                             int short_side, const struct detect_size *pictures, size_t count,
                             size_t global_batch);

/* "800x1088,1088x800": heights and widths by hand. The error names the word. */
int bucket_plan_parse(struct bucket_plan *ret, const char *text, struct error *err);
/* The same text for any plan. */
int bucket_plan_format(const struct bucket_plan *plan, struct buf *out, struct error *err);

/* The smallest canvas that holds a scaled picture, the first of equals; CANVAS_NONE for none. */
int bucket_plan_place(const struct bucket_plan *plan, struct detect_size scaled);

#endif
