#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/host/preflight/data_look.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes the file PATH below the test's folder, with SIZE bytes that begin with START. */
static void put(const char *path, const char *start, size_t size) {
    char whole[4096];
    cleanup_free char *bytes = calloc(1, size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    memcpy(bytes, start, strlen(start) < size ? strlen(start) : size);
    (void)snprintf(whole, sizeof(whole), "%s/%s", unit_temp_dir(), path);
    *strrchr(whole, '/') = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(whole, NULL), 0);
    (void)snprintf(whole, sizeof(whole), "%s/%s", unit_temp_dir(), path);
    CU_ASSERT_EQUAL_FATAL(file_put(whole, bytes, size, 0644, NULL), 0);
}

static const json_t *channel(const json_t *found, size_t number, const char *name) {
    const json_t *one = json_array_get(json_object_get(found, "channels"), number);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(one, "name")), name);
    return one;
}

static json_int_t number(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static bool is(const json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

static void channels_are_counted(void) {
    char base[3072], address[4096];
    (void)snprintf(base, sizeof(base), "%s/base", unit_temp_dir());
    (void)snprintf(address, sizeof(address), "first://%s/mine", unit_temp_dir());
    put("base/input/data/train/a/1.jpg", "x", 10 << 20);
    put("base/input/data/train/a/.hidden", "x", 1);
    put("base/input/data/train/b/2.jpg", "x", 1);
    put("base/input/data/val/index", "RTIX", 40);
    put("mine/one", "x", 3 << 20);
    cleanup_json json_t *sources =
        json_pack("[[s, s], [s, s]]", "own", address, "far", "https://host/set?signed=secret");
    cleanup_json json_t *found = data_look(base, sources);
    const json_t *far = channel(found, 0, "far"), *own = channel(found, 1, "own");
    const json_t *train = channel(found, 2, "train"), *val = channel(found, 3, "val");
    CU_ASSERT(is(train, "here") && !is(train, "prepared") && !is(train, "more"));
    CU_ASSERT(number(train, "files") == 2 && number(train, "mib") == 10);
    CU_ASSERT(is(val, "here") && is(val, "prepared") && number(val, "files") == 1);
    CU_ASSERT(is(own, "here") && number(own, "files") == 1 && number(own, "mib") == 3);
    CU_ASSERT(!is(far, "here") && number(far, "files") == 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(far, "from")), "https://host/set");
    CU_ASSERT(number(found, "read_mib") > 0);
}

static void no_data_is_no_channel(void) {
    cleanup_json json_t *found = data_look(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(found, "channels")), 0);
    CU_ASSERT_EQUAL(number(found, "read_mib"), -1);
}

UNIT_SUITE("host.data_look", UNIT(channels_are_counted), UNIT(no_data_is_no_channel))
