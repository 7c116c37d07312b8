#include "trainer/data/detect/detection_set.h"

#include "common/str.h"
#include "trainer/data/codec/jpeg.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes the list of samples from an index, in one pass over its images. A fault of the set ends the
 * task at once, with the id of the culprit, before hours of training. Objects that are merely
 * useless to train on, as crowds and boxes without area, are left out and counted.
 *
 * Boxes are clipped in f32 and with the operations of the framework that a recipe follows, because
 * a training is to give the same numbers as the one that it follows. trainer/app/task/detect_data.c
 * makes a set for training and one for validation. */

/* The index is borrowed and stays open. */
void detection_set_done(struct detection_set *set) {
    free(set->pictures);
    free(set->objects);
    free(set->label_of);
    *set = (struct detection_set){0};
}

/* Labels may have gaps, with id_labels: a label in a gap has no category. */
uint32_t detection_set_category(const struct detection_set *set, int32_t label) {
    for (size_t i = 0; i < set->index->category_count; i++)
        if (set->label_of[i] == label)
            return (uint32_t)i;
    return COCO_NUMBER_NONE;
}

/* Paths of a set that was made from a list of pictures (picture_index.h) were given by the user,
 * and may lead anywhere. File names of a JSON must stay in the folder. */
int detection_set_path(const struct detection_set *set, size_t sample, char *ret, size_t size,
                       struct error *err) {
    const struct coco_image *image = &set->index->images[set->pictures[sample].image];
    if (!set->paths)
        return coco_index_picture(set->index, image, set->folder, ret, size, err);
    if (snprintf(ret, size, "%s", coco_index_name(set->index, image->name)) < (int)size)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: image %" PRId64 ": path too long", set->index->path,
                     image->id);
}

/* Checks that the JSON has the lists that are needed. A set to predict on (DETECTION_PICK_ALL) may
 * lack annotations. */
static int check_lists(const struct detection_set *set, enum detection_pick pick,
                       struct error *err) {
    const struct coco_index *index = set->index;
    const char *missing = coco_index_missing(index);
    /* coco_index_missing names the first list that is missing, so that annotations are missing
     * alone. */
    bool optional =
        pick == DETECTION_PICK_ALL && missing != NULL && strcmp(missing, "annotations") == 0;
    if (missing != NULL && !optional)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no \"%s\"; expected COCO's images, annotations and categories",
                         index->path, missing);
    /* A list may be there and have nothing in it. */
    const char *empty = index->image_count == 0      ? "images"
                        : index->category_count == 0 ? "categories"
                                                     : NULL;
    if (empty != NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: \"%s\" is empty; expected one or more",
                         index->path, empty);
    if (pick != DETECTION_PICK_ALL && index->placed_count == 0)
        return error_set(
            err, EXIT_CODE_DATA,
            "%s: none of its images has annotations; expected them under the ids of its images",
            index->path);
    if (set->folder == NULL || set->folder[0] == '\0')
        return error_set(err, EXIT_CODE_DATA, "%s: no folder with its pictures", index->path);
    return 0;
}

/* Gives each category its label. Labels ascend with the ids, so that the last one is the
 * largest. */
static int number_labels(struct detection_set *set, bool id_labels, struct error *err) {
    const struct coco_index *index = set->index;
    set->label_of = calloc(index->category_count, sizeof(*set->label_of));
    if (set->label_of == NULL)
        return error_no_memory(err, "labels");
    for (size_t i = 0; i < index->category_count; i++) {
        const int64_t id = index->categories[i].id, label = id_labels ? id : (int64_t)i + 1;
        /* -1 stands for a missing category in a model's list (config.json), so that no category may
         * have such an id. */
        if (id < 0)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: category %" PRId64 ": a negative \"id\"; expected 0 or more",
                             index->path, id);
        if (label < 1 || label > DETECTION_LABELS_MAX)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: category %" PRId64 " would have label %" PRId64
                             "; expected 1 to %d",
                             index->path, id, label, DETECTION_LABELS_MAX);
        set->label_of[i] = (int32_t)label;
        set->labels = (int32_t)label; /* categories are sorted by id */
    }
    return 0;
}

/* Checks an image before it is used: sides for which a plan can be made, and a file name that does
 * not lead out of the folder. No file is opened. */
static int check_image(const struct detection_set *set, const struct coco_image *image,
                       struct error *err) {
    const struct coco_index *index = set->index;
    if (image->width == 0 || image->height == 0 || image->width > DETECTION_PICTURE_SIDE_MAX ||
        image->height > DETECTION_PICTURE_SIDE_MAX)
        return error_set(
            err, EXIT_CODE_DATA,
            "%s: image %" PRId64 ": width %" PRIu32 " and height %" PRIu32 "; expected 1 to %d",
            index->path, image->id, image->width, image->height, DETECTION_PICTURE_SIDE_MAX);
    char path[PATH_MAX];
    return set->paths ? 0 : coco_index_picture(index, image, set->folder, path, sizeof(path), err);
}

