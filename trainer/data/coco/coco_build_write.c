#include "trainer/data/coco/coco_build_parts.h"

#include "common/cleanup.h"
#include "common/crc32c.h"
#include "common/file/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Writing of the index file (coco_file.h). Outlines come first and are written while the JSON is
 * still being read. coco_end_file adds the other sections and then the head, in the room that was
 * left for it at the start of the file. Until the head is there, the file has no magic number, and
 * no reader takes it for an index. */

/* Bytes of outlines, and number of annotations, that are collected for one write. */
enum { FLUSH_SIZE = 1024 * 1024, ANNOTATIONS_AT_ONCE = 4096 };

/* Appends to the file and to the checksum of the body. The first call moves to the place after the
 * head. Padding passes here, too: each byte after the head is covered. */
static int append(struct coco_builder *b, const void *bytes, size_t size, struct error *err) {
    if (b->written == 0 && lseek(b->fd, sizeof(b->head), SEEK_SET) < 0)
        return error_set_errno(err, file_write_code(errno), "writing an index of annotations");
    if (size > 0 && file_write_all(b->fd, bytes, size, err) != 0)
        return error_wrap(err, "writing an index of annotations");
    b->head.body = crc32c(b->head.body, bytes, size);
    b->written += size;
    return 0;
}

/* The buffer of outlines is emptied, and what it held counts in `segments_flushed`, on which the
 * offsets of later outlines are based. */
int coco_flush_segments(struct coco_builder *b, bool all, struct error *err) {
    if (!all && b->segments.size < FLUSH_SIZE)
        return 0;
    if (append(b, b->segments.data, b->segments.size, err) != 0)
        return -1;
    b->segments_flushed += b->segments.size;
    buf_consume(&b->segments, b->segments.size);
    return 0;
}

/* Starts a section of SIZE bytes at the next multiple of eight, as its structs are used in place
 * once the file is in memory (coco_file.c). */
static int begin_section(struct coco_builder *b, enum coco_section section, uint64_t size,
                         struct error *err) {
    static const char ZEROS[8] = {0};
    if (append(b, ZEROS, (8 - (sizeof(b->head) + b->written) % 8) % 8, err) != 0)
        return -1;
    b->head.sections[section].offset = sizeof(b->head) + b->written;
    b->head.sections[section].size = size;
    return 0;
}

/* Orders by id, and items of one id as in the JSON, since qsort itself is not stable. */
static int compare_named(const void *a, const void *b) {
    const struct coco_named *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Sorts by id and keeps the last item of each id; returns how many were removed. pycocotools, too,
 * keeps the last one, in a dictionary. */
static uint64_t sort_named(struct coco_named_list *list) {
    size_t kept = 0;
    if (list->count == 0)
        return 0;
    qsort(list->items, list->count, sizeof(*list->items), compare_named);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && list->items[kept - 1].id == list->items[i].id)
            kept--; /* the later one replaces it */
        list->items[kept++] = list->items[i];
    }
    uint64_t gone = list->count - kept;
    list->count = kept;
    return gone;
}

/* Returns the place of ID in the sorted list, which is its number in the index; COCO_NUMBER_NONE if
 * no item has it. Bisection, as ids may be any 64-bit numbers, with gaps. */
static uint32_t find_named(const struct coco_named_list *list, int64_t id) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].id == id ? (uint32_t)low : COCO_NUMBER_NONE;
}

/* Numbers the annotations' images and categories. STARTS[i] becomes the first annotation of image
 * i, STARTS[images] the first one without an image; ORDER lists all annotations in that order. It
 * is a counting sort, which keeps the JSON's order within an image. STARTS has images + 2 items,
 * zeros at the call. */
static void order_annotations(struct coco_builder *b, size_t *starts, uint32_t *order) {
    size_t images = b->images.count;
    for (size_t i = 0; i < b->annotation_count; i++) {
        struct coco_pending *pending = &b->annotations[i];
        pending->annotation.image = find_named(&b->images, pending->image_id);
        pending->annotation.category = find_named(&b->categories, pending->category_id);
        /* Without an image the number is the largest there is, and the annotation goes to the place
         * after all images. */
        size_t image = pending->annotation.image;
        starts[(image < images ? image : images) + 1]++;
    }
    /* From how many annotations each image has to where they begin. */
    for (size_t i = 0; i <= images; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < b->annotation_count; i++) {
        size_t image = b->annotations[i].annotation.image;
        order[starts[image < images ? image : images]++] = (uint32_t)i;
    }
    /* Each start has advanced to its image's end, which is the next one's start. */
    for (size_t i = images + 1; i > 0; i--)
        starts[i] = starts[i - 1];
    starts[0] = 0;
}

