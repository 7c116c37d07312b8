#include "data/coco_file.h"

#include "common/cleanup.h"
#include "common/crc32c.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[8] = "ringcoco";
enum { MARK = 0x01020301 /* the last byte counts layouts */ };

static uint32_t head_checksum(const struct coco_head *head) {
    struct coco_head copy = *head;
    copy.checksum = 0;
    return crc32c(0, &copy, sizeof(copy));
}

void coco_head_seal(struct coco_head *head) {
    memcpy(head->magic, MAGIC, sizeof(MAGIC));
    head->mark = MARK;
    head->checksum = head_checksum(head);
}

static bool head_is_ours(const struct coco_head *head) {
    return memcmp(head->magic, MAGIC, sizeof(MAGIC)) == 0 && head->mark == MARK &&
           head->checksum == head_checksum(head);
}

/* Sections lie within the file, aligned, and hold whole items. */
static bool sections_fit(const struct coco_head *head, uint64_t file_size) {
    static const size_t ITEM[COCO_SECTIONS] = {1, 1, sizeof(struct coco_image),
                                               sizeof(struct coco_category),
                                               sizeof(struct coco_annotation)};
    for (int i = 0; i < COCO_SECTIONS; i++) {
        uint64_t offset = head->sections[i].offset, size = head->sections[i].size;
        if (offset % 8 != 0 || offset > file_size || size > file_size - offset ||
            size % ITEM[i] != 0)
            return false;
    }
    return head->file_size == file_size &&
           head->placed_count <=
               head->sections[COCO_SECTION_ANNOTATIONS].size / sizeof(struct coco_annotation);
}

/* What readers index by without looking: each image's share of the annotations. */
static bool images_fit(const struct coco_index *index) {
    uint64_t first = 0;
    for (size_t i = 0; i < index->image_count; i++) {
        if (index->images[i].first != first || index->images[i].count > index->placed_count - first)
            return false;
        first += index->images[i].count;
    }
    return first == index->placed_count &&
           (index->names_size == 0 || index->names[index->names_size - 1] == '\0');
}

static void take_sections(struct coco_index *ret, const struct coco_head *head) {
    const char *base = ret->map;
    const void *at[COCO_SECTIONS];
    size_t size[COCO_SECTIONS];
    for (int i = 0; i < COCO_SECTIONS; i++) {
        at[i] = base + head->sections[i].offset;
        size[i] = head->sections[i].size;
    }
    ret->segments = at[COCO_SECTION_SEGMENTS];
    ret->segments_size = size[COCO_SECTION_SEGMENTS];
    ret->names = at[COCO_SECTION_NAMES];
    ret->names_size = size[COCO_SECTION_NAMES];
    ret->images = at[COCO_SECTION_IMAGES];
    ret->image_count = size[COCO_SECTION_IMAGES] / sizeof(struct coco_image);
    ret->categories = at[COCO_SECTION_CATEGORIES];
    ret->category_count = size[COCO_SECTION_CATEGORIES] / sizeof(struct coco_category);
    ret->annotations = at[COCO_SECTION_ANNOTATIONS];
    ret->annotation_count = size[COCO_SECTION_ANNOTATIONS] / sizeof(struct coco_annotation);
    ret->placed_count = head->placed_count;
    ret->repeated_images = head->repeated_images;
    ret->repeated_categories = head->repeated_categories;
}

int coco_file_map(struct coco_index *ret, int fd, const char *name, struct error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", name);
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct coco_head))
        return error_set(err, EXIT_CODE_DATA, "%s: not an index of annotations", name);
    cleanup_coco_index struct coco_index index = {.map_size = (size_t)st.st_size};
    void *map = mmap(NULL, index.map_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", name);
    index.map = map;
    const struct coco_head *head = map;
    if (!head_is_ours(head) || !sections_fit(head, index.map_size))
        return error_set(err, EXIT_CODE_DATA, "%s: damaged, or not an index of annotations", name);
    take_sections(&index, head);
    if (!images_fit(&index))
        return error_set(err, EXIT_CODE_DATA, "%s: a damaged index of annotations", name);
    *ret = index;
    index = (struct coco_index){0};
    return 0;
}

bool coco_file_is_made_from(const char *path, uint64_t source_size, int64_t source_time) {
    struct coco_head head;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           head_is_ours(&head) && head.source_size == source_size &&
           head.source_time == source_time;
}
