#include "common/buf.h"
#include "entrypoint/job/cluster/host_list.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static int expand(const char *text, struct platform_description *ret, struct error *err) {
    for (const char *at = text;;) {
        size_t size = host_list_item(at);
        if (host_list_expand(at, size, 3, ret, err) != 0)
            return -1;
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

static void numbers_in_brackets_are_written_out(void) {
    static const char *const cases[][2] = {
        {"a", "a "},
        {"a,b.c", "a b.c "},
        {"n[1-3,07],m1", "n1 n2 n3 n07 m1 "},
        {"n[08-11]", "n08 n09 n10 n11 "},
        {"n[098-101]", "n098 n099 n100 n101 "},
        {"r[1-2]n[1,4]-x", "r1n1-x r1n4-x r2n1-x r2n4-x "},
        {"[1-2]a", "1a 2a "},
        {"ip-10-0-0-[9-10].ec2,b[5]", "ip-10-0-0-9.ec2 ip-10-0-0-10.ec2 b5 "},
        {"10.0.0.[1-2]", "10.0.0.1 10.0.0.2 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct platform_description d = {0};
        cleanup_buf struct buf text;
        buf_init(&text, 512);
        CU_ASSERT_EQUAL(expand(cases[i][0], &d, NULL), 0);
        for (size_t h = 0; h < d.count; h++) {
            CU_ASSERT_EQUAL(d.hosts[h].slots, 3);
            CU_ASSERT_EQUAL(buf_printf(&text, NULL, "%s ", d.hosts[h].name.text), 0);
        }
        CU_ASSERT_STRING_EQUAL(buf_text(&text), cases[i][1]);
        platform_description_done(&d);
    }
}

static void what_is_no_list_is_refused(void) {
    static const char *const bad[] = {
        "",       "a,",     ",a",     "a[1",      "a[",    "a[]",   "a[1-]",     "a[-1]",
        "a[3-1]", "a[1;2]", "a[1,]",  "a[1-2-3]", "a[x]",  "a[1]]", "a[0-1024]", "a[1-9999999999]",
        "a[1-2",  "a b",    "a[1][2", "-a[1]",    "a[1]/", "[[1]]", "a[1,2-]"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct platform_description d = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(expand(bad[i], &d, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_NOT_EQUAL(strlen(err.text), 0);
        platform_description_done(&d);
    }
}

static void ceilings_hold(void) {
    struct platform_description d = {0};
    struct platform_description more = {0};
    char name[400];
    CU_ASSERT_EQUAL(expand("a[1-32]b[1-32]", &d, NULL), 0);
    CU_ASSERT_EQUAL(d.count, CLUSTER_HOSTS_MAX);
    CU_ASSERT_EQUAL(expand("a", &d, NULL), -1);
    CU_ASSERT_EQUAL(expand("a[1-999]b[1-999]c[1-999]d[1-999]", &more, NULL), -1);
    CU_ASSERT_EQUAL(more.count, CLUSTER_HOSTS_MAX);
    memset(name, 'a', sizeof(name));
    snprintf(name + 300, 16, "[1-2]");
    CU_ASSERT_EQUAL(expand(name, &more, NULL), -1);
    platform_description_done(&d);
    platform_description_done(&more);
}

UNIT_SUITE("job.host_list", UNIT(numbers_in_brackets_are_written_out),
           UNIT(what_is_no_list_is_refused), UNIT(ceilings_hold))
