#include "trainer/data/coco/coco_file.h"

#include "common/crc32c.h"
#include "common/file/file.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char MAGIC[8] = "ringcoco";
enum { MARK = 0x01020302, VERSION_BITS = 0xff /* the last byte is the format's version */ };

static const char *const STARTS[] = {"ringcoco", NULL};
const struct output_path_kind COCO_FILE_KIND = {"an index of annotations", STARTS};

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

/* Sections must lie within the file, aligned, and hold whole items. */
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

/* Readers use these as indices without further checks: each image's range of annotations. */
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
    ret->source = head->source;
    ret->lists = head->lists;
}

/* Checks the mapped INDEX and makes it ready. */
static int take(struct coco_index *index, const char *name, struct error *err) {
    const struct coco_head *head = index->map;
    if (index->map_size < sizeof(*head) || memcmp(head->magic, MAGIC, sizeof(MAGIC)) != 0)
        return error_set(err, EXIT_CODE_DATA, "%s: not an index of annotations", name);
    if (head->mark != MARK && (head->mark | VERSION_BITS) == (MARK | VERSION_BITS))
        return error_set(err, EXIT_CODE_DATA, "%s: an index of version %u; expected %u", name,
                         head->mark & VERSION_BITS, MARK & VERSION_BITS);
    if (!head_is_ours(head) || !sections_fit(head, index->map_size) ||
        crc32c(0, head + 1, index->map_size - sizeof(*head)) != head->body)
        return error_set(err, EXIT_CODE_DATA, "%s: a damaged index of annotations", name);
    take_sections(index, head);
    if (!images_fit(index))
        return error_set(err, EXIT_CODE_DATA, "%s: a damaged index of annotations", name);
    index->path = name;
    return 0;
}

static int size_of(int fd, const char *name, size_t *ret, struct error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", name);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: not an index of annotations", name);
    *ret = (size_t)st.st_size;
    return 0;
}

static int finish(struct coco_index *ret, struct coco_index *index, const char *name,
                  struct error *err) {
    if (take(index, name, err) != 0)
        return -1;
    *ret = *index;
    *index = (struct coco_index){0};
    return 0;
}

int coco_file_map(struct coco_index *ret, int fd, const char *name, struct error *err) {
    cleanup_coco_index struct coco_index index = {0};
    size_t size = 0;
    if (size_of(fd, name, &size, err) != 0)
        return -1;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", name);
    index.map = map;
    index.map_size = size;
    return finish(ret, &index, name, err);
}

int coco_file_read(struct coco_index *ret, int fd, const char *name, struct error *err) {
    cleanup_coco_index struct coco_index index = {0};
    size_t size = 0;
    if (size_of(fd, name, &size, err) != 0)
        return -1;
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return error_no_memory(err, name);
    index.map = map;
    index.map_size = size;
    if (file_read_exact(fd, map, size, err) != 0)
        return error_wrap(err, "%s", name);
    return finish(ret, &index, name, err);
}
