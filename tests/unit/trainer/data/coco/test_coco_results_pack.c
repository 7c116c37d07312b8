#include "trainer/data/coco/coco_results_pack.h"

#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

/* COUNT results of images FIRST, FIRST + STEP..., with masks that all differ. */
static void find(struct coco_results *results, int64_t first, int64_t step, int count) {
    coco_results_begin(results, "found", true);
    for (int i = 0; i < count; i++) {
        uint32_t runs[] = {(uint32_t)(i + first) % 90, 10};
        const struct rle mask = {.height = 10, .width = 10, .runs = runs, .count = 2};
        const struct coco_result result = {
            .image_id = first + i / 2 * step, .category_id = i, .score = i, .box = {i, 1, 2, 3}};
        CU_ASSERT_EQUAL_FATAL(coco_results_add(results, &result, &mask, NULL), 0);
    }
}

static bool same_result(const struct coco_results *a, size_t i, const struct coco_results *b,
                        size_t k) {
    const struct coco_result *x = &a->list[i], *y = &b->list[k];
    const struct coco_segment s = coco_result_segment(a, i), t = coco_result_segment(b, k);
    return x->image_id == y->image_id && x->category_id == y->category_id && x->score == y->score &&
           memcmp(x->box, y->box, sizeof(x->box)) == 0 && x->has_box == y->has_box &&
           s.kind == t.kind && s.size == t.size && memcmp(s.bytes, t.bytes, s.size) == 0;
}

/* Three ranks' results, the second's empty, each of every third image. */
static void results_of_ranks_become_those_of_one(void) {
    cleanup_coco_results struct coco_results all = {0};
    struct coco_results parts[3] = {0};
    static const int counts[3] = {7, 0, 5};
    coco_results_begin(&all, "all", true);
    for (int i = 0; i < 3; i++) {
        cleanup_buf struct buf bytes = {.max = 1 << 20};
        find(&parts[i], 10 + i, 3, counts[i]);
        CU_ASSERT_EQUAL_FATAL(coco_results_pack(&parts[i], &bytes, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_unpack(&all, bytes.data, bytes.size, NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(all.count, 12);
    for (size_t i = 0; i < 12; i++)
        CU_ASSERT(i < 7 ? same_result(&all, i, &parts[0], i)
                        : same_result(&all, i, &parts[2], i - 7));
    CU_ASSERT_EQUAL_FATAL(coco_results_sort(&all, NULL), 0);
    static const int64_t images[12] = {10, 10, 12, 12, 13, 13, 15, 15, 16, 16, 18, 19};
    for (size_t i = 0; i < 12; i++) {
        CU_ASSERT_EQUAL(all.list[i].image_id, images[i]);
        if (i > 0 && images[i] == images[i - 1])
            CU_ASSERT(all.list[i].score > all.list[i - 1].score);
    }
    for (int i = 0; i < 3; i++)
        coco_results_done(&parts[i]);
}

static void damaged_bytes_are_refused(void) {
    struct coco_results found = {0};
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    find(&found, 1, 1, 3);
    CU_ASSERT_EQUAL_FATAL(coco_results_pack(&found, &bytes, NULL), 0);
    for (size_t size = 0; size <= bytes.size + 1; size++) {
        cleanup_coco_results struct coco_results all = {0};
        struct error err = {0};
        char *copy = malloc(size + 1);
        memset(copy, 0, size + 1);
        memcpy(copy, bytes.data, size < bytes.size ? size : bytes.size);
        coco_results_begin(&all, "all", true);
        int failed = coco_results_unpack(&all, copy, size, &err);
        CU_ASSERT_EQUAL(failed, size == bytes.size ? 0 : -1);
        CU_ASSERT(failed == 0 || strstr(err.text, "damaged") != NULL);
        free(copy);
    }
    struct coco_result wrong;
    memcpy(&wrong, bytes.data + 16, sizeof(wrong));
    wrong.segment = bytes.size;
    memcpy(bytes.data + 16, &wrong, sizeof(wrong));
    cleanup_coco_results struct coco_results all = {0};
    coco_results_begin(&all, "all", true);
    CU_ASSERT_EQUAL(coco_results_unpack(&all, bytes.data, bytes.size, NULL), -1);
    coco_results_done(&found);
}

UNIT_SUITE("coco.coco_results_pack", UNIT(results_of_ranks_become_those_of_one),
           UNIT(damaged_bytes_are_refused))
