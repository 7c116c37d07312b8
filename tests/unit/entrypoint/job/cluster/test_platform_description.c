#include "entrypoint/job/cluster/platform_description.h"
#include "tests/support/unit.h"

#include <stdio.h>

static void hosts_are_kept_as_listed_up_to_a_ceiling(void) {
    struct platform_description d = {0};
    struct host_name name;
    struct error err = {0};
    for (int i = CLUSTER_HOSTS_MAX; i > 0; i--) {
        (void)snprintf(name.text, sizeof(name.text), "algo-%d", i);
        CU_ASSERT_EQUAL(platform_description_add(&d, &name, (unsigned)i, NULL), 0);
    }
    CU_ASSERT_EQUAL(d.count, CLUSTER_HOSTS_MAX);
    CU_ASSERT_STRING_EQUAL(d.hosts[0].name.text, "algo-1024");
    CU_ASSERT_EQUAL(d.hosts[0].slots, 1024);
    CU_ASSERT_EQUAL(platform_description_add(&d, &name, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 1024 hosts");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(d.count, CLUSTER_HOSTS_MAX);
    d.resource_config = json_object();
    platform_description_done(&d);
    CU_ASSERT_PTR_NULL(d.hosts);
    platform_description_done(&d);
}

static void variables_fit_patterns(void) {
    static const struct {
        const char *variable, *pattern;
        bool fits;
    } cases[] = {{"A=1", "A", true},
                 {"A=", "A", false},
                 {"A", "A", false},
                 {"AB=1", "A", false},
                 {"VC_X_NUM=1", "VC_*_NUM", true},
                 {"VC__NUM=1", "VC_*_NUM", false},
                 {"VC_NUM=1", "VC_*_NUM", false},
                 {"VC_X_NUM2=1", "VC_*_NUM", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_EQUAL(platform_variable_fits(cases[i].variable, cases[i].pattern), cases[i].fits);
}

UNIT_SUITE("job.platform_description", UNIT(variables_fit_patterns),
           UNIT(hosts_are_kept_as_listed_up_to_a_ceiling))
