#include "common/file.h"
#include "job/platform.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static char base[4096];

static struct settings settings_with(const char *hosts) {
    snprintf(base, sizeof(base), "%s/ml", unit_temp_dir());
    return (struct settings){.base_dir = base, .hosts = hosts};
}

static void write_config(const char *text) {
    char path[4200];
    snprintf(path, sizeof(path), "%s/input/config", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/input/config/resourceconfig.json", base);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static void no_description_is_one_host(void) {
    struct settings s = settings_with(NULL);
    struct cluster c;
    CU_ASSERT_EQUAL(platform_read(&s, NULL, &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ALONE);
    CU_ASSERT_EQUAL(c.count, 1);
    CU_ASSERT(cluster_is_master(&c));
    CU_ASSERT_STRING_EQUAL(c.job, "ringmaster");
    cluster_fill_slots(&c, 4);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
    cluster_done(&c);
}

static void variables_win_over_the_file_and_the_file_over_nothing(void) {
    struct settings s = settings_with(NULL);
    write_config("{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"],"
                 "\"network_interface_name\":\"eth7\"}");
    struct cluster c;
    CU_ASSERT_EQUAL(platform_read(&s, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_SAGEMAKER);
    CU_ASSERT_EQUAL(c.self, 1);
    CU_ASSERT_STRING_EQUAL(c.job, "job-7");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth7");
    cluster_done(&c);

    s.hosts = "n1:2,n2";
    s.host = "n2";
    s.job = "other";
    s.interface = "eth1";
    CU_ASSERT_EQUAL(platform_read(&s, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ENVIRONMENT);
    CU_ASSERT_STRING_EQUAL(c.job, "other");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth1");
    CU_ASSERT_PTR_NULL(c.resource_config);
    cluster_fill_slots(&c, 3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 5);
    CU_ASSERT_EQUAL(cluster_most_slots(&c), 3);
    cluster_done(&c);
}

static void wrong_descriptions_are_errors(void) {
    struct cluster c;
    struct error err = {0};
    struct settings s = settings_with(NULL);
    s.host = "n1";
    CU_ASSERT_EQUAL(platform_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_HOST ");

    s = settings_with("n1,n2");
    s.host = "n3";
    CU_ASSERT_EQUAL(platform_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"n3\"");
    CU_ASSERT_PTR_NULL(c.hosts);

    s.host = "n1";
    s.interface = "eth0;x";
    CU_ASSERT_EQUAL(platform_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_INTERFACE");
    s.interface = NULL;
    CU_ASSERT_EQUAL(platform_read(&s, "a b", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"a b\"");
    CU_ASSERT_EQUAL(platform_read(&s, "", &c, &err), -1);
}

UNIT_MAIN("job.platform", UNIT(no_description_is_one_host),
          UNIT(variables_win_over_the_file_and_the_file_over_nothing),
          UNIT(wrong_descriptions_are_errors))
