#include "trainer/data/detect/detections.h"

#include <math.h>
#include <stdbool.h>

void detections_scratch_done(struct detections_scratch *room) {
    mask_paster_done(&room->paster);
    rle_done(&room->mask);
}

static float cut(float value, float most) {
    return fminf(fmaxf(value, 0), most);
}

/* A diverged network can output NaN or infinity. */
static bool is_finite(const struct detections *found, int number) {
    const float *box = &found->box[(size_t)number * 4];
    return isfinite(found->score[number]) && isfinite(box[0]) && isfinite(box[1]) &&
           isfinite(box[2]) && isfinite(box[3]);
}

/* Transforms box NUMBER to the picture's pixels; returns false if the rule drops it. */
static bool bring_back(const struct detections *found, int number, struct detect_size picture,
                       enum mask_paste_rule rule, float ret[4]) {
    const float *box = &found->box[(size_t)number * 4];
    const float most[2] = {(float)picture.width, (float)picture.height};
    const float ratio[2] = {(float)picture.width / (float)found->scaled.width,
                            (float)picture.height / (float)found->scaled.height};
    for (int i = 0; i < 4; i++) {
        ret[i] = box[i] * ratio[i % 2];
        if (rule == MASK_PASTE_D2)
            ret[i] = cut(ret[i], most[i % 2]);
    }
    return rule == MASK_PASTE_TV || (ret[2] - ret[0] > 0 && ret[3] - ret[1] > 0);
}

int detections_add(struct coco_results *results, struct detections_scratch *room,
                   const struct detection_set *set, size_t sample, const struct detections *found,
                   enum mask_paste_rule rule, size_t *left_out, struct error *err) {
    const struct detection_picture *picture = &set->pictures[sample];
    const struct detect_size size = detection_picture_size(picture);
    struct mask_paste paste = {
        .rule = rule, .side = found->side, .height = picture->height, .width = picture->width};
    for (int i = 0; i < found->count; i++) {
        uint32_t category = detection_set_category(set, found->label[i]);
        if (category == COCO_NUMBER_NONE || !is_finite(found, i)) {
            (*left_out)++;
            continue;
        }
        if (!bring_back(found, i, size, rule, paste.box))
            continue;
        if (found->logits != NULL) {
            paste.logits = &found->logits[(size_t)i * (size_t)found->side * (size_t)found->side];
            if (mask_paste(&room->mask, &room->paster, &paste, err) != 0)
                return -1;
        }
        const float *box = paste.box;
        const float plus = found->last_pixel ? 1 : 0;
        float width = box[2] - box[0] + plus, height = box[3] - box[1] + plus;
        const struct coco_result result = {.image_id = set->index->images[picture->image].id,
                                           .category_id = set->index->categories[category].id,
                                           .score = found->score[i],
                                           .box = {box[0], box[1], width, height}};
        if (coco_results_add(results, &result, found->logits != NULL ? &room->mask : NULL, err) !=
            0)
            return -1;
    }
    return 0;
}
