#include "trainer/data/coco/coco_check.h"

#include "common/str.h"

#include <inttypes.h>
#include <string.h>

struct wording {
    const char *what;
    const char *of; /* what the ids refer to */
    bool broken;    /* counts for coco_check_broken */
};

static const struct wording WORDS[COCO_FINDINGS] = {
    [COCO_REPEATED_IMAGES] = {"repeated image ids (the last counts)", NULL, true},
    [COCO_REPEATED_CATEGORIES] = {"repeated category ids (the last counts)", NULL, true},
    [COCO_REPEATED_NAMES] = {"categories with the name of another", "category", false},
    [COCO_REPEATED_ANNOTATIONS] = {"repeated annotation ids", "annotation", true},
    [COCO_UNKNOWN_IMAGE] = {"annotations of images that are not listed", "annotation", true},
    [COCO_UNKNOWN_CATEGORY] = {"annotations of categories that are not listed", "annotation", true},
    [COCO_ZERO_ID] = {"annotations with id 0 (pycocotools never matches them)", "annotation", true},
    [COCO_NO_BOX] = {"annotations without a box", "annotation", true},
    [COCO_NO_AREA] = {"annotations without an area, which an evaluation refuses", "annotation",
                      false},
    [COCO_NO_OUTLINE] = {"annotations without an outline, which an evaluation of masks refuses",
                         "annotation", false},
    [COCO_DEGENERATE_BOX] = {"boxes without width or height", "annotation", false},
    [COCO_BOX_OUTSIDE] = {"boxes that leave the image", "annotation", false},
    [COCO_BOX_MISFIT] = {"boxes (x, y, width, height) that do not fit their outlines", "annotation",
                         false},
    [COCO_BAD_OUTLINE] = {"outlines that give no mask", "annotation", true},
    [COCO_AREA_MISMATCH] = {"areas that differ from the mask's", "annotation", false},
    [COCO_NO_SIZE] = {"images without width or height", "image", true},
    [COCO_NO_FILE] = {"images without a file", "image", true},
    [COCO_BAD_FILE] = {"images with a file that is not a whole JPEG or PNG", "image", true},
    [COCO_OTHER_SIZE] = {"images with a file of another size", "image", true},
};

static int print_counts(const struct coco_check *c, const struct coco_index *index, struct buf *out,
                        struct error *err) {
    size_t bare = c->findings[COCO_NO_OUTLINE].count;
    if (buf_printf(out, err, "  images       %9zu  %zu without annotations\n", index->image_count,
                   c->empty_images) != 0 ||
        buf_printf(out, err,
                   "  sizes                   %" PRIu32 " x %" PRIu32 " to %" PRIu32 " x %" PRIu32
                   " (least and most width x height)\n",
                   c->least_side[0], c->least_side[1], c->most_side[0], c->most_side[1]) != 0 ||
        buf_printf(out, err, "  categories   %9zu  %zu without annotations\n",
                   index->category_count, c->empty_categories) != 0 ||
        buf_printf(out, err, "  annotations  %9zu  %" PRIu32 " at most in an image\n",
                   index->annotation_count, c->most) != 0)
        return -1;
    return buf_printf(out, err,
                      "  outlines                %zu polygons, %zu runs, %zu none; %zu crowds\n"
                      "  areas                   %zu small, %zu medium, %zu large\n",
                      c->polygons, c->runs, bare, c->crowds, c->sizes[0], c->sizes[1], c->sizes[2]);
}

/* Appends " (NAME)" if the image ID has a file name. */
static int print_name(const struct coco_index *index, int64_t id, struct buf *out,
                      struct error *err) {
    uint32_t image = coco_index_image(index, id);
    const char *name =
        image != COCO_NUMBER_NONE ? coco_index_name(index, index->images[image].name) : "";
    return name[0] == '\0' || (buf_add_text(out, " (", err) == 0 &&
                               str_add_utf8(out, name, strlen(name), err) == 0 &&
                               buf_add_text(out, ")", err) == 0)
               ? 0
               : -1;
}

static int print_finding(const struct coco_finding *finding, const struct wording *words,
                         const struct coco_index *index, struct buf *out, struct error *err) {
    if (buf_printf(out, err, "  %9zu  %s", finding->count, words->what) != 0)
        return -1;
    const bool images = words->of != NULL && strcmp(words->of, "image") == 0;
    size_t shown = finding->count < COCO_EXAMPLES ? finding->count : COCO_EXAMPLES;
    for (size_t i = 0; words->of != NULL && i < shown; i++)
        if (buf_printf(out, err, "%s%" PRId64, i == 0 ? ": " : ", ", finding->examples[i]) != 0 ||
            (images && print_name(index, finding->examples[i], out, err) != 0))
            return -1;
    return buf_add_text(out, words->of != NULL && finding->count > shown ? " ...\n" : "\n", err);
}

bool coco_check_broken(const struct coco_check *check) {
    for (int i = 0; i < COCO_FINDINGS; i++)
        if (WORDS[i].broken && check->findings[i].count > 0)
            return true;
    return check->missing != NULL;
}

static int print_findings(const struct coco_check *check, const struct coco_index *index,
                          struct buf *out, struct error *err) {
    size_t kinds = 0;
    if (check->missing != NULL) {
        kinds++;
        if (buf_printf(out, err, "found:\n  no list \"%s\" in the JSON\n", check->missing) != 0)
            return -1;
    }
    for (int i = 0; i < COCO_FINDINGS; i++) {
        const struct coco_finding *finding = &check->findings[i];
        if (finding->count == 0)
            continue;
        if (kinds++ == 0 && buf_add_text(out, "found:\n", err) != 0)
            return -1;
        if (print_finding(finding, &WORDS[i], index, out, err) != 0)
            return -1;
    }
    return kinds > 0 ? 0 : buf_add_text(out, "found: nothing wrong\n", err);
}

static int print_category(const struct coco_check *check, const struct coco_index *index,
                          size_t category, struct buf *out, struct error *err) {
    const char *name = coco_index_name(index, index->categories[category].name);
    if (buf_printf(out, err, "  %9zu  %6" PRId64 "  ", check->by_category[category],
                   index->categories[category].id) != 0 ||
        str_add_utf8(out, name, strlen(name), err) != 0)
        return -1;
    return buf_add_text(out, "\n", err);
}

int coco_check_print(const struct coco_check *check, const struct coco_index *index,
                     struct buf *out, struct error *err) {
    if (print_counts(check, index, out, err) != 0 || print_findings(check, index, out, err) != 0 ||
        buf_add_text(out, "annotations by category (count, id, name):\n", err) != 0)
        return -1;
    for (size_t c = 0; c < index->category_count; c++)
        if (print_category(check, index, c, out, err) != 0)
            return -1;
    return 0;
}