/* Checks an annotation that is no crowd; the error does not name it yet. Masks of runs must have
 * the size of the picture, as they are not scaled to it. Polygons are checked when they are
 * drawn. */
static int check_annotation(const struct coco_index *index, const struct coco_image *image,
                            const struct coco_annotation *annotation, struct error *err) {
    if (annotation->category >= index->category_count)
        return error_set(err, EXIT_CODE_DATA, "its category is not in \"categories\"");
    if ((annotation->flags & COCO_ANNOTATION_BOX) == 0)
        return error_set(err, EXIT_CODE_DATA, "no \"bbox\"; expected [x, y, width, height]");
    struct coco_segment segment = coco_index_segment(index, annotation);
    struct coco_runs runs;
    if (segment.kind != COCO_SEGMENT_RUNS)
        return 0;
    if (coco_segment_runs(&segment, &runs, err) != 0)
        return -1;
    if (runs.height != image->height || runs.width != image->width)
        return error_set(err, EXIT_CODE_DATA,
                         "its mask is %" PRIu32 " x %" PRIu32 "; expected %" PRIu32 " x %" PRIu32
                         ", as its image is",
                         runs.width, runs.height, image->width, image->height);
    return 0;
}

/* NaN stays NaN, and makes its box degenerate. */
static float clamp(float value, float most) {
    return value < 0 ? 0 : value > most ? most : value;
}

/* Clips the box to the picture; returns false if nothing is left of it. XYWH becomes two corners in
 * f32: the conversion comes before the sum, as in torchvision. Counts what is clipped or left
 * out. */
static bool clamp_box(struct detection_set *set, const struct coco_image *image,
                      const double xywh[4], float ret[4]) {
    /* The last pixel inside lies one before the edge. */
    const float plus = set->last_pixel ? 1 : 0;
    const float most[2] = {(float)image->width - plus, (float)image->height - plus};
    float raw[4] = {(float)xywh[0], (float)xywh[1], (float)xywh[2], (float)xywh[3]};
    raw[2] = raw[0] + (raw[2] > plus ? raw[2] - plus : 0);
    raw[3] = raw[1] + (raw[3] > plus ? raw[3] - plus : 0);
    for (int i = 0; i < 4; i++)
        ret[i] = clamp(raw[i], most[i % 2]);
    if (!(ret[2] > ret[0] && ret[3] > ret[1])) {
        set->left_out.degenerate++;
        return false;
    }
    set->left_out.clamped += memcmp(ret, raw, sizeof(raw)) != 0;
    return true;
}

/* The rule of torchvision's reference training, applied to the box as the JSON has it. */
static bool is_larger_than_a_pixel(const struct coco_annotation *annotation) {
    return (annotation->flags & COCO_ANNOTATION_BOX) != 0 && annotation->box[2] > 1 &&
           annotation->box[3] > 1;
}

/* Adds the objects of IMAGE to the end of the list, in the JSON's order. *RET_PICK: an annotation,
 * crowds included, qualifies the picture by torchvision's rule. The caller may take the objects
 * back. */
static int add_objects(struct detection_set *set, const struct coco_image *image, bool *ret_pick,
                       struct error *err) {
    const struct coco_index *index = set->index;
    *ret_pick = false;
    /* The next object is written in place, and counted only if it is used. */
    for (uint32_t i = 0; i < image->count; i++) {
        const struct coco_annotation *annotation = &index->annotations[image->first + i];
        struct detection_object *object = &set->objects[set->object_count];
        *ret_pick |= is_larger_than_a_pixel(annotation);
        if ((annotation->flags & COCO_ANNOTATION_CROWD) != 0) {
            set->left_out.crowds++;
            continue;
        }
        if (check_annotation(index, image, annotation, err) != 0)
            return error_wrap(err, "%s: annotation %" PRId64, index->path, annotation->id);
        if (!clamp_box(set, image, annotation->box, object->box))
            continue;
        object->label = set->label_of[annotation->category];
        object->annotation = (uint32_t)(image->first + i);
        object->outlined = annotation->kind != COCO_SEGMENT_NONE;
        set->left_out.outlines += !object->outlined;
        set->object_count++;
    }
    return 0;
}

/* Continues HASH with all that a training sees of a picture but its pixels. Masks are not part of
 * it. */
static uint64_t hash_picture(uint64_t hash, const struct detection_set *set,
                             const struct detection_picture *picture) {
    const struct coco_image *image = &set->index->images[picture->image];
    const char *name = coco_index_name(set->index, image->name);
    hash = str_hash(hash, &image->id, sizeof(image->id));
    hash = str_hash(hash, &picture->height, sizeof(picture->height));
    hash = str_hash(hash, &picture->width, sizeof(picture->width));
    hash = str_hash(hash, name, strlen(name) + 1);
    for (uint32_t i = 0; i < picture->count; i++) {
        const struct detection_object *object = &set->objects[picture->first + i];
        hash = str_hash(hash, object->box, sizeof(object->box));
        hash = str_hash(hash, &object->label, sizeof(object->label));
    }
    return hash;
}

