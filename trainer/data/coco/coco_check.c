#include "trainer/data/coco/coco_check.h"

#include "common/cleanup.h"
#include "trainer/data/codec/picture.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One pass over the annotations, one over the images, and sorted copies of ids and names to find
 * what occurs twice. The pictures come last, each of them decoded, if the caller names their
 * folder. `ringtrain inspect coco` prints the result (coco_check_print.c).
 *
 * Nothing here ends the check but a lack of memory. A mask that cannot be made or a picture that
 * cannot be read is a finding. */

/* Tolerance between the given area and the mask's: outlines and pixels never agree exactly, least
 * for small and thin objects. */
static const double AREA_SHARE = 0.1;
static const double AREA_PIXELS = 20;

/* Least intersection over union of a box and that of its outline. Loose or rounded boxes are above
 * it; two corners, shares of the picture, and a mask that was scaled or turned are below. */
static const double BOX_SHARE = 0.5;
/* Boxes of few pixels are below it for being rounded. */
static const double BOX_PIXELS = 2;

/* The examples are inside the struct; only the counts of the categories are allocated. */
void coco_check_done(struct coco_check *check) {
    free(check->by_category);
    *check = (struct coco_check){0};
}

/* Only the first COCO_EXAMPLES ids are kept; all are counted. */
void coco_findings_add(struct coco_finding findings[COCO_FINDINGS], enum coco_finding_kind kind,
                       int64_t id) {
    struct coco_finding *finding = &findings[kind];
    if (finding->count < COCO_EXAMPLES)
        finding->examples[finding->count] = id;
    finding->count++;
}

/* Looks at the box of an annotation that has an image. Without the image's size nothing can lie
 * outside it, and check_sides reports that. */
static void check_box(struct coco_check *check, const struct coco_annotation *a,
                      const struct coco_image *image) {
    if ((a->flags & COCO_ANNOTATION_BOX) == 0) {
        coco_findings_add(check->findings, COCO_NO_BOX, a->id);
        return;
    }
    /* One pixel of tolerance: boxes are often rounded outwards. */
    bool outside = a->box[0] < -1 || a->box[1] < -1 || a->box[0] + a->box[2] > image->width + 1.0 ||
                   a->box[1] + a->box[3] > image->height + 1.0;
    if (a->box[2] <= 0 || a->box[3] <= 0)
        coco_findings_add(check->findings, COCO_DEGENERATE_BOX, a->id);
    else if (image->width > 0 && outside)
        coco_findings_add(check->findings, COCO_BOX_OUTSIDE, a->id);
}

/* Scratch memory that is reused from mask to mask. */
struct masks {
    struct coco_outline room; /* unpacked polygons */
    struct rle_scratch scratch;
    struct rle mask;
};

/* Returns true if the box is about that of the mask. An empty mask has none. */
static bool box_fits(const double box[4], const struct rle *mask) {
    double own[4];
    rle_box(mask, own);
    bool near = true;
    for (int i = 0; i < 4; i++)
        near &= fabs(box[i] - own[i]) <= BOX_PIXELS;
    return near || rle_area(mask) == 0 || box_iou(box, own, false) >= BOX_SHARE;
}

/* Makes the mask, as an evaluation would, and compares its pixels with the given area. The
 * difference must be above both limits, so that neither rounding at small objects nor a small share
 * of large ones counts. */
