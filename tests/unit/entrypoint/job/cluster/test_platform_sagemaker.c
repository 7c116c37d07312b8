#include "common/buf.h"
#include "common/file/file.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "tests/support/unit.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#define FOLDER RINGMASTER_TEST_DATA "/resourceconfig/"

static int made(int read, struct platform_description *d, struct cluster *ret, struct error *err) {
    *ret = (struct cluster){0};
    int result = read == 0 ? cluster_make(d, "job", ret, err) : read;
    platform_description_done(d);
    return result;
}

static int read_one(const char *path, struct cluster *ret, struct error *err) {
    struct platform_description d = {0};
    return made(platform_sagemaker_read(path, &d, err), &d, ret, err);
}

static int parse(const char *bytes, size_t size, struct cluster *ret, struct error *err) {
    struct platform_description d = {0};
    return made(platform_sagemaker_parse(bytes, size, "r.json", &d, err), &d, ret, err);
}

static void every_valid_file_is_read(void) {
    glob_t found;
    CU_ASSERT_EQUAL_FATAL(glob(FOLDER "valid/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct cluster c;
        struct error err = {0};
        CU_ASSERT_EQUAL(read_one(found.gl_pathv[i], &c, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT(c.count >= 1 && c.self < c.count);
        cluster_done(&c);
    }
    globfree(&found);
}

/* NAME.json beside NAME.txt, which holds what the error must say. */
static void every_invalid_file_has_its_error(void) {
    glob_t found;
    CU_ASSERT_EQUAL_FATAL(glob(FOLDER "invalid/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct cluster c;
        struct error err = {0};
        CU_ASSERT_EQUAL(read_one(path, &c, &err), -1);
        cluster_done(&c);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        char expected[4096];
        snprintf(expected, sizeof(expected), "%.*s.txt", (int)(strlen(path) - 5), path);
        cleanup_buf struct buf words;
        buf_init(&words, 4096);
        CU_ASSERT_EQUAL_FATAL(file_read(expected, &words, NULL), 0);
        words.data[strcspn(words.data, "\n")] = '\0';
        ASSERT_CONTAINS(err.text, words.data);
        ASSERT_CONTAINS(err.text, strrchr(path, '/') + 1);
    }
    globfree(&found);
}

static void what_the_sdk_writes_is_understood(void) {
    struct cluster c;
    CU_ASSERT_EQUAL_FATAL(read_one(FOLDER "valid/sdk2_local.json", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.count, 2);
    CU_ASSERT_EQUAL(c.self, 1);
    CU_ASSERT_EQUAL(c.grace, 10);
    CU_ASSERT_STRING_EQUAL(c.interface, "eth0");
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "algo-1-plf6b");
    cluster_done(&c);

    CU_ASSERT_EQUAL_FATAL(read_one(FOLDER "valid/service_groups.json", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.grace, 120);
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "algo-1");
    CU_ASSERT_STRING_EQUAL(c.instance_type, "ml.p4d.24xlarge");
    CU_ASSERT_STRING_EQUAL(c.group, "homogeneousCluster");
    CU_ASSERT_PTR_NOT_NULL(json_object_get(c.resource_config, "instance_groups"));
    cluster_done(&c);

    CU_ASSERT_EQUAL_FATAL(read_one(FOLDER "valid/type_long.json", &c, NULL), 0);
    CU_ASSERT(strlen(c.instance_type) > 63);
    cluster_done(&c);

    CU_ASSERT_EQUAL_FATAL(read_one(FOLDER "valid/twelve_hosts_byte_order.json", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.count, 12);
    CU_ASSERT_STRING_EQUAL(c.hosts[1].name.text, "algo-2");
    CU_ASSERT_EQUAL(c.self, 9);
    cluster_done(&c);
}

static void a_byte_order_mark_is_called_that(void) {
    static const char text[] = "\xef\xbb\xbf{\"current_host\":\"a\",\"hosts\":[\"a\"]}";
    struct cluster c = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(parse(text, strlen(text), &c, &err), -1);
    ASSERT_CONTAINS(err.text, "r.json: begins with a byte order mark (BOM)");
    cluster_done(&c);
}

/* Only shown, so only cut; an interface that cannot exist is an error. */
static void long_texts_are_cut_where_they_are_only_shown(void) {
    char text[2048];
    char longest[300];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct cluster c = {0};
    struct error err = {0};
    snprintf(text, sizeof(text),
             "{\"current_host\":\"a\",\"hosts\":[\"a\"],\"current_instance_type\":\"%s\","
             "\"current_group_name\":\"%s\"}",
             longest, longest);
    CU_ASSERT_EQUAL(parse(text, strlen(text), &c, &err), 0);
    CU_ASSERT_EQUAL(strlen(c.instance_type), CLUSTER_TYPE_SIZE - 1);
    CU_ASSERT_EQUAL(strlen(c.group), CLUSTER_TYPE_SIZE - 1);
    cluster_done(&c);
    snprintf(text, sizeof(text),
             "{\"current_host\":\"a\",\"hosts\":[\"a\"],\"network_interface_name\":\"%s\"}",
             longest);
    CU_ASSERT_EQUAL(parse(text, strlen(text), &c, &err), -1);
    ASSERT_CONTAINS(err.text, "network_interface_name");
    cluster_done(&c);
}

static void a_thousand_hosts_are_read_and_more_refused(void) {
    for (int hosts = 1000; hosts <= 1025; hosts += 25) {
        cleanup_buf struct buf text;
        buf_init(&text, 65536);
        buf_add_text(&text, "{\"current_host\":\"algo-1\",\"hosts\":[\"algo-1\"", NULL);
        for (int i = 2; i <= hosts; i++)
            buf_printf(&text, NULL, ",\"algo-%d\"", i);
        buf_add_text(&text, "]}", NULL);
        struct cluster c = {0};
        struct error err = {0};
        int read = parse(text.data, text.size, &c, &err);
        CU_ASSERT_EQUAL(read, hosts > CLUSTER_HOSTS_MAX ? -1 : 0);
        if (read != 0)
            ASSERT_CONTAINS(err.text, "r.json: \"hosts\": more than 1024");
        cluster_done(&c);
    }
}

static void a_missing_file_is_distinguished(void) {
    struct cluster c;
    struct error err = {0};
    CU_ASSERT_EQUAL(read_one("/nonexistent/resourceconfig.json", &c, &err), 1);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(read_one("/dev/null", &c, &err), -1);
}

UNIT_SUITE("job.platform_sagemaker", UNIT(every_valid_file_is_read),
           UNIT(every_invalid_file_has_its_error), UNIT(what_the_sdk_writes_is_understood),
           UNIT(a_byte_order_mark_is_called_that),
           UNIT(long_texts_are_cut_where_they_are_only_shown),
           UNIT(a_thousand_hosts_are_read_and_more_refused), UNIT(a_missing_file_is_distinguished))
