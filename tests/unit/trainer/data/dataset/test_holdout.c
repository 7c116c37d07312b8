#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/holdout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CATS = 20, DOGS = 11, BIRDS = 3, EELS = 1 };

static const char *folder(const char *name) {
    static char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void put(const char *set, const char *class_name, int number) {
    char path[700];
    (void)snprintf(path, sizeof(path), "%s/%s", folder(set), class_name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path + strlen(path), 32, "/%d.jpg", number);
    CU_ASSERT_EQUAL_FATAL(file_put(path, "x", 1, 0644, NULL), 0);
}

static void make(const char *set) {
    static const struct {
        const char *name;
        int count;
    } classes[] = {{"bird", BIRDS}, {"cat", CATS}, {"dog", DOGS}, {"eel", EELS}};
    for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++)
        for (int i = 0; i < classes[c].count; i++)
            put(set, classes[c].name, i);
}

static void split(const char *name, double share, uint64_t seed, struct dataset *ret_rest,
                  struct dataset *ret_held) {
    size_t unheld = 0;
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(ret_rest, folder(name), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(holdout_split(ret_rest, share, seed, ret_held, &unheld, NULL), 0);
    CU_ASSERT_EQUAL(unheld, 1); /* the class eel */
}

static size_t count_of(const struct dataset *set, int32_t label) {
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        count += set->labels[i] == label;
    return count;
}

static bool has(const struct dataset *set, const char *name) {
    char own[1024];
    for (size_t i = 0; i < set->count; i++) {
        dataset_sample_name(set, i, own, sizeof(own));
        if (strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static bool same(const struct dataset *a, const struct dataset *b) {
    char name[1024];
    for (size_t i = 0; i < a->count && a->count == b->count; i++) {
        dataset_sample_name(a, i, name, sizeof(name));
        if (!has(b, name))
            return false;
    }
    return a->count == b->count && a->hash == b->hash;
}

static void each_class_gives_its_share_and_keeps_the_rest(void) {
    cleanup_dataset struct dataset rest = {0};
    cleanup_dataset struct dataset held = {0};
    cleanup_dataset struct dataset whole = {0};
    char name[1024];
    make("shares");
    split("shares", 0.2, 0, &rest, &held);
    CU_ASSERT_EQUAL(count_of(&held, 0), 1); /* three birds: 0.6 is rounded to 1 */
    CU_ASSERT_EQUAL(count_of(&held, 1), 4);
    CU_ASSERT_EQUAL(count_of(&held, 2), 2); /* eleven dogs: 2.2 is rounded to 2 */
    CU_ASSERT_EQUAL(count_of(&held, 3), 0);
    CU_ASSERT_EQUAL(held.classes, 4);
    CU_ASSERT_STRING_EQUAL(held.class_names[3], "eel");
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&whole, folder("shares"), NULL), 0);
    CU_ASSERT_EQUAL(rest.count + held.count, whole.count);
    CU_ASSERT_EQUAL(rest.bytes + held.bytes, whole.bytes);
    for (size_t i = 0; i < whole.count; i++) {
        dataset_sample_name(&whole, i, name, sizeof(name));
        CU_ASSERT(has(&rest, name) != has(&held, name));
    }
    CU_ASSERT(rest.hash != whole.hash && held.hash != whole.hash && rest.hash != held.hash);
}

static void seed_and_names_decide(void) {
    struct dataset rest[3];
    cleanup_dataset struct dataset a = {0};
    cleanup_dataset struct dataset b = {0};
    cleanup_dataset struct dataset c = {0};
    make("seeds");
    split("seeds", 0.3, 7, &rest[0], &a);
    split("seeds", 0.3, 7, &rest[1], &b);
    split("seeds", 0.3, 8, &rest[2], &c);
    CU_ASSERT(same(&a, &b));
    CU_ASSERT(same(&rest[0], &rest[1]));
    CU_ASSERT_FALSE(same(&a, &c));
    for (size_t i = 0; i < 3; i++)
        dataset_done(&rest[i]);
}

/* If a class grows by one file, at most one other file leaves the held-out part. */
static void a_file_more_moves_one_other_at_most(void) {
    cleanup_dataset struct dataset rest = {0};
    cleanup_dataset struct dataset more = {0};
    cleanup_dataset struct dataset a = {0};
    cleanup_dataset struct dataset b = {0};
    char name[1024];
    size_t gone = 0;
    make("grown");
    split("grown", 0.3, 7, &rest, &a);
    put("grown", "cat", 1000);
    split("grown", 0.3, 7, &more, &b);
    for (size_t i = 0; i < a.count; i++) {
        dataset_sample_name(&a, i, name, sizeof(name));
        gone += !has(&b, name);
    }
    CU_ASSERT(gone <= 1);
}

static void extremes_leave_a_sample_on_either_side(void) {
    static const double shares[] = {1e-9, 0.999999};
    for (size_t i = 0; i < 2; i++) {
        cleanup_dataset struct dataset rest = {0};
        cleanup_dataset struct dataset held = {0};
        make("extremes");
        split("extremes", shares[i], 1, &rest, &held);
        CU_ASSERT_EQUAL(count_of(i == 0 ? &held : &rest, 0), 1);
        CU_ASSERT_EQUAL(count_of(i == 0 ? &held : &rest, 1), 1);
        CU_ASSERT_EQUAL(count_of(&rest, 3), 1);
    }
}

static void classes_of_one_are_no_set_to_split(void) {
    cleanup_dataset struct dataset set = {0};
    struct dataset held;
    struct error err = {0};
    put("ones", "cat", 1);
    put("ones", "dog", 1);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder("ones"), NULL), 0);
    CU_ASSERT_EQUAL(holdout_split(&set, 0.5, 0, &held, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no class has two pictures");
    CU_ASSERT_EQUAL(set.count, 2);
}

UNIT_SUITE("data.holdout", UNIT(each_class_gives_its_share_and_keeps_the_rest),
           UNIT(seed_and_names_decide), UNIT(a_file_more_moves_one_other_at_most),
           UNIT(extremes_leave_a_sample_on_either_side), UNIT(classes_of_one_are_no_set_to_split))
