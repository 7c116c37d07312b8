#include "trainer/eval/coco_match.h"

#include "common/grow.h"
#include "trainer/eval/coco_rules.h"

#include <stdlib.h>
#include <string.h>

/* The rule is that of COCOeval.evaluateImg in pycocotools, including what follows from its order of
 * loops. Overlaps are computed once for a pair. They do not depend on threshold or area, of which
 * there are 40 combinations.
 *
 * Objects are ordered anew for each area, those that count first: a detection that has found one of
 * them need not look at the others. A detection is hopeful if it reaches the lowest threshold with
 * any object. That is known from the overlaps, and all others are passed over in each combination.
 *
 * The outcome of a detection is two words of bits, one bit for each combination (coco_hit). A
 * detection is a true positive if it is matched and not ignored, a false positive if it is
 * neither. */

/* Frees all masks up to the capacities. Masks beyond them, which a failed growth may leave, are
 * zero and own nothing. */
void coco_matcher_done(struct coco_matcher *matcher) {
    rle_scratch_done(&matcher->rle_scratch);
    rle_done(&matcher->spare);
    for (size_t i = 0; matcher->truth_masks != NULL && i < matcher->truth_capacity; i++)
        rle_done(&matcher->truth_masks[i]);
    for (size_t i = 0; matcher->found_masks != NULL && i < matcher->found_capacity; i++)
        rle_done(&matcher->found_masks[i]);
    free(matcher->truth_masks);
    free(matcher->found_masks);
    free(matcher->truth_boxes);
    free(matcher->found_boxes);
    free(matcher->sorted);
    free(matcher->scratch);
    free(matcher->overlaps);
    free(matcher->hopeful);
    free(matcher->order);
    free(matcher->ignored);
    free(matcher->taken);
    *matcher = (struct coco_matcher){0};
}

/* Grows *ITEMS of SIZE bytes from OLD to at least WANTED and zeroes those from OLD on: masks must
 * be valid for rle_done before they are first filled. Arrays that share a capacity grow from the
 * same OLD for the same WANTED, so all of them get the same *RET_NEW. */
static int grow(void *items, size_t size, size_t old, size_t wanted, size_t *ret_new,
                struct error *err) {
    char *grown;
    *ret_new = old;
    if (grow_array(items, ret_new, wanted, size, "matching detections", err) != 0)
        return -1;
    memcpy(&grown, items, sizeof(grown)); /* a pointer of any type */
    memset(grown + old * size, 0, (*ret_new - old) * size);
    return 0;
}

/* Makes room for a pair with so many objects and detections. Only detections within the limit have
 * overlaps. On failure some arrays are longer than their capacity says, which is harmless. */
static int make_room(struct coco_matcher *m, size_t truth, size_t found, struct error *err) {
    if (truth > m->truth_capacity) {
        size_t old = m->truth_capacity, new = old;
        if (grow(&m->truth_masks, sizeof(*m->truth_masks), old, truth, &new, err) != 0 ||
            grow(&m->truth_boxes, sizeof(*m->truth_boxes), old, truth, &new, err) != 0 ||
            grow(&m->order, sizeof(*m->order), old, truth, &new, err) != 0 ||
            grow(&m->ignored, sizeof(*m->ignored), old, truth, &new, err) != 0 ||
            grow(&m->taken, sizeof(*m->taken), old, truth, &new, err) != 0)
            return -1;
        m->truth_capacity = new;
    }
    if (found > m->found_capacity) {
        size_t old = m->found_capacity, new = old;
        if (grow(&m->found_masks, sizeof(*m->found_masks), old, found, &new, err) != 0 ||
            grow(&m->found_boxes, sizeof(*m->found_boxes), old, found, &new, err) != 0 ||
            grow(&m->sorted, sizeof(*m->sorted), old, found, &new, err) != 0 ||
            grow(&m->scratch, sizeof(*m->scratch), old, found, &new, err) != 0 ||
            grow(&m->hopeful, sizeof(*m->hopeful), old, found, &new, err) != 0)
            return -1;
        m->found_capacity = new;
    }
    size_t limit = coco_limit(COCO_LIMITS - 1);
    size_t cells = truth * (found < limit ? found : limit);
    if (cells > m->overlap_capacity) {
        size_t old = m->overlap_capacity;
        if (grow(&m->overlaps, sizeof(*m->overlaps), old, cells, &m->overlap_capacity, err) != 0)
            return -1;
    }
    return 0;
}

