/* Plan of canvases (shape buckets): the few input sizes to which all pictures of a set are padded.
 *
 * A network is compiled once for each canvas, and the pictures of one batch share one. A picture
 * lies in the upper left corner; the rest of the canvas is padding. Sides are multiples of
 * CANVAS_STEP, so that every level of a feature pyramid halves them exactly.
 *
 * The automatic plan offers landscape and portrait canvases for pictures of up to 4:3, 3:2 and the
 * longest shape that the sizes allow; each scaled picture goes to the smallest that holds it. A
 * canvas is then cropped to what its pictures need. One with fewer training pictures than a global
 * batch is merged with another one, such that the fewest pixels are added; so no training picture
 * is left out of every epoch. If sizes are random the plan is for the largest; two more canvases,
 * landscape and portrait, can be added for smaller ones. The plan depends only on the sizes of the
 * pictures, not on their order. */
#ifndef TRAINER_DATA_DETECT_BUCKET_PLAN_H
#define TRAINER_DATA_DETECT_BUCKET_PLAN_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/detect/detect_size.h"

#include <stddef.h>

enum { CANVASES_MAX = 8, CANVAS_STEP = 32, CANVAS_NONE = -1 };

struct bucket_plan {
    struct detect_size canvases[CANVASES_MAX];
    size_t pictures[CANVASES_MAX]; /* number of pictures on each, if the plan was made for a set, */
    size_t learnt[CANVASES_MAX];   /* and of these the training pictures */
    int count;
};

/* Makes a plan for COUNT pictures of the given sizes (before scaling; sides above 0), at least
 * one. The first LEARNT are for training, the others for validation. GLOBAL_BATCH: samples of one
 * training step on all ranks. */
int bucket_plan_make(struct bucket_plan *ret, const struct detect_sizes *sizes,
                     const struct detect_size *pictures, size_t count, size_t learnt,
                     size_t global_batch, struct error *err);

/* Adds landscape and portrait canvases, for pictures of up to 4:3, for the COUNT training pictures
 * with short side SHORT_SIDE instead of the largest one, cropped to what they need. Only if the
 * plan has space, no picture of the largest size fits the canvas, it is smaller than any existing
 * one that would do, and it has two global batches of pictures (because not all are drawn so
 * small). */
void bucket_plan_add_smaller(struct bucket_plan *plan, const struct detect_sizes *sizes,
                             int short_side, const struct detect_size *pictures, size_t count,
                             size_t global_batch);

/* Parses "800x1088,1088x800": heights and widths given by the user. The error names the word. */
int bucket_plan_parse(struct bucket_plan *ret, const char *text, struct error *err);
/* Appends the same text for any plan. */
int bucket_plan_format(const struct bucket_plan *plan, struct buf *out, struct error *err);

/* Returns the smallest canvas that holds a scaled picture, of equal ones the first; CANVAS_NONE
 * for none. */
int bucket_plan_place(const struct bucket_plan *plan, struct detect_size scaled);

#endif
