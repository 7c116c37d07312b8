#include "trainer/eval/coco_curve.h"

#include "common/grow.h"
#include "trainer/eval/coco_rules.h"

#include <float.h>
#include <stdlib.h>

void coco_curves_done(struct coco_curves *curves) {
    free(curves->precision);
    free(curves->score);
    free(curves->recall);
    *curves = (struct coco_curves){0};
}

void coco_curve_scratch_done(struct coco_curve_scratch *room) {
    free(room->precision);
    free(room->score);
    *room = (struct coco_curve_scratch){0};
}

/* If only one of the arrays grows, it is longer than the capacity says, which is harmless. */
static int make_room(struct coco_curve_scratch *room, size_t count, struct error *err) {
    static const char what[] = "a curve of precision";
    size_t capacity = room->capacity, same = room->capacity;
    if (grow_array(&room->precision, &capacity, count, sizeof(*room->precision), what, err) != 0 ||
        grow_array(&room->score, &same, count, sizeof(*room->score), what, err) != 0)
        return -1;
    room->capacity = capacity;
    return 0;
}

/* Collects precision and score at each true positive among the first LIMIT detections of each
 * image. Between true positives recall is constant and precision only falls, so nothing else
 * shapes the curve. Returns their number. */
static size_t collect(struct coco_curve_scratch *room, const struct coco_curve_input *input,
                      size_t limit, unsigned bit) {
    size_t hit = 0, missed = 0;
    for (size_t i = 0; i < input->count; i++) {
        const struct coco_hit *at = &input->hits[input->sorted[i].number];
        if (at->rank >= limit || ((at->ignored >> bit) & 1) != 0)
            continue;
        if (((at->matched >> bit) & 1) == 0) {
            missed++;
            continue;
        }
        hit++;
        room->precision[hit - 1] = (double)hit / ((double)missed + (double)hit + DBL_EPSILON);
        room->score[hit - 1] = at->score;
    }
    return hit;
}

/* Returns the score of the very first detection: the value at recall 0. */
static double first_score(const struct coco_curve_input *input, size_t limit) {
    for (size_t i = 0; i < input->count; i++)
        if (input->hits[input->sorted[i].number].rank < limit)
            return input->sorted[i].score;
    return 0;
}

static void write_curve(const struct coco_curve_scratch *room, const struct coco_curve_input *input,
                        size_t limit, size_t threshold, size_t hit, struct coco_curves *ret) {
    ret->recall[coco_recall_index(ret, threshold, input->category, input->area, limit)] =
        (double)hit / (double)input->truth_count;
    size_t at = 0;
    for (size_t r = 0; r < COCO_RECALLS; r++) {
        double wanted = coco_recall(r);
        while (at < hit && (double)(at + 1) / (double)input->truth_count < wanted)
            at++;
        size_t index = coco_precision_index(ret, threshold, r, input->category, input->area, limit);
        ret->precision[index] = at < hit ? room->precision[at] : 0;
        ret->score[index] = at < hit ? room->score[at] : 0;
        if (r == 0)
            ret->score[index] = first_score(input, coco_limit(limit));
    }
}

int coco_curve(struct coco_curve_scratch *room, const struct coco_curve_input *input,
               struct coco_curves *ret, struct error *err) {
    if (make_room(room, input->count + 1, err) != 0)
        return -1;
    for (size_t limit = 0; limit < COCO_LIMITS; limit++)
        for (size_t t = 0; t < COCO_THRESHOLDS; t++) {
            size_t hit = collect(room, input, coco_limit(limit), coco_hit_bit(input->area, t));
            for (size_t i = hit; i > 1; i--)
                if (room->precision[i - 1] > room->precision[i - 2])
                    room->precision[i - 2] = room->precision[i - 1];
            write_curve(room, input, limit, t, hit, ret);
        }
    return 0;
}
