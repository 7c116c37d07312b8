#include "trainer/data/detect/detection_objects.h"

#include "trainer/data/detect/detection_outline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Which objects of a picture get a slot, and what is written for each. Masks are made here, from
 * the packed outlines of the index, for each picture of each epoch: kept as bitmaps they would take
 * much more memory than as outlines.
 *
 * A mask takes one of three ways. Without outlines in the batch it is a bitmap. If there are
 * outlines, polygons are passed as points while the place has room, and become a bitmap if it has
 * none. Runs are always a bitmap. */

/* One scratch belongs to a worker, and is freed with it (detection_worker_done). */
void detection_objects_scratch_done(struct detection_objects_scratch *room) {
    coco_outline_done(&room->outline);
    rle_scratch_done(&room->scratch);
    rle_done(&room->mask);
    detection_crop_done(&room->crop);
    free(room->order);
    *room = (struct detection_objects_scratch){0};
}

/* Area in the picture's pixels, before any scaling: the choice is the same in each epoch. */
static double box_area(const struct detection_object *object) {
    return ((double)object->box[2] - object->box[0]) * ((double)object->box[3] - object->box[1]);
}

/* An object, to be sorted by the area of its box. */
struct sized {
    double area;
    uint32_t number;
};

static int larger_first(const void *a, const void *b) {
    const struct sized *left = a, *right = b;
    if (left->area != right->area)
        return left->area > right->area ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* Ascending: the objects that were chosen get back the order of the JSON. */
static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Writes the numbers of the SLOTS largest objects, ascending, to room->order; all of them if they
 * fit. Equal areas are decided by the number, so that every epoch and rank chooses the same. */
static int choose_objects(struct detection_objects_scratch *room,
                          const struct detection_object *objects, uint32_t count, uint32_t slots,
                          struct error *err) {
    struct sized *sized = calloc(count + 1, sizeof(*sized));
    if (count > room->order_capacity) {
        /* Nothing of an earlier picture is needed, so that the array is not copied. */
        free(room->order);
        room->order = calloc(count, sizeof(*room->order));
        room->order_capacity = room->order != NULL ? count : 0;
    }
    if (sized == NULL || room->order_capacity < count) {
        free(sized);
        return error_no_memory(err, "objects");
    }
    for (uint32_t i = 0; i < count; i++)
        sized[i] = (struct sized){box_area(&objects[i]), i};
    if (count > slots)
        qsort(sized, count, sizeof(*sized), larger_first);
    for (uint32_t i = 0; i < count; i++)
        room->order[i] = sized[i].number;
    if (count > slots)
        qsort(room->order, slots, sizeof(*room->order), compare_numbers);
    free(sized);
    return 0;
}

/* State for filling one place. */
struct filling {
    const struct detection_set *set;
    const struct detection_draw *draw;
    const struct detection_fields *fields;
    struct detect_size picture; /* as the JSON has it, before scaling */
    int place;
    struct detection_bits *bits;
    struct detection_outline_used used;
};

/* Appends the crop of room->mask. It has the size of the picture as the network gets it. The mask
 * of a picture that the host scales is scaled with it, by way of a crop at the original size. */
static int put_crop(struct detection_objects_scratch *room, const struct filling *f,
                    int32_t ret_at[MASK_FIELDS], struct error *err) {
    if (!f->draw->host_scaled)
        return detection_bits_add(f->bits, &room->mask, ret_at, err);
    const struct detection_scaling scaling = {f->picture, f->draw->scaled, f->draw->flip};
    room->crop.bits.size = 0;
    if (detection_bits_add(&room->crop.bits, &room->mask, room->crop.at, err) != 0)
        return -1;
    return detection_bits_add_scaled(f->bits, &room->crop, &scaling, ret_at, err);
}

/* Makes the mask of ANNOTATION and appends it as a bitmap. Errors name JSON and annotation. */
static int fill_bits(struct detection_objects_scratch *room, const struct filling *f,
                     const struct coco_annotation *annotation, int32_t ret_at[MASK_FIELDS],
                     struct error *err) {
    const struct coco_index *index = f->set->index;
    if (coco_index_mask(index, annotation, &room->outline, &room->scratch, &room->mask, err) != 0)
        return error_wrap(err, "%s", index->path);
    if (put_crop(room, f, ret_at, err) != 0)
        return error_wrap(err, "%s: annotation %" PRId64, index->path, annotation->id);
    return 0;
}

/* Writes the mask of the object in slot SLOT in one of the three ways. An object without a mask has
 * zeros in RET_AT. */
static int fill_mask(struct detection_objects_scratch *room, struct filling *f, size_t slot,
                     const struct detection_object *object, int32_t ret_at[MASK_FIELDS],
                     struct error *err) {
    const struct coco_annotation *annotation = &f->set->index->annotations[object->annotation];
    memset(ret_at, 0, MASK_FIELDS * sizeof(*ret_at));
    if (!object->outlined)
        return 0;
    const struct coco_segment segment = coco_index_segment(f->set->index, annotation);
    if (f->fields->polygons == 0 || segment.kind != COCO_SEGMENT_POLYGONS)
        return fill_bits(room, f, annotation, ret_at, err);
    /* The same checks as for bitmaps: every preset refuses the same sets. */
    if (coco_segment_outline(&segment, &room->outline, err) != 0 ||
        rle_check_points(room->outline.numbers, room->outline.number_count / 2, err) != 0)
        return error_wrap(err, "%s: annotation %" PRId64, f->set->index->path, annotation->id);
    switch (detection_outline_add(f->fields, f->place, slot, &room->outline, f->draw, f->picture,
                                  &f->used)) {
    case DETECTION_OUTLINE_TAKEN:
        return detection_bits_add_empty(f->bits, ret_at, err);
    case DETECTION_OUTLINE_FULL:
        return fill_bits(room, f, annotation, ret_at, err);
    /* Polygons of fewer than three points cover nothing: the object has no mask. */
    case DETECTION_OUTLINE_NONE:
        break;
    }
    return 0;
}

/* Objects beyond the slots are counted in BITS, from which the source reports them. The count of a
 * place is written last, after all of its objects. */
int detection_objects_fill(struct detection_objects_scratch *room, const struct detection_set *set,
                           size_t sample, const struct detection_draw *draw,
                           const struct detection_fields *fields, int i,
                           struct detection_bits *bits, struct error *err) {
    const struct detection_picture *picture = &set->pictures[sample];
    const struct detection_object *objects = &set->objects[picture->first];
    struct filling f = {.set = set,
                        .draw = draw,
                        .fields = fields,
                        .picture = detection_picture_size(picture),
                        .place = i,
                        .bits = bits};
    /* FIRST is the place of its slot 0 in the arrays of the batch. */
    const size_t slots = (size_t)fields->slots, first = (size_t)i * slots;
    uint32_t used = picture->count < slots ? picture->count : (uint32_t)slots;
    if (choose_objects(room, objects, picture->count, (uint32_t)slots, err) != 0)
        return -1;
    for (size_t k = 0; k < used; k++) {
        const struct detection_object *object = &objects[room->order[k]];
        detection_draw_box(draw, f.picture, object->box, &fields->gt_box[(first + k) * 4]);
        fields->gt_label[first + k] = object->label;
        /* Slots without an object keep the zeros of the cleared place. */
        if (fill_mask(room, &f, k, object, &fields->gt_mask_at[(first + k) * MASK_FIELDS], err) !=
            0)
            return -1;
    }
    fields->gt_count[i] = (int32_t)used;
    bits->objects_dropped = (int32_t)(picture->count - used);
    return 0;
}