/* One pair, as the functions below use it. */
struct pair_view {
    const struct coco_input *input;
    const uint32_t *truth; /* numbers in the list of truth */
    size_t truth_count;
    size_t found_count; /* those within the limit; their numbers are in matcher->sorted */
};

/* Objects and detections of the pair by their place in it; detections by falling score. */
static const struct coco_object *truth_at(const struct pair_view *v, size_t i) {
    return &v->input->truth.list[v->truth[i]];
}

static const struct coco_object *found_at(const struct pair_view *v, const struct coco_matcher *m,
                                          size_t i) {
    return &v->input->found.list[m->sorted[i].number];
}

/* Asks for all masks of the pair: those that are compared are kept with their boxes, others are
 * only validated, in `spare`. Detections beyond the limit are asked for as well. */
static int read_masks(struct coco_matcher *m, const struct pair_view *v, size_t all_found,
                      struct error *err) {
    const struct coco_objects *truth = &v->input->truth, *found = &v->input->found;
    bool needed = v->truth_count > 0 && v->found_count > 0;
    for (size_t i = 0; i < v->truth_count; i++) {
        struct rle *mask = needed ? &m->truth_masks[i] : &m->spare;
        if (truth->mask(truth->user, v->truth[i], &m->rle_scratch, mask, err) != 0)
            return -1;
        if (needed)
            rle_box(mask, m->truth_boxes[i]);
    }
    for (size_t i = 0; i < all_found; i++) {
        bool used = needed && i < v->found_count;
        struct rle *mask = used ? &m->found_masks[i] : &m->spare;
        if (found->mask(found->user, m->sorted[i].number, &m->rle_scratch, mask, err) != 0)
            return -1;
        if (used)
            rle_box(mask, m->found_boxes[i]);
    }
    return 0;
}

/* Fills the matrix of overlaps. Of masks the boxes are compared first: if they are disjoint, so are
 * the masks, and the runs need not be walked. */
static void fill_overlaps(struct coco_matcher *m, const struct pair_view *v) {
    double lowest = coco_threshold(0);
    for (size_t d = 0; d < v->found_count; d++) {
        double *row = m->overlaps + d * v->truth_count;
        bool hopeful = false;
        for (size_t g = 0; g < v->truth_count; g++) {
            const struct coco_object *truth = truth_at(v, g);
            if (v->input->masks) {
                row[g] = box_iou(m->found_boxes[d], m->truth_boxes[g], truth->crowd);
                if (row[g] > 0)
                    row[g] = rle_iou(&m->found_masks[d], &m->truth_masks[g], truth->crowd);
            } else {
                row[g] = box_iou(found_at(v, m, d)->box, truth->box, truth->crowd);
            }
            hopeful |= !(row[g] < lowest);
        }
        m->hopeful[d] = hopeful;
    }
}

/* Puts objects that count for AREA first, then the others, each in the order of the list; stable,
 * as the choice between equals depends on it. */
static void order_truth(struct coco_matcher *m, const struct pair_view *v, size_t area) {
    size_t at = 0;
    for (int ignored = 0; ignored <= 1; ignored++)
        for (size_t g = 0; g < v->truth_count; g++) {
            const struct coco_object *truth = truth_at(v, g);
            if ((truth->crowd || coco_area_outside(area, truth->area)) != (ignored == 1))
                continue;
            m->order[at] = (uint32_t)g;
            m->ignored[at++] = ignored == 1;
        }
}

/* Returns the position in that order of the object that a detection takes, or -1. An object that is
 * taken is free again only if it is a crowd. The bound just below 1 lets an overlap of exactly 1
 * pass a threshold of 1, as in the reference. `<` lets the later of two equals win. */
