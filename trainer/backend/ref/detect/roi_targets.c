/* Sampling of the regions for the heads, and selection of those with a mask. */
#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/detect/region.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

#include <stdlib.h>

/* The definition of both operators (graph/op_roi.h), which the other backends must match in every
 * choice. It is written for a reader: a candidate is sampled if fewer than the limit of its kind
 * come before it in the order of sampling, and that is what is_sampled() counts, in quadratic time.
 * backend/cpu sorts instead.
 *
 * Overlaps and codes are computed in float by functions of math/, as on the other backends; doubles
 * would decide differently where two overlaps are nearly equal. */

struct candidate {
    float box[4];
    int match, label; /* label: -1 is ignored */
    uint64_t order;   /* order of sampling */
};

/* Candidates of one picture. */
struct picture {
    const struct ref_call *call;
    int64_t number;
    int proposals, objects;
    struct candidate *candidates; /* proposals, then objects */
    int count;
};

/* The first object of the largest overlap wins. Without objects the best overlap is -1, which is
 * background. */
static void find_match(const struct picture *p, struct candidate *c) {
    const struct ref_call *call = p->call;
    const struct detect_attr *d = &call->op.attr.detect;
    int64_t first = p->number * call->in_shape[ROI_TARGETS_GT_BOX].dim[1];
    float best = -1;
    c->match = -1;
    for (int g = 0; g < p->objects; g++) {
        float object[4];
        ref_box(call->in[ROI_TARGETS_GT_BOX], first + g, object);
        float overlap = box_iou(object, c->box, detect_plus(d));
        if (overlap > best) {
            best = overlap;
            c->match = g;
        }
    }
    c->label = match_label(best, d->background_iou, d->foreground_iou);
    if (c->label == MATCH_OBJECT)
        c->label = (int)call->in[ROI_TARGETS_GT_LABEL][first + c->match];
    else
        c->match = -1;
}

/* The number in the order of sampling counts proposals first, then objects. Keys are converted back
 * from double, which holds an i32 exactly. */
static void find_candidates(struct picture *p) {
    const struct ref_call *call = p->call;
    int32_t key[SAMPLE_KEY_WORDS];
    ref_ints(call->in[ROI_TARGETS_KEY] + p->number * SAMPLE_KEY_WORDS, SAMPLE_KEY_WORDS, key);
    for (int i = 0; i < p->count; i++) {
        struct candidate *c = &p->candidates[i];
        bool object = i >= p->proposals;
        int slot = object ? ROI_TARGETS_GT_BOX : ROI_TARGETS_BOX;
        int64_t first = p->number * call->in_shape[slot].dim[1];
        ref_box(call->in[slot], first + (object ? i - p->proposals : i), c->box);
        find_match(p, c);
        c->order = sample_order(sample_key(key, SAMPLE_ROI, i), i);
    }
}

/* Returns true if fewer than LIMIT candidates of candidate I's kind precede it. Ignored candidates
 * are never asked about and never counted. */
static bool is_sampled(const struct picture *p, int i, int limit) {
    const struct candidate *c = p->candidates;
    int before = 0;
    for (int k = 0; k < p->count; k++)
        before +=
            c[k].label >= 0 && (c[k].label > 0) == (c[i].label > 0) && c[k].order < c[i].order;
    return before < limit;
}

/* The regression target is 0 for background. A label above 0 is an object's class. */
static void put(const struct picture *p, int64_t slot, const struct candidate *c) {
    const struct ref_call *call = p->call;
    const struct detect_attr *d = &call->op.attr.detect;
    float code[4] = {0}, object[4];
    ref_set_box(call->out[ROI_TARGETS_ROI], slot, c->box);
    call->out[ROI_TARGETS_LABEL][slot] = c->label;
    call->out[ROI_TARGETS_MATCH][slot] = c->match;
    if (c->match >= 0) {
        int64_t first = p->number * call->in_shape[ROI_TARGETS_GT_BOX].dim[1];
        ref_box(call->in[ROI_TARGETS_GT_BOX], first + c->match, object);
        box_encode(c->box, object, d->coder, detect_plus(d), code);
    }
    ref_set_box(call->out[ROI_TARGETS_TARGET], slot, code);
}

/* Fills slots from SLOT on with the samples of one kind; returns how many. Candidates are visited
 * by ascending number, which is the order of the slots. */
static int put_sampled(const struct picture *p, bool objects, int limit, int64_t slot) {
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        const struct candidate *c = &p->candidates[i];
        if (c->label >= 0 && (c->label > 0) == objects && is_sampled(p, i, limit))
            put(p, slot + count++, c);
    }
    return count;
}

/* Slots without a sample keep the zeros that ref.c has written, with label and match -1. One more
 * candidate than needed is allocated, because calloc of 0 bytes may return NULL. */
static int fill_picture(const struct ref_call *call, int64_t number, struct error *err) {
    const struct detect_attr *d = &call->op.attr.detect;
    struct picture p = {.call = call,
                        .number = number,
                        .proposals = match_count((int)call->in[ROI_TARGETS_COUNT][number],
                                                 (int)call->in_shape[ROI_TARGETS_BOX].dim[1]),
                        .objects = match_count((int)call->in[ROI_TARGETS_GT_COUNT][number],
                                               (int)call->in_shape[ROI_TARGETS_GT_BOX].dim[1])};
    p.count = p.proposals + p.objects;
    cleanup_free void *memory = calloc((size_t)p.count + 1, sizeof(*p.candidates));
    if (memory == NULL)
        return error_no_memory(err, "candidates");
    p.candidates = memory;
    find_candidates(&p);
    int64_t first = number * d->samples;
    int count = put_sampled(&p, true, d->positives, first);
    count += put_sampled(&p, false, d->samples - count, first + count);
    for (; count < d->samples; count++)
        call->out[ROI_TARGETS_LABEL][first + count] = call->out[ROI_TARGETS_MATCH][first + count] =
            -1;
    return 0;
}

/* Pictures are independent of each other. Candidates are allocated anew for each. */
int ref_roi_targets(const struct ref_call *call, struct error *err) {
    for (int64_t n = 0; n < call->in_shape[ROI_TARGETS_BOX].dim[0]; n++)
        if (fill_picture(call, n, err) != 0)
            return -1;
    return 0;
}

/* Slots of objects with a mask, in order, until the rows of the mask head are full. COUNT is how
 * many there are; rows after it are -1. */
int ref_mask_rows(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *slots = &call->in_shape[MASK_ROWS_LABEL];
    int64_t rows = call->out_shape[MASK_ROWS_ROW].dim[0], count = 0;
    for (int64_t i = 0; i < shape_count(slots); i++) {
        int64_t match = (int64_t)call->in[MASK_ROWS_MATCH][i];
        int32_t at[MASK_FIELDS];
        if (call->in[MASK_ROWS_LABEL][i] <= 0 || match < 0)
            continue;
        int64_t object = i / slots->dim[1] * call->in_shape[MASK_ROWS_AT].dim[1] + match;
        ref_ints(call->in[MASK_ROWS_AT] + object * MASK_FIELDS, MASK_FIELDS, at);
        if (!mask_bits_given(at) || count == rows)
            continue;
        call->out[MASK_ROWS_ROW][count] = (double)i;
        call->out[MASK_ROWS_MASK_LABEL][count++] = call->in[MASK_ROWS_LABEL][i];
    }
    call->out[MASK_ROWS_COUNT][0] = (double)count;
    for (; count < rows; count++)
        call->out[MASK_ROWS_ROW][count] = -1;
    return 0;
}
