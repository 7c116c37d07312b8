/* Detections of a picture: takes the best candidate and removes those of its class that it
 * overlaps, until none is left. */
#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/detect/region.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/detect_score.h"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/rank.h"

#include <stdlib.h>

struct candidate {
    float box[4], score;
    int label;
    uint64_t rank; /* the greatest first; 0: removed */
};

struct picture {
    const struct ref_call *call;
    int64_t number;
    int classes; /* including the background */
    float height, width, plus;
    struct candidate *candidates;
    int count;
};

static float at(const struct ref_call *call, int slot, int64_t place) {
    return (float)call->in[slot][place];
}

/* Adds the candidate of one proposal and class, if it is one. */
static void consider(struct picture *p, int proposal, int label, float score) {
    const struct ref_call *call = p->call;
    const struct detect_attr *d = &call->op.attr.detect;
    int64_t row = p->number * call->in_shape[DETECTIONS_BOX].dim[1] + proposal;
    struct candidate *c = &p->candidates[p->count];
    float box[4], deltas[4];
    if (!(score > d->score_threshold))
        return;
    ref_box(call->in[DETECTIONS_BOX], row, box);
    ref_box(call->in[DETECTIONS_DELTAS], row * p->classes + label, deltas);
    box_decode(box, deltas, d->coder, p->plus, c->box);
    box_clip(c->box, p->height, p->width, p->plus);
    if (!box_is_large(c->box, p->plus, d->min_side, (d->flags & DETECT_SIDE_ABOVE) != 0))
        return;
    c->score = score;
    c->label = label;
    c->rank = rank_of(score, proposal * (p->classes - 1) + label - 1);
    p->count++;
}

/* Background, class 0, is part of the softmax but never a candidate. */
static void find_candidates(struct picture *p, float *logits) {
    const struct ref_call *call = p->call;
    int64_t first = p->number * call->in_shape[DETECTIONS_BOX].dim[1];
    int proposals = match_count((int)call->in[DETECTIONS_COUNT][p->number],
                                (int)call->in_shape[DETECTIONS_BOX].dim[1]);
    for (int r = 0; r < proposals; r++) {
        for (int k = 0; k < p->classes; k++)
            logits[k] = at(call, DETECTIONS_LOGITS, (first + r) * p->classes + k);
        struct detect_softmax s = detect_softmax(logits, p->classes);
        for (int k = 1; k < p->classes; k++)
            consider(p, r, k, detect_probability(&s, logits[k]));
    }
}

/* Returns the best remaining one, or NULL. */
static const struct candidate *best_of(const struct picture *p) {
    const struct candidate *best = NULL;
    for (int i = 0; i < p->count; i++)
        if (p->candidates[i].rank > (best == NULL ? 0 : best->rank))
            best = &p->candidates[i];
    return best;
}

static void strike_out(const struct picture *p, const struct candidate *taken) {
    struct candidate best = *taken;
    for (int i = 0; i < p->count; i++) {
        struct candidate *c = &p->candidates[i];
        bool over = box_iou(best.box, c->box, p->plus) > p->call->op.attr.detect.nms_threshold;
        if (c->rank == best.rank || (c->label == best.label && over))
            c->rank = 0;
    }
}

/* The rest of the places has the label -1. */
static void fill_picture(struct picture *p) {
    const struct ref_call *call = p->call;
    int room = call->op.attr.detect.detections, found = 0;
    int64_t first = p->number * room;
    for (; found < room; found++) {
        const struct candidate *best = best_of(p);
        if (best == NULL)
            break;
        ref_set_box(call->out[DETECTIONS_FOUND_BOX], first + found, best->box);
        call->out[DETECTIONS_FOUND_SCORE][first + found] = (double)best->score;
        call->out[DETECTIONS_FOUND_LABEL][first + found] = best->label;
        strike_out(p, best);
    }
    call->out[DETECTIONS_FOUND_COUNT][p->number] = found;
    for (; found < room; found++)
        call->out[DETECTIONS_FOUND_LABEL][first + found] = -1;
}

int ref_detections(const struct ref_call *call, struct error *err) {
    const struct shape *boxes = &call->in_shape[DETECTIONS_BOX];
    int classes = (int)call->in_shape[DETECTIONS_LOGITS].dim[1];
    size_t room = (size_t)boxes->dim[1] * (size_t)classes;
    cleanup_free void *candidates = calloc(room, sizeof(struct candidate));
    cleanup_free void *logits = calloc((size_t)classes, sizeof(float));
    if (candidates == NULL || logits == NULL)
        return error_no_memory(err, "candidates");
    for (int64_t n = 0; n < boxes->dim[0]; n++) {
        const double *size = call->in[DETECTIONS_SIZE] + n * IMAGE_SIZE_FIELDS;
        struct picture p = {.call = call,
                            .number = n,
                            .classes = classes,
                            .height = (float)size[IMAGE_SIZE_H],
                            .width = (float)size[IMAGE_SIZE_W],
                            .plus = detect_plus(&call->op.attr.detect),
                            .candidates = candidates};
        find_candidates(&p, logits);
        fill_picture(&p);
    }
    return 0;
}
