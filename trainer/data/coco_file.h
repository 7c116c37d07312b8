/* The index file: a head, then the sections it names, each at a multiple of eight bytes. Written
 * and read by the same machine type; the mark tells another byte order. */
#ifndef DATA_COCO_FILE_H
#define DATA_COCO_FILE_H

#include "common/error.h"
#include "data/coco_index.h"

#include <stddef.h>
#include <stdint.h>

enum coco_section {
    COCO_SECTION_SEGMENTS,
    COCO_SECTION_NAMES,
    COCO_SECTION_IMAGES,
    COCO_SECTION_CATEGORIES,
    COCO_SECTION_ANNOTATIONS,
    COCO_SECTIONS
};

struct coco_head {
    char magic[8];
    uint32_t mark;     /* byte order and layout */
    uint32_t checksum; /* CRC32C of the head with this field 0 */
    uint64_t file_size;
    uint64_t source_size; /* of the JSON it was made from */
    int64_t source_time;  /* its last change, nanoseconds since 1970 */
    uint64_t placed_count;
    uint64_t repeated_images;
    uint64_t repeated_categories;
    struct {
        uint64_t offset;
        uint64_t size; /* bytes */
    } sections[COCO_SECTIONS];
};

/* Fills in magic, mark and checksum. */
void coco_head_seal(struct coco_head *head);

/* Maps what FD holds; NAME is for errors. The descriptor may be closed afterwards. */
int coco_file_map(struct coco_index *ret, int fd, const char *name, struct error *err);

/* True when the index file PATH was made from a JSON of that size and time. */
bool coco_file_is_made_from(const char *path, uint64_t source_size, int64_t source_time);

#endif