/* Writes the annotations in ORDER, gathered into blocks: they lie in the order of the JSON in
 * memory, and a write for each would be millions of system calls. */
static int write_annotations(struct coco_builder *b, const uint32_t *order, struct error *err) {
    cleanup_free struct coco_annotation *block = calloc(ANNOTATIONS_AT_ONCE, sizeof(*block));
    if (block == NULL)
        return error_no_memory(err, "annotations");
    if (begin_section(b, COCO_SECTION_ANNOTATIONS, b->annotation_count * sizeof(*block), err) != 0)
        return -1;
    size_t filled = 0;
    for (size_t i = 0; i < b->annotation_count; i++) {
        block[filled++] = b->annotations[order[i]].annotation;
        if (filled < ANNOTATIONS_AT_ONCE && i + 1 < b->annotation_count)
            continue;
        if (append(b, block, filled * sizeof(*block), err) != 0)
            return -1;
        filled = 0;
    }
    return 0;
}

/* Writes the images in the order of their numbers, each with its range of annotations. */
static int write_images(struct coco_builder *b, const size_t *starts, struct error *err) {
    size_t size = b->images.count * sizeof(struct coco_image);
    cleanup_free struct coco_image *images = calloc(1, size + 1);
    if (images == NULL)
        return error_no_memory(err, "images");
    for (size_t i = 0; i < b->images.count; i++) {
        const struct coco_named *item = &b->images.items[i];
        images[i] = (struct coco_image){.id = item->id,
                                        .name = item->name,
                                        .first = starts[i],
                                        .count = (uint32_t)(starts[i + 1] - starts[i]),
                                        .width = item->width,
                                        .height = item->height};
    }
    if (begin_section(b, COCO_SECTION_IMAGES, size, err) != 0)
        return -1;
    return append(b, images, size, err);
}

static int write_categories(struct coco_builder *b, struct error *err) {
    size_t size = b->categories.count * sizeof(struct coco_category);
    cleanup_free struct coco_category *categories = calloc(1, size + 1);
    if (categories == NULL)
        return error_no_memory(err, "categories");
    for (size_t i = 0; i < b->categories.count; i++)
        categories[i] = (struct coco_category){.id = b->categories.items[i].id,
                                               .name = b->categories.items[i].name};
    if (begin_section(b, COCO_SECTION_CATEGORIES, size, err) != 0)
        return -1;
    return append(b, categories, size, err);
}

/* Names come before the items that refer to them by offset; images and categories before the
 * annotations that refer to them by number. The order is no part of the format, as the head has
 * each section's place. */
static int write_sections(struct coco_builder *b, struct error *err) {
    cleanup_free size_t *starts = calloc(b->images.count + 2, sizeof(*starts));
    cleanup_free uint32_t *order = calloc(b->annotation_count + 1, sizeof(*order));
    if (starts == NULL || order == NULL)
        return error_no_memory(err, "the order of annotations");
    order_annotations(b, starts, order);
    b->head.placed_count = starts[b->images.count];
    if (begin_section(b, COCO_SECTION_NAMES, b->names.size, err) != 0 ||
        append(b, b->names.data, b->names.size, err) != 0)
        return -1;
    if (write_images(b, starts, err) != 0 || write_categories(b, err) != 0)
        return -1;
    return write_annotations(b, order, err);
}

/* Sorting comes before the sections, because sort_named fixes the numbers that they refer to. The
 * head is written last, with pwrite, as it needs all sizes and the checksum of the body. */
int coco_end_file(struct coco_builder *b, struct error *err) {
    if (coco_flush_segments(b, true, err) != 0)
        return -1;
    b->head.sections[COCO_SECTION_SEGMENTS].size = b->segments_flushed;
    b->head.repeated_images = sort_named(&b->images);
    b->head.repeated_categories = sort_named(&b->categories);
    if (write_sections(b, err) != 0)
        return -1;
    b->head.file_size = sizeof(b->head) + b->written;
    coco_head_seal(&b->head);
    if (pwrite(b->fd, &b->head, sizeof(b->head), 0) != (ssize_t)sizeof(b->head))
        return error_set_errno(err, file_write_code(errno), "writing an index of annotations");
    return 0;
}
