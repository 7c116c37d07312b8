#include "trainer/data/coco/coco_load.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_cache_is_used_until_the_json_changes(void) {
    struct error err = {0};
    char cache[PATH_MAX];
    struct stat first, second;
    snprintf(cache, sizeof(cache), "%s/set.index", unit_temp_dir());
    const char *json = write_text("set.json", ONE_SET);
    for (int i = 0; i < 2; i++) {
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, cache, &err), 0);
        CU_ASSERT_EQUAL(index.image_count, 2);
        CU_ASSERT_EQUAL(stat(cache, i == 0 ? &first : &second), 0);
    }
    CU_ASSERT_EQUAL(first.st_ino, second.st_ino);
    json = write_text("set.json", "{\"images\":[]}");
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, cache, &err), 0);
    CU_ASSERT_EQUAL(index.image_count, 0);
}

/* Another content of the same length and with the same times is another file. */
static void a_cache_is_of_a_content_not_of_a_date(void) {
    struct error err = {0};
    char cache[PATH_MAX];
    const struct timespec times[2] = {{1000, 5}, {1000, 5}};
    snprintf(cache, sizeof(cache), "%s/dated.index", unit_temp_dir());
    for (int id = 1; id <= 2; id++) {
        char text[64];
        snprintf(text, sizeof(text), "{\"images\":[{\"id\":%d}]}", id);
        const char *json = write_text(id == 1 ? "one.json" : "two.json", text);
        CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, json, times, 0), 0);
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, cache, &err), 0);
        CU_ASSERT_EQUAL(index.images[0].id, id);
        CU_ASSERT_STRING_EQUAL(index.path, json);
    }
}

static void somebody_elses_file_is_no_place_for_an_index(void) {
    struct error err = {0};
    cleanup_coco_index struct coco_index index = {0};
    const char *json = write_text("set.json", ONE_SET);
    CU_ASSERT_EQUAL(coco_load(&index, json, json, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, json);
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    CU_ASSERT_EQUAL(file_read(json, &bytes, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&bytes), ONE_SET);
}

static void make_cache(char cache[PATH_MAX], const char *name, struct buf *bytes) {
    struct error err = {0};
    cleanup_coco_index struct coco_index whole = {0};
    snprintf(cache, PATH_MAX, "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(coco_load(&whole, write_text("set.json", ONE_SET), cache, &err), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(cache, bytes, &err), 0);
}

static void put(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, out), size);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

static void every_changed_bit_is_found(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    size_t believed = 0;
    make_cache(cache, "bits.index", &bytes);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        struct error err = {0};
        cleanup_coco_index struct coco_index index = {0};
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        put(cache, bytes.data, bytes.size);
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        believed += coco_load_index(&index, cache, &err) == 0;
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        if (strstr(err.text, cache) == NULL)
            CU_FAIL_FATAL("an error without the file");
    }
    CU_ASSERT_EQUAL(believed, 0);
}

static void an_index_cut_short_is_found_at_every_length(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    size_t believed = 0;
    make_cache(cache, "short.index", &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        cleanup_coco_index struct coco_index index = {0};
        put(cache, bytes.data, size);
        believed += coco_load_index(&index, cache, NULL) == 0;
    }
    CU_ASSERT_EQUAL(believed, 0);
    CU_ASSERT_EQUAL(coco_load_index(&(struct coco_index){0}, "/nowhere/at/all", NULL), -1);
}

static void a_damaged_or_older_cache_is_made_anew(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    make_cache(cache, "anew.index", &bytes);
    /* The version, a byte of the body. */
    const size_t places[] = {8, bytes.size - 1};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        cleanup_coco_index struct coco_index index = {0}, again = {0};
        bytes.data[places[i]] ^= 1;
        put(cache, bytes.data, bytes.size);
        bytes.data[places[i]] ^= 1;
        CU_ASSERT_EQUAL(coco_load_index(&index, cache, &err), -1);
        ASSERT_CONTAINS(err.text, i == 0 ? "an index of version 3" : "a damaged index");
        CU_ASSERT_EQUAL(coco_load(&index, write_text("set.json", ONE_SET), cache, &err), 0);
        CU_ASSERT_EQUAL(coco_load_index(&again, cache, &err), 0);
    }
}

