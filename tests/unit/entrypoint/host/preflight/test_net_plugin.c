/* The plugins are stand-ins (tests/support/net_plugin.c), loaded by the system's dynamic loader. */
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/host/preflight/net_plugin.h"
#include "tests/support/rdma.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const char folder[] = "LD_LIBRARY_PATH=" TEST_PLUGINS;

static json_t *try_with(const char *library_path, const char *plugin) {
    static char path[512], name[512];
    char *environment[] = {path, name, NULL};
    (void)snprintf(path, sizeof(path), "%s", library_path);
    (void)snprintf(name, sizeof(name), "NCCL_NET_PLUGIN=%s", plugin);
    return net_plugin_try(unit_temp_dir(), environment);
}

static const char *member(const json_t *found, const char *key) {
    const char *text = json_string_value(json_object_get(found, key));
    return text != NULL ? text : "";
}

static const char *text_of(const json_t *found) {
    static char text[512];
    net_plugin_text(found, text, sizeof(text));
    return text;
}

static void names_are_those_that_nccl_tries(void) {
    static const struct {
        const char *value;
        const char *names[5];
    } cases[] = {
        {NULL, {"libnccl-net.so"}},
        {"", {"libnccl-net.so"}},
        {"none", {NULL}},
        {"ofi", {"ofi", "libnccl-net-ofi.so"}},
        {"/a/b.so,x,", {"/a/b.so", "x", "libnccl-net-x.so"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_argv struct argv names = {0};
        size_t count = 0;
        CU_ASSERT_EQUAL(net_plugin_names(cases[i].value, &names, NULL), 0);
        for (; cases[i].names[count] != NULL; count++)
            if (count < names.count)
                CU_ASSERT_STRING_EQUAL(names.items[count], cases[i].names[count]);
        CU_ASSERT_EQUAL(names.count, count);
    }
}

static bool needs(const char *root, const char *variable) {
    char text[64];
    char *environment[] = {text, NULL};
    (void)snprintf(text, sizeof(text), "%s", variable);
    return net_plugin_is_needed(root, environment);
}

static void an_adapter_or_a_name_needs_one(void) {
    char root[2048];
    (void)snprintf(root, sizeof(root), "%s/efa", unit_temp_dir());
    CU_ASSERT_FALSE(needs(root, "A=b"));
    CU_ASSERT_TRUE(needs(root, "NCCL_NET_PLUGIN=x"));
    rdma_make(root, "rdmap0s6", "efa", 0);
    CU_ASSERT_TRUE(needs(root, "A=b"));
    CU_ASSERT_TRUE(needs(root, "FI_PROVIDER=efa"));
    CU_ASSERT_FALSE(needs(root, "FI_PROVIDER=tcp"));
    CU_ASSERT_FALSE(needs(root, "NCCL_NET=Socket"));
    CU_ASSERT_FALSE(needs(root, "NCCL_NET_PLUGIN=none"));
}

static void a_good_one_is_loaded(void) {
    json_t *found = try_with(folder, "good");
    CU_ASSERT_STRING_EQUAL(member(found, "name"), "libnccl-net-good.so");
    CU_ASSERT_STRING_EQUAL(member(found, "path"), TEST_PLUGINS "/libnccl-net-good.so");
    CU_ASSERT_STRING_EQUAL(member(found, "version"), "aws-ofi-nccl 1.13.2-aws");
    CU_ASSERT_STRING_EQUAL(member(found, "offers"), "ncclNetPlugin_v10");
    CU_ASSERT_STRING_EQUAL(member(found, "fault"), "");
    ASSERT_CONTAINS(text_of(found), "aws-ofi-nccl 1.13.2-aws (" TEST_PLUGINS);
    ASSERT_CONTAINS(text_of(found), "can be loaded");
    json_decref(found);
    found = try_with("A=b", TEST_PLUGINS "/libnccl-net-good.so");
    CU_ASSERT_STRING_EQUAL(member(found, "path"), TEST_PLUGINS "/libnccl-net-good.so");
    CU_ASSERT_STRING_EQUAL(member(found, "fault"), "");
    json_decref(found);
}

/* If a plugin cannot be loaded, NCCL tries the next name. */
static void the_first_that_loads_counts(void) {
    json_t *found = try_with(folder, "lacking,empty,good");
    CU_ASSERT_STRING_EQUAL(member(found, "name"), "libnccl-net-good.so");
    CU_ASSERT_STRING_EQUAL(member(found, "fault"), "");
    json_decref(found);
    found = try_with(folder, "none,empty,lacking");
    CU_ASSERT_STRING_EQUAL(member(found, "name"), "libnccl-net-empty.so");
    json_decref(found);
}

static void one_that_cannot_be_loaded_says_why(void) {
    static const struct {
        const char *name, *fault;
    } cases[] = {
        {"lacking", "it needs libraries that are not found: libplugin_absent.so"},
        {"crashing", "loading it ends the process with SIGSEGV"},
        {"hanging", "it was not loaded within 1.5 s"},
        {"empty", "it offers none of ncclNetPlugin_v6 to ncclNetPlugin_v12"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t begun = clock_now();
        json_t *found = try_with(folder, cases[i].name);
        CU_ASSERT_STRING_EQUAL(member(found, "fault"), cases[i].fault);
        ASSERT_CONTAINS(text_of(found), "cannot be used: ");
        CU_ASSERT(clock_now() - begun < 10 * NET_PLUGIN_ALL_MS * CLOCK_MILLISECOND);
        json_decref(found);
    }
}

static void put_file(const char *path) {
    char whole[2048];
    (void)snprintf(whole, sizeof(whole), "%s/%s", unit_temp_dir(), path);
    *strrchr(whole, '/') = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(whole, NULL), 0);
    (void)snprintf(whole, sizeof(whole), "%s/%s", unit_temp_dir(), path);
    CU_ASSERT_EQUAL(file_publish(whole, "x", 1, 0644, NULL), 0);
}

static void one_where_nccl_does_not_look_is_named(void) {
    json_t *found = try_with("A=b", "");
    CU_ASSERT_STRING_EQUAL(text_of(found), "libnccl-net.so is not there");
    json_decref(found);
    put_file("opt/aws-ofi-nccl/lib/libnccl-net-ofi.so");
    found = try_with("A=b", "");
    ASSERT_CONTAINS(text_of(found), "libnccl-net-ofi.so is there, which NCCL opens with "
                                    "NCCL_NET_PLUGIN=ofi");
    json_decref(found);
    put_file("opt/amazon/ofi-nccl/lib/libnccl-net.so");
    found = try_with("A=b", "");
    ASSERT_CONTAINS(text_of(found), "in a folder that LD_LIBRARY_PATH lacks");
    json_decref(found);
}

UNIT_SUITE("host.net_plugin", UNIT(names_are_those_that_nccl_tries),
           UNIT(an_adapter_or_a_name_needs_one), UNIT(a_good_one_is_loaded),
           UNIT(the_first_that_loads_counts), UNIT(one_that_cannot_be_loaded_says_why),
           UNIT(one_where_nccl_does_not_look_is_named))
