#include "checkpoint/model_dir.h"
#include "common/file.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static struct error err;

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static void a_model_comes_back(void) {
    char model[] = "resnet18", bee[] = "bee", ant[] = "ant \"x\" é";
    char *names[] = {bee, ant};
    float bias[2] = {0.5f, -2};
    float out[2] = {0};
    const struct model_config config = {.model = model,
                                        .class_names = names,
                                        .classes = 2,
                                        .image_size = 224,
                                        .resize_side = 256,
                                        .mean = {0.485, 0.456, 0.406},
                                        .std = {0.229, 0.224, 0.225},
                                        .epochs = 7.5};
    struct array array = {
        .name = "fc.bias", .type = ARRAY_F32, .rank = 1, .shape = {2}, .data = bias};
    const char *folder = folder_of("model");
    CU_ASSERT_EQUAL_FATAL(model_dir_save(folder, &config, &array, 1, &err), 0);
    cleanup_model_config struct model_config back = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_config(folder, &back, &err), 0);
    CU_ASSERT_STRING_EQUAL(back.model, "resnet18");
    CU_ASSERT_EQUAL(back.classes, 2);
    CU_ASSERT_STRING_EQUAL(back.class_names[1], names[1]);
    CU_ASSERT_EQUAL(back.image_size, 224);
    CU_ASSERT_EQUAL(back.resize_side, 256);
    CU_ASSERT_EQUAL(back.epochs, 7.5);
    CU_ASSERT_DOUBLE_EQUAL(back.mean[2], 0.406, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(back.std[0], 0.229, 1e-12);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_open(folder, &file, &err), 0);
    array.data = out;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    CU_ASSERT_EQUAL(memcmp(bias, out, sizeof(out)), 0);
}

static void expect_refused(const char *json, const char *why) {
    char path[700];
    struct model_config config;
    const char *folder = folder_of("bad");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, json, strlen(json), 0644, NULL), 0);
    CU_ASSERT_EQUAL(model_dir_config(folder, &config, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
    ASSERT_CONTAINS(err.text, path);
}

#define TAIL ",\"mean\":[0,0,0],\"std\":[1,1,1]}"

static void every_field_is_checked(void) {
    expect_refused("{", "config.json");
    expect_refused("{}", "\"model\"");
    expect_refused("{\"model\":\"\"}", "\"model\"");
    expect_refused("{\"model\":\"r\",\"classes\":[]}", "\"classes\"");
    expect_refused("{\"model\":\"r\",\"classes\":[1]}", "\"classes\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":0}", "\"image_size\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":\"8\"}", "\"image_size\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":7" TAIL,
                   "\"resize_side\" is less");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0],\"std\":[1,1,1]}",
                   "\"mean\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0,0],\"std\":[1,0,1]}",
                   "\"std\" is not above zero");
}

static void a_missing_folder_is_named(void) {
    struct model_config config;
    struct safetensors file;
    CU_ASSERT_EQUAL(model_dir_config(folder_of("none"), &config, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "none/config.json");
    CU_ASSERT_EQUAL(model_dir_open(folder_of("none"), &file, &err), -1);
    ASSERT_CONTAINS(err.text, "none/model.safetensors");
}

static void what_could_not_be_saved_is_known_before(void) {
    char model[] = "resnet18", bee[] = "bee", latin[] = "b\xe9";
    char *names[] = {bee, bee};
    struct model_config config = {.model = model, .class_names = names, .classes = 2};
    CU_ASSERT_EQUAL(model_dir_check(folder_of("early"), &config, &err), 0);
    names[1] = latin;
    CU_ASSERT_EQUAL(model_dir_check(folder_of("early"), &config, &err), -1);
    ASSERT_CONTAINS(err.text, "not UTF-8");
    names[1] = bee;
    CU_ASSERT_EQUAL(model_dir_check("/proc/none/model", &config, &err), -1);
    ASSERT_CONTAINS(err.text, "/proc/none");
}

UNIT_MAIN("checkpoint.model_dir", UNIT(a_model_comes_back),
          UNIT(what_could_not_be_saved_is_known_before), UNIT(every_field_is_checked),
          UNIT(a_missing_folder_is_named))