/* What was read stays when the file is cut under it: no SIGBUS. */
static void an_open_index_does_not_feel_its_file_shrink(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    char cache[PATH_MAX];
    make_cache(cache, "shrinks.index", &bytes);
    CU_ASSERT_EQUAL_FATAL(coco_load_index(&index, cache, &err), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(cache, 0), 0);
    CU_ASSERT_EQUAL(index.annotations[2].id, 8);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[0].name), "four.jpg");
}

/* What one process has read another one maps; memory that can still change is refused. */
static void sealed_memory_is_shared_and_no_other(void) {
    struct error err = {0};
    int fd = -1;
    cleanup_coco_index struct coco_index own = {0}, other = {0}, none = {0};
    const char *json = write_text("set.json", ONE_SET);
    CU_ASSERT_EQUAL_FATAL(coco_load_sealed(&own, json, &fd, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_load_shared(&other, fd, json, &err), 0);
    CU_ASSERT(other.map != own.map && other.map_size == own.map_size);
    CU_ASSERT_EQUAL(memcmp(other.map, own.map, own.map_size), 0);
    CU_ASSERT_EQUAL(pwrite(fd, "x", 1, 0), -1);
    CU_ASSERT_EQUAL(ftruncate(fd, 1), -1);
    int open = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_FATAL(open >= 0);
    CU_ASSERT_EQUAL_FATAL(write(open, own.map, own.map_size), (ssize_t)own.map_size);
    CU_ASSERT_EQUAL(coco_load_shared(&none, open, json, &err), -1);
    ASSERT_CONTAINS(err.text, "not sealed");
    (void)close(open);
    (void)close(fd);
    json = write_text("set.json", "{");
    CU_ASSERT_EQUAL(coco_load_sealed(&none, json, &fd, &err), -1);
    CU_ASSERT_EQUAL(fd, -1);
}

static void boxes_alone_ask_for_no_outline(void) {
    static const char *const outlines[] = {"[1,2,3,4,5,6]", "\"?\"", "{}",
                                           "[[\"x\"]]",     "7",     "[[1,1,5,1,5,5]]"};
    for (size_t i = 0; i < sizeof(outlines) / sizeof(outlines[0]); i++) {
        cleanup_coco_index struct coco_index index = {0}, whole = {0};
        struct error err = {0};
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"images\":[{\"id\":1,\"width\":10,\"height\":10}],\"categories\":[{\"id\":1}],"
                 "\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":1,\"bbox\":[1,2,3,4],"
                 "\"segmentation\":%s,\"area\":12}]}",
                 outlines[i]);
        const char *json = write_text("boxes.json", text);
        CU_ASSERT_EQUAL_FATAL(coco_load_boxes(&index, json, &err), 0);
        CU_ASSERT_EQUAL(index.annotations[0].kind, COCO_SEGMENT_NONE);
        CU_ASSERT_EQUAL(index.annotations[0].area, 12);
        CU_ASSERT_EQUAL(index.annotations[0].box[3], 4);
        CU_ASSERT_EQUAL(coco_load(&whole, json, NULL, &err), i == 5 ? 0 : -1);
    }
}

UNIT_SUITE("data.coco_load", UNIT(boxes_alone_ask_for_no_outline),
           UNIT(a_cache_is_used_until_the_json_changes),
           UNIT(a_cache_is_of_a_content_not_of_a_date),
           UNIT(somebody_elses_file_is_no_place_for_an_index), UNIT(every_changed_bit_is_found),
           UNIT(an_index_cut_short_is_found_at_every_length),
           UNIT(a_damaged_or_older_cache_is_made_anew),
           UNIT(an_open_index_does_not_feel_its_file_shrink),
           UNIT(sealed_memory_is_shared_and_no_other))
