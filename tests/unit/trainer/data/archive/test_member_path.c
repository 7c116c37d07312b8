#include "tests/support/unit.h"
#include "trainer/data/archive/member_path.h"

#include <limits.h>
#include <string.h>

static void paths_stay_below_their_folder(void) {
    static const char *const good[] = {"a", "a/b.jpg", "..a/b", "a/...", ".a", "a b/\xff"};
    static const char *const bad[] = {"",     "/a",  "a/",     "a//b", "..",
                                      "../a", "a/.", "a/../b", ".",    "a/.."};
    char path[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_TRUE(member_path_is_safe(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_FALSE(member_path_is_safe(bad[i]));
    memset(path, 'a', sizeof(path));
    path[NAME_MAX] = '\0';
    CU_ASSERT_TRUE(member_path_is_safe(path));
    path[NAME_MAX] = 'a';
    path[NAME_MAX + 1] = '\0';
    CU_ASSERT_FALSE(member_path_is_safe(path));
}

static void a_name_is_one_part(void) {
    CU_ASSERT_TRUE(member_path_is_name("daisy"));
    CU_ASSERT_FALSE(member_path_is_name("a/b"));
    CU_ASSERT_FALSE(member_path_is_name(".."));
}

UNIT_SUITE("data.archive.member_path", UNIT(paths_stay_below_their_folder),
           UNIT(a_name_is_one_part))
