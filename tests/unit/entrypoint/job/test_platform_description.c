#include "job/platform_description.h"
#include "support/unit.h"

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

UNIT_MAIN("job.platform_description", UNIT(hosts_are_kept_as_listed_up_to_a_ceiling))
