/* Format of the index file: a head, then the sections that it lists, each at a multiple of eight
 * bytes. Written and read by the same kind of machine; the mark detects another byte order. Each
 * byte is covered by one of two checksums, the head's or the body's, so a changed bit is found
 * before anything is used. */
#ifndef TRAINER_DATA_COCO_COCO_FILE_H
#define TRAINER_DATA_COCO_COCO_FILE_H

#include "common/error.h"
#include "common/file/output_path.h"
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
    struct coco_key source; /* key of the JSON it was made from; zeros in memory */
    uint32_t body;          /* CRC32C of all after the head */
    uint32_t lists;         /* lists in the JSON: bits of enum coco_list */
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

/* Files that an index may overwrite (common/file/output_path.h). */
extern const struct output_path_kind COCO_FILE_KIND;

/* Maps the contents of FD, memory that no other process can shorten. NAME is for errors, and kept
 * in the index. FD may be closed afterwards. */
int coco_file_map(struct coco_index *ret, int fd, const char *name, struct error *err);

/* The same for a file, but copies its bytes: a mapped file that another process shortens would end
 * the program with SIGBUS. */
int coco_file_read(struct coco_index *ret, int fd, const char *name, struct error *err);

#endif
