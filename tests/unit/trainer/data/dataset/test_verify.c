#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/verify.h"

#include <string.h>

static struct error err;
static char folder[600];

static void put(const char *name, const void *bytes, size_t size) {
    char path[1000];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    path[strlen(path)] = '/';
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes, size, 0644, NULL), 0);
}

/* a: 0 good, 1 cut, 2 damaged, 3 as 0; b: 4 as 0, 5 with half of its data zeroed, 6 a claim. */
static void make_folder(void) {
    cleanup_buf struct buf good = {0};
    cleanup_buf struct buf other = {0};
    snprintf(folder, sizeof(folder), "%s/set", unit_temp_dir());
    picture_encode(&good, 60, 40, 1);
    put("a/0.jpg", good.data, good.size);
    put("a/3.jpg", good.data, good.size);
    put("b/4.jpg", good.data, good.size);
    picture_encode(&other, 64, 48, 2);
    put("a/1.jpg", other.data, other.size - 2);
    memcpy(other.data + other.size * 3 / 4, "\xff\xd9", 2);
    put("a/2.jpg", other.data, other.size);
    picture_encode(&other, 64, 48, 3);
    memset(other.data + other.size / 2, 0, other.size / 2 - 2);
    put("b/5.jpg", other.data, other.size);
    picture_encode(&other, 64, 48, 4);
    for (size_t i = 0; i + 9 < other.size; i++) /* the frame header: FF C0, length, precision */
        if ((uint8_t)other.data[i] == 0xff && (uint8_t)other.data[i + 1] == 0xc0) {
            memcpy(other.data + i + 5, "\x03\xe8\x03\xe8", 4);
            break;
        }
    put("b/6.jpg", other.data, other.size);
}

static void every_picture_is_looked_at_with_any_number_of_threads(void) {
    static const enum verified_state states[] = {VERIFIED_GOOD,   VERIFIED_BAD,  VERIFIED_DAMAGED,
                                                 VERIFIED_GOOD,   VERIFIED_GOOD, VERIFIED_DAMAGED,
                                                 VERIFIED_DAMAGED};
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(set.count, 7);
    for (int threads = 1; threads <= 16; threads += 5) {
        cleanup_verification struct verification v = {0};
        CU_ASSERT_EQUAL_FATAL(verify_set(&v, &set, threads, &err), 0);
        for (size_t i = 0; i < set.count; i++) {
            CU_ASSERT_EQUAL(v.items[i].state, states[i]);
            CU_ASSERT_EQUAL(v.items[i].why == NULL, states[i] == VERIFIED_GOOD);
        }
        CU_ASSERT(v.items[0].width == 60 && v.items[0].height == 40);
        CU_ASSERT(v.items[6].width == 1000 && v.items[6].height == 1000);
        CU_ASSERT_EQUAL(strncmp(v.items[1].why, "JPEG: truncated", 15), 0);
        ASSERT_CONTAINS(v.items[2].why, "Corrupt JPEG data");
        CU_ASSERT(v.bad == 1 && v.damaged == 3);
    }
}

static void the_same_bytes_are_found_over_all_sets(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_verification struct verification v = {0};
    cleanup_duplicates struct duplicates d = {0};
    size_t first = 0;
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(verify_set(&v, &set, 2, &err), 0);
    CU_ASSERT_EQUAL_FATAL(duplicates_find(&d, &v, 1, &err), 0);
    CU_ASSERT_EQUAL_FATAL(duplicates_next(&d, 0, &first), 3);
    CU_ASSERT(d.items[first].sample == 0 && d.items[first + 1].sample == 3);
    CU_ASSERT_EQUAL(d.items[first + 2].sample, 4);
    CU_ASSERT_EQUAL(duplicates_next(&d, first + 3, &first), 0);
    duplicates_done(&d);
    struct verification both[2] = {v, v};
    CU_ASSERT_EQUAL_FATAL(duplicates_find(&d, both, 2, &err), 0);
    size_t groups = 0;
    first = 0;
    for (size_t size; (size = duplicates_next(&d, first, &first)) > 0; first += size, groups++)
        CU_ASSERT_EQUAL(size, d.items[first].sample == 0 ? 6 : 2);
    CU_ASSERT_EQUAL(groups, 5);
}

static void impossible_threads_are_refused(void) {
    cleanup_dataset struct dataset set = {0};
    struct verification v;
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(verify_set(&v, &set, 0, &err), -1);
    CU_ASSERT_EQUAL(verify_set(&v, &set, VERIFY_THREADS_MAX + 1, &err), -1);
}

UNIT_SUITE("data.verify", UNIT(make_folder),
           UNIT(every_picture_is_looked_at_with_any_number_of_threads),
           UNIT(the_same_bytes_are_found_over_all_sets), UNIT(impossible_threads_are_refused))
