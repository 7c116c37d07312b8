#include "trainer/data/detect/detection_outline.h"

#include "trainer/math/mask_target.h"

#include <inttypes.h>

/* Detectron2 ignores polygons with fewer (data/detection_utils.py). */
enum { POINTS_LEAST = 3 };

static void count(const struct coco_outline *outline, int64_t *polygons, int64_t *points) {
    for (size_t i = 0; i < outline->count; i++) {
        uint32_t size = outline->sizes[i] / 2;
        *polygons += size >= POINTS_LEAST;
        *points += size >= POINTS_LEAST ? size : 0;
    }
}

static int measure_picture(const struct detection_set *set, const struct detection_picture *picture,
                           struct coco_outline *room, int64_t *ret_polygons, int64_t *ret_points,
                           struct error *err) {
    *ret_polygons = *ret_points = 0;
    for (uint32_t k = 0; k < picture->count; k++) {
        const struct coco_annotation *annotation =
            &set->index->annotations[set->objects[picture->first + k].annotation];
        const struct coco_segment segment = coco_index_segment(set->index, annotation);
        if (segment.kind != COCO_SEGMENT_POLYGONS)
            continue;
        if (coco_segment_outline(&segment, room, err) != 0)
            return error_wrap(err, "%s: annotation %" PRId64, set->index->path, annotation->id);
        count(room, ret_polygons, ret_points);
    }
    return 0;
}

static int at_most(int64_t value, int most) {
    return value < most ? (int)value : most;
}

int detection_outline_measure(const struct detection_set *set, int *ret_polygons, int *ret_points,
                              struct error *err) {
    cleanup_coco_outline struct coco_outline room = {0};
    int64_t most_polygons = 1, most_points = 1;
    for (size_t i = 0; i < set->count; i++) {
        int64_t polygons, points;
        if (measure_picture(set, &set->pictures[i], &room, &polygons, &points, err) != 0)
            return -1;
        most_polygons = polygons > most_polygons ? polygons : most_polygons;
        most_points = points > most_points ? points : most_points;
    }
    *ret_polygons = at_most(most_polygons, DETECTION_POLYGONS_MAX);
    *ret_points = at_most(most_points, DETECTION_POINTS_MAX);
    return 0;
}

enum detection_outline_answer
detection_outline_add(const struct detection_fields *fields, int i, size_t object,
                      const struct coco_outline *outline, const struct detection_draw *draw,
                      struct detect_size picture, struct detection_outline_used *used) {
    int64_t polygons = 0, points = 0;
    const double *numbers = outline->numbers;
    count(outline, &polygons, &points);
    if (polygons == 0)
        return DETECTION_OUTLINE_NONE;
    if (polygons > fields->polygons - used->polygons || points > fields->points - used->points)
        return DETECTION_OUTLINE_FULL;
    int32_t polygon = i * fields->polygons + used->polygons;
    int32_t point = i * fields->points + used->points;
    int32_t *parts =
        &fields->gt_parts[((size_t)i * (size_t)fields->slots + object) * MASK_PART_FIELDS];
    parts[MASK_PART_FIRST] = polygon;
    parts[MASK_PART_COUNT] = (int32_t)polygons;
    for (size_t p = 0; p < outline->count; numbers += outline->sizes[p++]) {
        uint32_t size = outline->sizes[p] / 2;
        if (size < POINTS_LEAST)
            continue;
        int32_t *range = &fields->polygon[(size_t)polygon++ * MASK_PART_FIELDS];
        range[MASK_PART_FIRST] = point;
        range[MASK_PART_COUNT] = (int32_t)size;
        for (uint32_t k = 0; k < size; k++, point++)
            detection_draw_point(draw, picture, numbers[2 * k], numbers[2 * k + 1],
                                 &fields->point[(size_t)point * 2]);
    }
    used->polygons += (int)polygons;
    used->points += (int)points;
    return DETECTION_OUTLINE_TAKEN;
}
