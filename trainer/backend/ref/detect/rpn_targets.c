/* Targets of a region proposal network: which anchors are sampled, and their labels and boxes. */
#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

#include <stdlib.h>

/* One picture. */
struct picture {
    const struct detect_attr *attr;
    const struct anchor_grid *grid;
    const double *objects, *size; /* boxes; enum image_size_field */
    int object_count;
    int32_t key[SAMPLE_KEY_WORDS];
    int *object, *label;  /* of every anchor */
    uint64_t *candidates; /* room for all anchors */
};

static float overlap(const struct picture *p, int object, int anchor) {
    float box[4], other[4];
    anchor_box(p->grid, anchor, box);
    for (int i = 0; i < 4; i++)
        other[i] = (float)p->objects[object * 4 + i];
    return box_iou(other, box, detect_plus(p->attr));
}

/* Finds the label and best object of every anchor. */
static void match(struct picture *p) {
    for (int a = 0; a < p->grid->count; a++) {
        float best = -1;
        p->object[a] = 0;
        for (int g = 0; g < p->object_count; g++)
            if (overlap(p, g, a) > best) {
                best = overlap(p, g, a);
                p->object[a] = g;
            }
        p->label[a] = match_label(best, p->attr->background_iou, p->attr->foreground_iou);
    }
    for (int g = 0; g < p->object_count; g++) {
        float most = 0;
        for (int a = 0; a < p->grid->count; a++)
            most = overlap(p, g, a) > most ? overlap(p, g, a) : most;
        for (int a = 0; a < p->grid->count && most > 0; a++)
            if (overlap(p, g, a) == most)
                p->label[a] = MATCH_OBJECT;
    }
    for (int a = 0; a < p->grid->count; a++) {
        float box[4];
        anchor_box(p->grid, a, box);
        if ((p->attr->flags & DETECT_ANCHORS_INSIDE) != 0 &&
            !match_inside(box, (float)p->size[IMAGE_SIZE_H], (float)p->size[IMAGE_SIZE_W]))
            p->label[a] = MATCH_IGNORED;
    }
}

static int by_rising_order(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int by_rising_number(const void *a, const void *b) {
    uint32_t left = (uint32_t) * (const uint64_t *)a, right = (uint32_t) * (const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Finds the anchors of this label with the smallest keys, at most MOST, by ascending number, in
 * p->candidates. Returns how many. */
static int sample(struct picture *p, int label, int most) {
    int count = 0;
    for (int a = 0; a < p->grid->count; a++)
        if (p->label[a] == label)
            p->candidates[count++] = sample_order(sample_key(p->key, SAMPLE_RPN, a), a);
    qsort(p->candidates, (size_t)count, sizeof(*p->candidates), by_rising_order);
    count = count < most ? count : most;
    qsort(p->candidates, (size_t)count, sizeof(*p->candidates), by_rising_number);
    return count;
}

static void write_slot(const struct picture *p, int label, int slot, const struct ref_call *call,
                       int64_t first) {
    int anchor = (int)(uint32_t)p->candidates[slot];
    call->out[RPN_TARGETS_INDEX][first + slot] = anchor;
    call->out[RPN_TARGETS_LABEL][first + slot] = label;
    if (label != MATCH_OBJECT)
        return;
    float from[4], to[4], code[4];
    anchor_box(p->grid, anchor, from);
    for (int i = 0; i < 4; i++)
        to[i] = (float)p->objects[p->object[anchor] * 4 + i];
    box_encode(from, to, p->attr->coder, detect_plus(p->attr), code);
    for (int i = 0; i < 4; i++)
        call->out[RPN_TARGETS_TARGET][(first + slot) * 4 + i] = (double)code[i];
}

static void sample_picture(struct picture *p, const struct ref_call *call, int64_t n) {
    int samples = p->attr->samples, taken = 0;
    for (int slot = 0; slot < samples; slot++) {
        call->out[RPN_TARGETS_INDEX][n * samples + slot] = -1;
        call->out[RPN_TARGETS_LABEL][n * samples + slot] = MATCH_IGNORED;
    }
    if (p->size[IMAGE_SIZE_VALID] == 0)
        return;
    match(p);
    for (int label = MATCH_OBJECT; label >= MATCH_BACKGROUND; label--) {
        int most = label == MATCH_OBJECT ? p->attr->positives : samples - taken;
        int count = sample(p, label, most);
        for (int slot = 0; slot < count; slot++)
            write_slot(p, label, slot, call, n * samples + taken);
        call->out[RPN_TARGETS_COUNT][n * 2 + (label == MATCH_OBJECT ? 0 : 1)] = count;
        taken += count;
    }
}

int ref_rpn_targets(const struct ref_call *call, struct error *err) {
    const struct anchor_grid grid = detect_grid(&call->op.attr.detect);
    cleanup_free int *numbers = malloc((size_t)grid.count * 2 * sizeof(*numbers));
    cleanup_free uint64_t *candidates = malloc((size_t)grid.count * sizeof(*candidates));
    if (numbers == NULL || candidates == NULL)
        return error_no_memory(err, "the matches of anchors");
    struct picture p = {.attr = &call->op.attr.detect, .grid = &grid, .object = numbers};
    p.label = numbers + grid.count;
    p.candidates = candidates;
    int64_t slots = call->in_shape[RPN_TARGETS_GT_BOX].dim[1];
    for (int64_t n = 0; n < call->in_shape[RPN_TARGETS_GT_BOX].dim[0]; n++) {
        double count = call->in[RPN_TARGETS_GT_COUNT][n];
        p.objects = call->in[RPN_TARGETS_GT_BOX] + n * slots * 4;
        p.object_count = count < 0 ? 0 : count > (double)slots ? (int)slots : (int)count;
        p.size = call->in[RPN_TARGETS_IMAGE_SIZE] + n * IMAGE_SIZE_FIELDS;
        for (int i = 0; i < SAMPLE_KEY_WORDS; i++)
            p.key[i] = (int32_t)call->in[RPN_TARGETS_KEY][n * SAMPLE_KEY_WORDS + i];
        sample_picture(&p, call, n);
    }
    return 0;
}
