/* The index file: a head, then the sections it names, each at a multiple of eight bytes. Written
 * and read by the same machine type; the mark tells another byte order. Every byte is under one of
 * two checksums, the head's and the body's: a changed bit is found before anything is believed. */
#ifndef TRAINER_DATA_COCO_COCO_FILE_H
#define TRAINER_DATA_COCO_COCO_FILE_H

#include "common/error.h"
#include "common/output_path.h"
#include "trainer/data/coco/coco_index.h"

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
    uint32_t mark;     /* byte order and version of the format */
    uint32_t checksum; /* CRC32C of the head with this field 0 */
    uint64_t file_size;
    struct coco_key source; /* of the JSON it was made from; zeros in memory */
    uint32_t body;          /* CRC32C of all behind the head */
    uint32_t lists;         /* that the JSON has: bits of enum coco_list */
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

/* Files that an index may replace (common/output_path.h). */
extern const struct output_path_kind COCO_FILE_KIND;

/* Maps what FD, memory that nobody else can shorten, holds; NAME is for errors, and kept in the
 * index. The descriptor may be closed afterwards. */
int coco_file_map(struct coco_index *ret, int fd, const char *name, struct error *err);

/* The same for a file, whose bytes are copied: one that becomes shorter under a map would end the
 * program with SIGBUS. */
int coco_file_read(struct coco_index *ret, int fd, const char *name, struct error *err);

#endif
