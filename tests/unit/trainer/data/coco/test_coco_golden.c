#include "tests/unit/trainer/data/coco/coco_golden.h"

#include <dirent.h>
#include <limits.h>

static void stored_sets_give_the_reference_numbers_to_the_last_bit(void) {
    DIR *dir = opendir(GOLDEN);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    int cases = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char truth[PATH_MAX], found[PATH_MAX], expect[PATH_MAX];
        if (!str_starts_with(entry->d_name, "random-"))
            continue;
        snprintf(truth, sizeof(truth), "%s/%s/truth.json", GOLDEN, entry->d_name);
        snprintf(found, sizeof(found), "%s/%s/results.json", GOLDEN, entry->d_name);
        snprintf(expect, sizeof(expect), "%s/%s/expect", GOLDEN, entry->d_name);
        check_case(truth, found, expect);
        cases++;
    }
    closedir(dir);
    CU_ASSERT(cases >= 8);
}

UNIT_SUITE("data.coco_golden", UNIT(stored_sets_give_the_reference_numbers_to_the_last_bit))
