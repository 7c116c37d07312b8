#include "trainer/data/draw/painting.h"

#include "common/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHITE = 255, LINE_WIDTH = 4, SCORE_TEXT = 16 };

void painting_done(struct painting *p) {
    for (size_t i = 0; i < p->mask_capacity; i++)
        rle_done(&p->masks[i]);
    free(p->masks);
    free(p->list);
    rle_scratch_done(&p->scratch);
    coco_outline_done(&p->room);
    *p = (struct painting){0};
}

void painting_clear(struct painting *p) {
    for (size_t i = 0; i < p->mask_capacity; i++)
        p->masks[i].count = 0;
    p->count = 0;
}

/* Appends another object, zeroed. */
static struct coco_drawing *add_object(struct painting *p, struct error *err) {
    const size_t before = p->mask_capacity;
    if (grow_array(&p->list, &p->capacity, p->count + 1, sizeof(*p->list), "objects to draw",
                   err) != 0 ||
        grow_array(&p->masks, &p->mask_capacity, p->count + 1, sizeof(*p->masks), "masks to draw",
                   err) != 0)
        return NULL;
    memset(p->masks + before, 0, (p->mask_capacity - before) * sizeof(*p->masks));
    struct coco_drawing *object = &p->list[p->count++];
    *object = (struct coco_drawing){0};
    return object;
}

int painting_add_annotations(struct painting *p, const struct coco_index *index, uint32_t image,
                             const struct draw_names *names, struct error *err) {
    for (uint32_t i = 0; i < index->images[image].count; i++) {
        const struct coco_annotation *a = &index->annotations[index->images[image].first + i];
        struct coco_drawing *object = add_object(p, err);
        if (object == NULL)
            return -1;
        memcpy(object->box, a->box, sizeof(object->box));
        object->has_box = (a->flags & COCO_ANNOTATION_BOX) != 0;
        object->crowd = (a->flags & COCO_ANNOTATION_CROWD) != 0;
        draw_names_label(names, a->category, object->crowd ? " (crowd)" : "", object->label);
        if (a->kind != COCO_SEGMENT_NONE &&
            coco_index_mask(index, a, &p->room, &p->scratch, &p->masks[p->count - 1], err) != 0)
            return -1;
    }
    return 0;
}

int painting_add_result(struct painting *p, const struct coco_results *results, size_t number,
                        const struct image *picture, const struct draw_names *names,
                        uint32_t category, struct error *err) {
    const struct coco_result *result = &results->list[number];
    const struct coco_segment segment = coco_result_segment(results, number);
    struct coco_drawing *object = add_object(p, err);
    char score[SCORE_TEXT];
    if (object == NULL)
        return -1;
    struct rle *mask = &p->masks[p->count - 1];
    if (segment.kind != COCO_SEGMENT_NONE &&
        coco_segment_mask(&segment, &p->room, &p->scratch, (uint32_t)picture->height,
                          (uint32_t)picture->width, mask, err) != 0)
        return error_wrap(err, "result %zu", number + 1);
    memcpy(object->box, result->box, sizeof(object->box));
    if (!result->has_box)
        rle_box(mask, object->box);
    object->has_box = true;
    snprintf(score, sizeof(score), " %.2f", result->score);
    draw_names_label(names, category, score, object->label);
    return 0;
}

int painting_paint(struct painting *p, struct image *image, struct fonts *fonts,
                   struct error *err) {
    for (size_t i = 0; i < p->count; i++)
        p->list[i].mask = p->masks[i].count > 0 ? &p->masks[i] : NULL;
    return coco_draw(image, p->list, p->count, fonts, err);
}

int painting_beside(struct image *ret, const struct image *left, const struct image *right,
                    struct error *err) {
    const size_t line = (size_t)LINE_WIDTH * IMAGE_CHANNELS;
    const size_t left_bytes = (size_t)left->width * IMAGE_CHANNELS;
    const size_t right_bytes = (size_t)right->width * IMAGE_CHANNELS;
    if (left->height != right->height)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "pictures of heights %d and %d side by side; expected one height",
                         left->height, right->height);
    if (image_resize(ret, left->width + LINE_WIDTH + right->width, left->height, err) != 0)
        return -1;
    for (int y = 0; y < left->height; y++) {
        uint8_t *row = image_row(ret, y);
        memcpy(row, image_row(left, y), left_bytes);
        memset(row + left_bytes, WHITE, line);
        memcpy(row + left_bytes + line, image_row(right, y), right_bytes);
    }
    return 0;
}