/* Fills pictures and objects. A picture that is not used gives back the objects that it added, with
 * their counts; crowds and degenerate boxes stay counted, as they are why it is not used. */
static int add_pictures(struct detection_set *set, enum detection_pick pick, struct error *err) {
    const struct coco_index *index = set->index;
    set->pictures = calloc(index->image_count, sizeof(*set->pictures));
    /* Room for all that could be used: annotations of unlisted images never are. */
    set->objects = calloc(index->placed_count + 1, sizeof(*set->objects));
    if (set->pictures == NULL || set->objects == NULL)
        return error_no_memory(err, "the objects of a data set");
    for (size_t i = 0; i < index->image_count; i++) {
        const struct coco_image *image = &index->images[i];
        const size_t first = set->object_count;
        /* To be restored if the picture is not used. */
        const struct detection_left_out before = set->left_out;
        bool larger = false;
        if (check_image(set, image, err) != 0 || add_objects(set, image, &larger, err) != 0)
            return -1;
        bool used = pick == DETECTION_PICK_ALL  ? true
                    : pick == DETECTION_PICK_TV ? larger
                                                : set->object_count > first;
        if (!used) {
            set->object_count = first;
            set->left_out.outlines = before.outlines; /* only counts objects that are used */
            set->left_out.clamped = before.clamped;
            set->left_out.pictures++;
            continue;
        }
        struct detection_picture *picture = &set->pictures[set->count++];
        *picture = (struct detection_picture){.image = (uint32_t)i,
                                              .count = (uint32_t)(set->object_count - first),
                                              .first = first,
                                              .height = (uint16_t)image->height,
                                              .width = (uint16_t)image->width};
        set->most = picture->count > set->most ? picture->count : set->most;
        set->hash = hash_picture(set->hash, set, picture);
    }
    /* Never with DETECTION_PICK_ALL, as there are images. */
    if (set->count == 0)
        return error_set(
            err, EXIT_CODE_DATA,
            "%s: none of its %zu images has an object to train on: its %zu annotations "
            "are crowds, or their boxes have a pixel at most; expected x, y, width, "
            "height in pixels",
            index->path, index->image_count, index->placed_count);
    return 0;
}

/* RET is set on success alone. INDEX and FOLDER are borrowed and must outlive it. */
int detection_set_make(struct detection_set *ret, const struct coco_index *index,
                       const char *folder, const struct detection_options *options,
                       struct error *err) {
    cleanup_detection_set struct detection_set set = {.index = index,
                                                      .folder = folder,
                                                      .paths = options->paths,
                                                      .last_pixel = options->last_pixel,
                                                      .hash = STR_HASH_START};
    if (check_lists(&set, options->pick, err) != 0 ||
        number_labels(&set, options->id_labels, err) != 0 ||
        add_pictures(&set, options->pick, err) != 0)
        return -1;
    *ret = set;
    set = (struct detection_set){0};
    return 0;
}

/* Names only what there is, so that the line of a clean set is short. */
int detection_set_describe(const struct detection_set *set, struct buf *out, struct error *err) {
    const struct detection_left_out *left = &set->left_out;
    const struct {
        size_t count;
        const char *thing, *what;
        const char *plural; /* the ending of more than one thing */
        /* In the order of the line: first what the index says, then what was left out here. */
    } words[] = {
        {set->index->repeated_images, "repeated image id", " (the last counts)", "s"},
        {set->index->repeated_categories, "repeated category id", " (the last counts)", "s"},
        {set->index->annotation_count - set->index->placed_count, "annotation",
         " of an image that is not listed left out", "s"},
        {left->pictures, "picture", " without objects left out", "s"},
        {left->crowds, "crowd", " left out", "s"},
        {left->degenerate, "box", " without area left out", "es"},
        {left->clamped, "box", " cut at the picture's edge", "es"},
        {left->outlines, "object", " without outline", "s"},
    };
    const size_t categories = set->index->category_count;
    if (buf_printf(out, err, "%zu picture%s, %zu object%s of %zu categor%s", set->count,
                   STR_PLURAL(set->count), set->object_count, STR_PLURAL(set->object_count),
                   categories, categories == 1 ? "y" : "ies") != 0)
        return -1;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].count > 0 &&
            buf_printf(out, err, "; %zu %s%s%s", words[i].count, words[i].thing,
                       words[i].count == 1 ? "" : words[i].plural, words[i].what) != 0)
            return -1;
    return 0;
}
