#include "trainer/data/coco/coco_index.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void coco_index_done(struct coco_index *index) {
    if (index->map != NULL)
        munmap(index->map, index->map_size);
    *index = (struct coco_index){0};
}

const char *coco_index_missing(const struct coco_index *index) {
    if ((index->lists & COCO_LIST_IMAGES) == 0)
        return "images";
    if ((index->lists & COCO_LIST_CATEGORIES) == 0)
        return "categories";
    return (index->lists & COCO_LIST_ANNOTATIONS) == 0 ? "annotations" : NULL;
}

uint32_t coco_index_image(const struct coco_index *index, int64_t id) {
    size_t low = 0, high = index->image_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->images[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->image_count && index->images[low].id == id ? (uint32_t)low
                                                                   : COCO_NUMBER_NONE;
}

uint32_t coco_index_category(const struct coco_index *index, int64_t id) {
    size_t low = 0, high = index->category_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->categories[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->category_count && index->categories[low].id == id ? (uint32_t)low
                                                                          : COCO_NUMBER_NONE;
}

const char *coco_index_name(const struct coco_index *index, uint64_t name) {
    return name < index->names_size ? index->names + name : "";
}

/* Returns true if NAME is absolute or has a part "..". */
static bool leads_out(const char *name) {
    if (*name == '/')
        return true;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    }
    return false;
}

int coco_index_picture(const struct coco_index *index, const struct coco_image *image,
                       const char *folder, char *ret, size_t size, struct error *err) {
    const char *name = coco_index_name(index, image->name);
    if (*name == '\0')
        return error_set(err, EXIT_CODE_DATA, "%s: image %" PRId64 ": no \"file_name\"",
                         index->path, image->id);
    if (leads_out(name))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: image %" PRId64
                         ": \"file_name\": '%.200s' leads out of the folder of pictures",
                         index->path, image->id, name);
    const int length = snprintf(ret, size, "%s/%s", folder, name);
    if (length >= 0 && (size_t)length < size)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: image %" PRId64 ": path too long", index->path,
                     image->id);
}

struct coco_segment coco_index_segment(const struct coco_index *index,
                                       const struct coco_annotation *annotation) {
    if (annotation->segment > index->segments_size ||
        annotation->segment_size > index->segments_size - annotation->segment)
        return (struct coco_segment){.kind = COCO_SEGMENT_NONE};
    return (struct coco_segment){.kind = annotation->kind,
                                 .bytes = index->segments + annotation->segment,
                                 .size = annotation->segment_size};
}

int coco_index_mask(const struct coco_index *index, const struct coco_annotation *annotation,
                    struct coco_outline *room, struct rle_scratch *scratch, struct rle *ret,
                    struct error *err) {
    static const struct coco_image NOWHERE = {0};
    const struct coco_image *image =
        annotation->image < index->image_count ? &index->images[annotation->image] : &NOWHERE;
    struct coco_segment segment = coco_index_segment(index, annotation);
    if (coco_segment_mask(&segment, room, scratch, image->height, image->width, ret, err) != 0)
        return error_wrap(err, "annotation %" PRId64, annotation->id);
    return 0;
}
