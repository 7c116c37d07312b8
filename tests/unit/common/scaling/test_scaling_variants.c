#include "common/scaling/scaling_variants.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

static struct error err;

static int add(struct scaling_names *names, const char *name) {
    err = (struct error){0};
    return scaling_names_add(names, name, strlen(name), "--x", &err);
}

/* They become folders, and are printed into a page as they are. */
static void names_are_plain_and_few(void) {
    struct scaling_names names = {0};
    static const char *const bad[] = {
        "",    ".",   "..",   "-a",       "a/b",
        "<a>", "a b", "a\"b", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz012345"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(add(&names, bad[i]), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    }
    CU_ASSERT_EQUAL(names.count, 0);
    CU_ASSERT_EQUAL(add(&names, "a.b_c-1"), 0);
    CU_ASSERT_EQUAL(add(&names, "a.b_c-1"), -1);
    ASSERT_CONTAINS(err.text, "--x: a.b_c-1 comes twice");
    CU_ASSERT_EQUAL(add(&names, "abcdefghijklmnopqrstuvwxyz01234"), 0);
    CU_ASSERT_EQUAL(add(&names, "3"), 0);
    CU_ASSERT_EQUAL(add(&names, "4"), 0);
    CU_ASSERT_EQUAL(add(&names, "5"), -1);
    ASSERT_CONTAINS(err.text, "at most 4");
}

static void a_chain_has_a_study_a_name(void) {
    static struct scaling_study studies[SCALING_STUDIES_MAX];
    struct scaling_names names = {0};
    CU_ASSERT_EQUAL(scaling_names_chain(&names, studies), 1);
    CU_ASSERT(studies[0].next == NULL && studies[0].variant[0] == '\0');
    CU_ASSERT(add(&names, "a") == 0 && add(&names, "b") == 0);
    CU_ASSERT_EQUAL(scaling_names_chain(&names, studies), 2);
    CU_ASSERT_PTR_EQUAL(studies[0].next, &studies[1]);
    CU_ASSERT_PTR_NULL(studies[1].next);
    CU_ASSERT_STRING_EQUAL(studies[1].variant, "b");
}

static char seen[256];

/* The second one fails, or with three ranks measures no further. */
static int measure(void *context, struct scaling_study *study, struct scaling_point *p,
                   const char *folder, struct error *error) {
    CU_ASSERT_PTR_EQUAL(context, seen);
    (void)snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s;", folder);
    if (p->ranks == 3)
        return error_set(error, EXIT_CODE_STOPPED, "stopped");
    p->rate = 5;
    if (strcmp(study->variant, "b") == 0)
        (void)snprintf(p->failure, sizeof(p->failure), "no luck");
    return 0;
}

static void all_variants_of_a_size_follow_each_other(void) {
    static struct scaling_study studies[SCALING_STUDIES_MAX];
    struct scaling_names names = {0};
    struct scaling_size z = {
        .ranks = 2, .hosts = 1, .on_one = 2, .folder = "out", .measure = measure, .context = seen};
    memset(studies, 0, sizeof(studies));
    CU_ASSERT(add(&names, "a") == 0 && add(&names, "b") == 0);
    (void)scaling_names_chain(&names, studies);
    CU_ASSERT_EQUAL(scaling_size_measure(&z, studies, &err), 0);
    CU_ASSERT_STRING_EQUAL(seen, "out/a/ranks-2;out/b/ranks-2;");
    CU_ASSERT_STRING_EQUAL(z.last, "out/b/ranks-2");
    CU_ASSERT(z.any && scaling_is_measured(&studies[0].points[0]));
    CU_ASSERT_FALSE(scaling_is_measured(&studies[1].points[0]));
    CU_ASSERT_EQUAL(studies[1].points[0].on_one, 2);
    CU_ASSERT(isnan(studies[0].points[0].exposed));
    z.ranks = 3;
    CU_ASSERT_EQUAL(scaling_size_measure(&z, studies, &err), -1);
    CU_ASSERT_EQUAL(studies[0].count, 1); /* what was not measured is no size */
    studies[0].variant[0] = '\0';
    studies[0].next = NULL;
    z.ranks = 4;
    CU_ASSERT_EQUAL(scaling_size_measure(&z, studies, &err), 0);
    CU_ASSERT_STRING_EQUAL(z.last, "out/ranks-4");
}

UNIT_SUITE("common.scaling.scaling_variants", UNIT(names_are_plain_and_few),
           UNIT(a_chain_has_a_study_a_name), UNIT(all_variants_of_a_size_follow_each_other))