static ptrdiff_t choose(const struct coco_matcher *m, const struct pair_view *v, const double *row,
                        double least) {
    double best = least < 1 - 1e-10 ? least : 1 - 1e-10;
    ptrdiff_t chosen = -1;
    for (size_t i = 0; i < v->truth_count; i++) {
        uint32_t g = m->order[i];
        if (m->taken[i] && !truth_at(v, g)->crowd)
            continue;
        if (chosen >= 0 && !m->ignored[chosen] && m->ignored[i])
            break;
        if (row[g] < best)
            continue;
        best = row[g];
        chosen = (ptrdiff_t)i;
    }
    return chosen;
}

/* Sets the bits of all thresholds of AREA. An object with id 0 is taken, but the reference then
 * reads its id as "no match": the detection counts as unmatched. */
static void match_area(struct coco_matcher *m, const struct pair_view *v, size_t area,
                       struct coco_hit *hits) {
    order_truth(m, v, area);
    for (size_t t = 0; t < COCO_THRESHOLDS; t++) {
        uint64_t bit = UINT64_C(1) << coco_hit_bit(area, t);
        memset(m->taken, 0, v->truth_count * sizeof(*m->taken));
        for (size_t d = 0; d < v->found_count; d++) {
            if (!m->hopeful[d])
                continue;
            ptrdiff_t i = choose(m, v, m->overlaps + d * v->truth_count, coco_threshold(t));
            if (i < 0)
                continue;
            m->taken[i] = true;
            if (m->ignored[i])
                hits[d].ignored |= bit;
            if (!truth_at(v, m->order[i])->id_zero)
                hits[d].matched |= bit;
        }
    }
}

/* Unmatched detections outside the area range do not count. Matched ones do: the object that they
 * have taken decides then. All thresholds of an area are neighbouring bits, so they are set at
 * once. */
static void ignore_outside(const struct coco_matcher *m, const struct pair_view *v,
                           struct coco_hit *hits) {
    for (size_t d = 0; d < v->found_count; d++)
        for (size_t area = 0; area < COCO_AREAS; area++)
            if (coco_area_outside(area, found_at(v, m, d)->area)) {
                uint64_t bits = ((UINT64_C(1) << COCO_THRESHOLDS) - 1) << coco_hit_bit(area, 0);
                hits[d].ignored |= bits & ~hits[d].matched;
            }
}

/* Outcomes are written even for a pair without objects: its detections are false positives, or are
 * ignored outside the area's range. */
int coco_match(struct coco_matcher *m, const struct coco_input *input,
               const struct coco_pairs *pairs, const struct coco_pair *pair, struct coco_hit *hits,
               struct error *err) {
    size_t limit = coco_limit(COCO_LIMITS - 1);
    struct pair_view view = {.input = input,
                             .truth = pairs->truth_order + pair->truth,
                             .truth_count = pair->truth_count,
                             .found_count = pair->found_count < limit ? pair->found_count : limit};
    if (make_room(m, pair->truth_count, pair->found_count, err) != 0)
        return -1;
    for (size_t i = 0; i < pair->found_count; i++) {
        uint32_t number = pairs->found_order[pair->found + i];
        m->sorted[i] = (struct coco_scored){input->found.list[number].score, number};
    }
    coco_sort(m->sorted, pair->found_count, m->scratch);
    /* Masks are read even where no overlap will be computed, so that a damaged one is always
     * found. */
    if (input->masks && read_masks(m, &view, pair->found_count, err) != 0)
        return -1;

    hits += pair->hits;
    for (size_t d = 0; d < view.found_count; d++)
        hits[d] = (struct coco_hit){.score = m->sorted[d].score, .rank = (uint32_t)d};
    if (view.truth_count > 0 && view.found_count > 0) {
        fill_overlaps(m, &view);
        for (size_t area = 0; area < COCO_AREAS; area++)
            match_area(m, &view, area, hits);
    }
    ignore_outside(m, &view, hits);
    return 0;
}
