#include "trainer/data/prepare/alike_names.h"

#include "tests/support/shards.h"

#include <stdlib.h>

static void put(const char *path) {
    char folder[1200];
    (void)snprintf(folder, sizeof(folder), "%s", shards_path(path));
    *strrchr(folder, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    shards_put(shards_path(path), "x", 1);
}

static void names_that_differ_in_more_are_no_pair(void) {
    cleanup_dataset struct dataset set = {0};
    struct alike_names alike;
    put("apart/cat/a.jpg");
    put("apart/cat/b.jpg");
    put("apart/cats/A.jpg"); /* of another class */
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("apart"), 0, NULL), 0);
    CU_ASSERT_EQUAL(alike_names_of_classes(&set, &alike, NULL), 0);
    CU_ASSERT_EQUAL(alike.count, 0);
    CU_ASSERT_EQUAL(alike_names_of_pictures(&set, &alike, NULL), 0);
    CU_ASSERT_EQUAL(alike.count, 0);
    CU_ASSERT_STRING_EQUAL(alike.first, "");
}

static void pairs_are_named_and_counted(void) {
    cleanup_dataset struct dataset set = {0};
    struct alike_names alike;
    put("pairs/Cat/a.jpg");
    put("pairs/cat/b.jpg");
    put("pairs/cat/B.JPG");
    put("pairs/cat/sub/c.jpg");
    put("pairs/cat/Sub/c.jpg");
    put("pairs/dog/b.jpg");
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("pairs"), 0, NULL), 0);
    CU_ASSERT_EQUAL(alike_names_of_classes(&set, &alike, NULL), 0);
    CU_ASSERT_EQUAL(alike.count, 1);
    CU_ASSERT_STRING_EQUAL(alike.first, "Cat");
    CU_ASSERT_STRING_EQUAL(alike.second, "cat");
    CU_ASSERT_EQUAL(alike_names_of_pictures(&set, &alike, NULL), 0);
    CU_ASSERT_EQUAL(alike.count, 2);
    CU_ASSERT_STRING_EQUAL(alike.first, "B.JPG");
    CU_ASSERT_STRING_EQUAL(alike.second, "b.jpg");
}

UNIT_SUITE("data.prepare.alike_names", UNIT(names_that_differ_in_more_are_no_pair),
           UNIT(pairs_are_named_and_counted))