static void check_outline(struct coco_check *check, const struct coco_index *index,
                          const struct coco_annotation *a, struct masks *masks) {
    struct error ignored = {0};
    check->polygons += a->kind == COCO_SEGMENT_POLYGONS;
    check->runs += a->kind == COCO_SEGMENT_RUNS;
    if (a->kind == COCO_SEGMENT_NONE) {
        coco_findings_add(check->findings, COCO_NO_OUTLINE, a->id);
        return;
    }
    if (a->kind == COCO_SEGMENT_POLYGONS &&
        !rle_size_fits(index->images[a->image].height, index->images[a->image].width))
        return; /* already reported as an image without a size */
    if (coco_index_mask(index, a, &masks->room, &masks->scratch, &masks->mask, &ignored) != 0) {
        coco_findings_add(check->findings, COCO_BAD_OUTLINE, a->id);
        return;
    }
    double pixels = rle_area(&masks->mask);
    double apart = fabs(pixels - a->area);
    if ((a->flags & COCO_ANNOTATION_AREA) != 0 && apart > AREA_PIXELS &&
        apart > AREA_SHARE * fmax(pixels, a->area))
        coco_findings_add(check->findings, COCO_AREA_MISMATCH, a->id);
    /* A box that is missing or empty was reported already. */
    if ((a->flags & COCO_ANNOTATION_BOX) != 0 && a->box[2] > 0 && a->box[3] > 0 &&
        !box_fits(a->box, &masks->mask))
        coco_findings_add(check->findings, COCO_BOX_MISFIT, a->id);
}

/* Counts one annotation and looks at its parts. Boxes and outlines cannot be judged if the image is
 * unknown, and only the category counts. The limits of the sizes are COCO's: 32 x 32 and 96 x 96
 * pixels. */
static void check_annotation(struct coco_check *check, const struct coco_index *index,
                             const struct coco_annotation *a, struct masks *masks) {
    if (a->id == 0)
        coco_findings_add(check->findings, COCO_ZERO_ID, a->id);
    if (a->category < index->category_count)
        check->by_category[a->category]++;
    else
        coco_findings_add(check->findings, COCO_UNKNOWN_CATEGORY, a->id);
    if (a->image >= index->image_count) {
        coco_findings_add(check->findings, COCO_UNKNOWN_IMAGE, a->id);
        return;
    }
    check->crowds += (a->flags & COCO_ANNOTATION_CROWD) != 0;
    if ((a->flags & COCO_ANNOTATION_AREA) != 0)
        check->sizes[a->area < 1024 ? 0 : a->area <= 9216 ? 1 : 2]++;
    else
        coco_findings_add(check->findings, COCO_NO_AREA, a->id);
    check_box(check, a, &index->images[a->image]);
    check_outline(check, index, a, masks);
}

static int compare_ids(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Finds annotations with the same id, of which scoring takes the last alone (coco_task.c). Repeated
 * images and categories were counted and dropped when the index was made, so that their ids are not
 * known here. */
static int check_repeated(struct coco_check *check, const struct coco_index *index,
                          struct error *err) {
    size_t count = index->annotation_count;
    cleanup_free int64_t *ids = calloc(count + 1, sizeof(*ids));
    if (ids == NULL)
        return error_no_memory(err, "annotations' ids");
    for (size_t i = 0; i < count; i++)
        ids[i] = index->annotations[i].id;
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < count; i++)
        if (ids[i] == ids[i - 1])
            coco_findings_add(check->findings, COCO_REPEATED_ANNOTATIONS, ids[i]);
    check->findings[COCO_REPEATED_IMAGES].count = index->repeated_images;
    check->findings[COCO_REPEATED_CATEGORIES].count = index->repeated_categories;
    return 0;
}

/* A category, to be sorted by its name. */
struct named {
    const char *name;
    int64_t id;
};

/* Orders by name, then by id, so that the example is the same on each machine. */
static int compare_named(const void *a, const void *b) {
    const struct named *left = a, *right = b;
    const int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->id > right->id) - (left->id < right->id);
}

/* Finds names that several categories have. Two categories of one name are two classes of a
 * network, which can hardly be meant. Missing names are not compared. */
static int check_names(struct coco_check *check, const struct coco_index *index,
                       struct error *err) {
    const size_t count = index->category_count;
    cleanup_free struct named *list = calloc(count + 1, sizeof(*list));
    if (list == NULL)
        return error_no_memory(err, "names of categories");
    for (size_t i = 0; i < count; i++)
        list[i] = (struct named){coco_index_name(index, index->categories[i].name),
                                 index->categories[i].id};
    qsort(list, count, sizeof(*list), compare_named);
    for (size_t i = 1; i < count; i++)
        if (list[i].name[0] != '\0' && strcmp(list[i].name, list[i - 1].name) == 0)
            coco_findings_add(check->findings, COCO_REPEATED_NAMES, list[i].id);
    return 0;
}

