#include "common/file/file.h"
#include "entrypoint/job/cluster/platform_indexed.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct platform_indexed row = {
    .count = "COUNT", .index = "INDEX", .main = "MAIN", .master = "MASTER"};
static const struct local_names own = {.names = {{"job-1"}}, .count = 1, .has_kernel_name = true};

enum { VARIABLES_MAX = 4 };

static int read_counted(const char *const *variables, struct platform_description *ret,
                        struct error *err) {
    char *environment[VARIABLES_MAX + 1] = {0};
    for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    return platform_indexed_read(&row, environment, ret, err);
}

/* Whatever a host is, it has the same list and the same master. */
static void every_host_makes_the_same_list(void) {
    char index[] = "INDEX=0";
    for (char i = '0'; i < '3'; i++) {
        const char *variables[VARIABLES_MAX] = {"COUNT=3", index, "MAIN=2",
                                                "MASTER=10.0.0.7:29500"};
        struct platform_description d = {0};
        struct error err = {0};
        index[6] = i;
        CU_ASSERT_EQUAL(read_counted(variables, &d, &err), 0);
        CU_ASSERT_EQUAL_FATAL(d.count, 3);
        CU_ASSERT_TRUE(d.counted);
        CU_ASSERT_STRING_EQUAL(d.hosts[0].name.text, "node-0");
        CU_ASSERT_STRING_EQUAL(d.master.text, "node-2");
        CU_ASSERT_EQUAL(d.self.text[5], i);
        CU_ASSERT_STRING_EQUAL(d.master_at.text, "10.0.0.7");
        platform_description_done(&d);
    }
}

static void one_is_alone(void) {
    static const char *const indices[] = {NULL, "INDEX=", "INDEX=0"};
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
        const char *variables[VARIABLES_MAX] = {"COUNT=1", indices[i]};
        struct platform_description d = {0};
        CU_ASSERT_EQUAL(read_counted(variables, &d, NULL), 1);
        CU_ASSERT_EQUAL(d.count, 1);
        platform_description_done(&d);
    }
}

static void what_makes_no_sense_is_an_error_that_names_it(void) {
    static const struct {
        const char *variables[VARIABLES_MAX];
        const char *part;
    } cases[] = {
        {{"COUNT=0"}, "COUNT"},
        {{"COUNT=1025"}, "COUNT"},
        {{"COUNT=1:4"}, "COUNT"},
        {{"COUNT=1", "INDEX=1"}, "COUNT=1: INDEX"}, /* the others would be alone, too */
        {{"COUNT=3"}, "INDEX is not set"},
        {{"COUNT=3", "INDEX=3"}, "COUNT=3: INDEX"},
        {{"COUNT=3", "INDEX=-1"}, "INDEX"},
        {{"COUNT=3", "INDEX=1"}, "MAIN is not set"},
        {{"COUNT=3", "INDEX=1", "MAIN=0"}, "MASTER is not set"},
        {{"COUNT=3", "INDEX=1", "MAIN=0", "MASTER="}, "MASTER is not set"},
        {{"COUNT=3", "INDEX=1", "MAIN=0", "MASTER=a b"}, "MASTER"},
        {{"COUNT=3", "INDEX=1", "MAIN=0", "MASTER=fe80::1"}, "MASTER"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct platform_description d = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(read_counted(cases[i].variables, &d, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, cases[i].part);
        platform_description_done(&d);
    }
}

/* The hosts by OWN's pattern with LINE in the hosts file, or the error. */
static const char *pattern(const struct local_names *names, const char *index, const char *line) {
    static char text[ERROR_TEXT_MAX + 1024];
    static const struct platform_indexed pods = {.count = "COUNT", .index = "INDEX"};
    char count[] = "COUNT=2";
    char path[4200];
    char *environment[] = {count, (char *)(uintptr_t)index, NULL};
    struct platform_description d = {0};
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/hosts", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, line, strlen(line), 0600, &err), 0);
    int read = platform_indexed_pattern(&pods, environment, names, path, &d, &err);
    if (read == 0)
        (void)snprintf(text, sizeof(text), "%s %s, %s of %s", d.hosts[0].name.text,
                       d.hosts[1].name.text, d.self.text, d.master.text);
    else
        (void)snprintf(text, sizeof(text), "%s", err.text);
    platform_description_done(&d);
    return text;
}

static void names_follow_the_own_one(void) {
    static const struct local_names set = {
        .names = {{"js-workers-0-1"}}, .count = 1, .has_kernel_name = true};
    static const struct local_names full = {
        .names = {{"job-1.example"}}, .count = 1, .has_kernel_name = true};
    static const struct local_names none = {.count = 0};
    CU_ASSERT_STRING_EQUAL(
        pattern(&own, "INDEX=1", "127.0.0.1\tlocalhost\n10.0.0.9\tjob-1.svc.ns.local\tjob-1\n"),
        "job-0.svc.ns.local job-1.svc.ns.local, job-1.svc.ns.local of job-0.svc.ns.local");
    CU_ASSERT_STRING_EQUAL(pattern(&set, "INDEX=1", "::1 a\n10.0.0.9 js-workers-0-1.js # x\n"),
                           "js-workers-0-0.js js-workers-0-1.js, js-workers-0-1.js of "
                           "js-workers-0-0.js");
    CU_ASSERT_STRING_EQUAL(pattern(&own, "INDEX=1", "10.0.0.9 job-10.svc xjob-1.svc job-1\n"),
                           "job-0 job-1, job-1 of job-0");
    CU_ASSERT_STRING_EQUAL(pattern(&full, "INDEX=1", "10.0.0.9 job-1.other\n"),
                           "job-0.example job-1.example, job-1.example of job-0.example");
    ASSERT_CONTAINS(pattern(&own, "INDEX=0", ""), "INDEX=0, but this host's name, \"job-1\"");
    ASSERT_CONTAINS(pattern(&none, "INDEX=0", ""), "RINGMASTER_HOSTS");
    ASSERT_CONTAINS(pattern(&own, "OTHER=0", ""), "INDEX is not set");
}

UNIT_SUITE("job.platform_indexed", UNIT(every_host_makes_the_same_list), UNIT(one_is_alone),
           UNIT(what_makes_no_sense_is_an_error_that_names_it), UNIT(names_follow_the_own_one))