/* Range of the sides. One of 0 stands for "not given" and must not become the least. */
static void check_sides(struct coco_check *check, const struct coco_image *image) {
    const uint32_t sides[2] = {image->width, image->height};
    if (image->width == 0 || image->height == 0) {
        coco_findings_add(check->findings, COCO_NO_SIZE, image->id);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (check->most_side[i] == 0 || sides[i] < check->least_side[i])
            check->least_side[i] = sides[i];
        if (sides[i] > check->most_side[i])
            check->most_side[i] = sides[i];
    }
}

/* Counts images without annotations, which are no finding, and finds the most that one has. */
static void check_images(struct coco_check *check, const struct coco_index *index) {
    for (size_t i = 0; i < index->image_count; i++) {
        const struct coco_image *image = &index->images[i];
        check->empty_images += image->count == 0;
        check->most = image->count > check->most ? image->count : check->most;
        check_sides(check, image);
    }
}

/* Result of a picture; the last value stands for "no finding". */
enum { IN_ORDER = COCO_FINDINGS };

/* Returns the finding for one picture. A name that leads out of the folder counts as a missing
 * file: it is not opened. Sizes are compared where the JSON has them. Errors have no use here: each
 * would be one line among thousands. */
static uint8_t check_picture(const struct coco_index *index, const struct coco_image *image,
                             const char *pictures) {
    cleanup_image struct image picture = {0};
    char path[PATH_MAX];
    struct stat st;
    if (coco_index_picture(index, image, pictures, path, sizeof(path), NULL) != 0 ||
        stat(path, &st) != 0)
        return COCO_NO_FILE;
    if (picture_read(path, &picture, NULL) != 0)
        return COCO_BAD_FILE;
    bool agrees = image->width == 0 || image->height == 0 ||
                  (picture.width == (int)image->width && picture.height == (int)image->height);
    return agrees ? IN_ORDER : COCO_OTHER_SIZE;
}

/* Decodes all pictures in parallel. Each thread writes the kind of its pictures alone; the findings
 * are added afterwards in the order of the index, so that the examples do not depend on the
 * threads. Pieces of 16 pictures even out their different sizes. */
static int check_pictures(struct coco_check *check, const struct coco_index *index,
                          const char *pictures, struct error *err) {
    cleanup_free uint8_t *kinds = calloc(index->image_count + 1, 1);
    if (kinds == NULL)
        return error_no_memory(err, "pictures to check");
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < index->image_count; i++)
        kinds[i] = check_picture(index, &index->images[i], pictures);
    for (size_t i = 0; i < index->image_count; i++)
        if (kinds[i] != IN_ORDER)
            coco_findings_add(check->findings, (enum coco_finding_kind)kinds[i],
                              index->images[i].id);
    return 0;
}

/* RET is set once everything has succeeded, and stays as it was on failure. */
int coco_check_make(struct coco_check *ret, const struct coco_index *index, const char *pictures,
                    struct error *err) {
    cleanup_coco_check struct coco_check check = {0};
    check.by_category = calloc(index->category_count + 1, sizeof(*check.by_category));
    if (check.by_category == NULL)
        return error_no_memory(err, "annotations by category");
    struct masks masks = {0};
    for (size_t i = 0; i < index->annotation_count; i++)
        check_annotation(&check, index, &index->annotations[i], &masks);
    coco_outline_done(&masks.room);
    rle_scratch_done(&masks.scratch);
    rle_done(&masks.mask);
    /* Annotations of an image that is not listed count for their category, too. */
    for (size_t c = 0; c < index->category_count; c++)
        check.empty_categories += check.by_category[c] == 0;
    check_images(&check, index);
    check.missing = coco_index_missing(index);
    if (check_repeated(&check, index, err) != 0 || check_names(&check, index, err) != 0 ||
        (pictures != NULL && check_pictures(&check, index, pictures, err) != 0))
        return -1;
    *ret = check;
    check = (struct coco_check){0};
    return 0;
}
