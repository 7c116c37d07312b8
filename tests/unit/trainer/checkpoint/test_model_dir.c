#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/model_dir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    CU_ASSERT_EQUAL_FATAL(model_dir_open(folder, &back, &file, &err), 0);
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
    CU_ASSERT_EQUAL(strncmp(err.text, path, strlen(path)), 0); /* the file comes first */
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
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":16385}", "\"image_size\"");
    expect_refused("{\"format_version\":3}", "format version 3");
    expect_refused("{\"format_version\":\"2\"}", "\"format_version\" is not a number");
    expect_refused("{\"format_version\":0}", "format_version 0");
    expect_refused("{\"weights\":7}", "\"weights\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":7" TAIL,
                   "\"resize_side\" is less");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0],\"std\":[1,1,1]}",
                   "\"mean\"");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0,0,0],\"std\":[1,1,1]}",
                   "\"mean\" is not a list of three numbers");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,\"0\",0],\"std\":[1,1,1]}",
                   "\"mean\" is not a list of three numbers");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0,0],\"std\":[1,0,1]}",
                   "\"std\": 0 is not from 1e-06 to 1e+06");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,0,0],\"std\":[1,1,1e-300]}",
                   "\"std\": 1e-300 is not from");
    expect_refused("{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,"
                   "\"mean\":[0,-1e300,0],\"std\":[1,1,1]}",
                   "\"mean\": -1e+300 is not from");
}

/* Creates a folder with the weights VALUE and the matching configuration. */
static void make_model(const char *name, float value, const struct safetensors_note *notes) {
    char model[] = "resnet18", bee[] = "bee";
    char *names[] = {bee};
    const struct model_config config = {.model = model,
                                        .class_names = names,
                                        .classes = 1,
                                        .image_size = 8,
                                        .resize_side = 8,
                                        .std = {1, 1, 1}};
    struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    char path[700];
    CU_ASSERT_EQUAL_FATAL(model_dir_save(folder_of(name), &config, &array, 1, &err), 0);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder_of(name));
    if (notes != NULL)
        CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, notes, 0, &err), 0);
}

/* Opens the configuration of one folder with the weights of another. */
static int open_pair(const char *config_from, const char *weights_from) {
    cleanup_model_config struct model_config config = {0};
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_config(folder_of(config_from), &config, &err), 0);
    return model_dir_open(folder_of(weights_from), &config, &file, &err);
}

static void write_file(const char *folder, const char *name, const char *bytes, size_t size) {
    char path[700];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes, size, 0644, &err), 0);
}

#define FIRST_CONFIG "{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8" TAIL
/* The header that other programs write: without checksums. */
#define BARE_HEADER "{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}} "

static void files_of_two_models_are_refused(void) {
    const struct safetensors_note none[1] = {{NULL, NULL}};
    make_model("one", 1, NULL);
    make_model("two", 2, NULL);
    make_model("first", 1, none); /* no format version, as in the first models */
    make_model("newer", 3, NULL);
    make_model("bare", 1, NULL);
    CU_ASSERT_EQUAL(open_pair("one", "one"), 0);
    CU_ASSERT_EQUAL(open_pair("one", "two"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "belongs to other weights (crc32c:");
    ASSERT_CONTAINS(err.text, folder_of("two"));
    CU_ASSERT_EQUAL(open_pair("one", "first"), -1);
    write_file(folder_of("first"), "config.json", FIRST_CONFIG, strlen(FIRST_CONFIG));
    CU_ASSERT_EQUAL(open_pair("first", "first"), 0);
    CU_ASSERT_EQUAL(open_pair("first", "two"),
                    -1); /* new weights before their configuration is written */
    ASSERT_CONTAINS(err.text, "of an earlier version");
    char bytes[8 + sizeof(BARE_HEADER) - 1 + 4] = {(char)(sizeof(BARE_HEADER) - 1)};
    memcpy(bytes + 8, BARE_HEADER, sizeof(BARE_HEADER) - 1);
    write_file(folder_of("bare"), "model.safetensors", bytes, sizeof(bytes));
    CU_ASSERT_EQUAL(open_pair("bare", "bare"), -1); /* not the weights of that configuration */
    ASSERT_CONTAINS(err.text, "which another program has written");
    CU_ASSERT_EQUAL(open_pair("first", "bare"), 0);
}

static void weights_of_a_later_format_are_refused(void) {
    const struct safetensors_note later = {"format_version", "99"};
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &(float){1}};
    char path[700];
    make_model("later", 1, NULL);
    write_file(folder_of("later"), "config.json", FIRST_CONFIG, strlen(FIRST_CONFIG));
    snprintf(path, sizeof(path), "%s/model.safetensors", folder_of("later"));
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, &later, 1, &err), 0);
    CU_ASSERT_EQUAL(open_pair("later", "later"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "format version 99");
}

static void what_a_killed_publish_left_goes(void) {
    char left[800], kept[800];
    make_model("left", 1, NULL);
    snprintf(left, sizeof(left), "%s/model.safetensors.partial-AbC123", folder_of("left"));
    snprintf(kept, sizeof(kept), "%s/other.safetensors.partial-AbC123", folder_of("left"));
    CU_ASSERT_EQUAL_FATAL(file_publish(left, "x", 1, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(kept, "x", 1, 0644, NULL), 0);
    make_model("left", 2, NULL);
    CU_ASSERT_EQUAL(access(left, F_OK), -1);
    CU_ASSERT_EQUAL(access(kept, F_OK), 0);
}

static void a_missing_folder_is_named(void) {
    struct model_config config = {0};
    struct safetensors file;
    CU_ASSERT_EQUAL(model_dir_config(folder_of("none"), &config, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/none: no model there (config.json is missing); --model-dir");
    CU_ASSERT_EQUAL(model_dir_open(folder_of("none"), &config, &file, &err), -1);
    ASSERT_CONTAINS(err.text, "none/model.safetensors");
    char file_path[1024];
    make_model("of_files", 2, NULL);
    (void)snprintf(file_path, sizeof(file_path), "%s/model.safetensors", folder_of("of_files"));
    CU_ASSERT_EQUAL(model_dir_config(file_path, &config, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/model.safetensors: a file; --model-dir names a folder");
}

static void the_best_model_of_checkpoints_is_named(void) {
    struct model_config config = {0};
    make_model("states/best", 2, NULL);
    CU_ASSERT_EQUAL(model_dir_config(folder_of("states"), &config, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/states: a folder of checkpoints, not of a model; its best model is "
                              "in ");
    ASSERT_CONTAINS(err.text, "/states/best");
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

static void what_cannot_be_saved_is_an_error(void) {
    char model[] = "resnet18", bee[] = "bee", path[800];
    char *names[] = {bee};
    float value = 1;
    const struct model_config config = {.model = model, .class_names = names, .classes = 1};
    const struct array nameless = {.name = "", .type = ARRAY_F32, .data = &value};
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    snprintf(path, sizeof(path), "%s/config.json", folder_of("unsaved"));
    CU_ASSERT_EQUAL(model_dir_save(folder_of("unsaved"), &config, &nameless, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "is not a valid tensor name");
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
    CU_ASSERT_EQUAL(model_dir_save(folder_of("unsaved"), &config, &array, 1, &err), -1);
    ASSERT_CONTAINS(err.text, path);
    CU_ASSERT_EQUAL(model_dir_save("/dev/null", &config, &array, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "/dev/null");
}

/* This holds for every format that there has been. */
static void our_own_model_is_written_over(void) {
    static const char *const ours[] = {"{\n  \"format_version\": 2,\n", "{\n  \"model\": \"r\",\n"};
    char model[] = "resnet18", bee[] = "bee";
    char *names[] = {bee};
    const struct model_config config = {.model = model, .class_names = names, .classes = 1};
    for (size_t i = 0; i < 2; i++) {
        make_model("ours", 1, NULL);
        write_file(folder_of("ours"), "config.json", ours[i], strlen(ours[i]));
        CU_ASSERT_EQUAL(model_dir_check(folder_of("ours"), &config, &err), 0);
    }
}

static void files_of_other_programs_are_not_written_over(void) {
    static const struct {
        const char *name, *text;
    } foreign[] = {
        {"config.json", "{\"architectures\": [\"ViT\"]}"},
        {"model.safetensors", "\x02\0\0\0\0\0\0\0{}"},
        {"model.safetensors", "weights?"},
    };
    static const size_t sizes[] = {26, 10, 8};
    char model[] = "resnet18", bee[] = "bee", path[800];
    char *names[] = {bee};
    const struct model_config config = {.model = model, .class_names = names, .classes = 1};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        make_model("foreign", 1, NULL);
        CU_ASSERT_EQUAL(model_dir_check(folder_of("foreign"), &config, &err), 0);
        snprintf(path, sizeof(path), "%s/%s", folder_of("foreign"), foreign[i].name);
        CU_ASSERT_EQUAL_FATAL(file_publish(path, foreign[i].text, sizes[i], 0644, NULL), 0);
        CU_ASSERT_EQUAL(model_dir_check(folder_of("foreign"), &config, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, path);
    }
}

static void a_network_that_finds_objects_tells_of_its_categories(void) {
    char model[] = "finder", bee[] = "bee", ant[] = "", tv[] = "tv";
    char *names[] = {bee, ant};
    int64_t ids[] = {90, -1};
    float bias[2] = {0.5f, -2};
    const struct model_config config = {.model = model,
                                        .class_names = names,
                                        .classes = 2,
                                        .preset = tv,
                                        .category_ids = ids,
                                        .short_side = 800,
                                        .long_side = 1333,
                                        .rules = {{"epsilon", 0}, {"share", 1e-5}, {"most", 100}},
                                        .rule_count = 3,
                                        .mean = {0.485, 0.456, 0.406},
                                        .std = {0.229, 0.224, 0.225},
                                        .epochs = 26};
    struct array array = {.name = "bias", .type = ARRAY_F32, .rank = 1, .shape = {2}, .data = bias};
    const char *folder = folder_of("finder");
    CU_ASSERT_EQUAL_FATAL(model_dir_save(folder, &config, &array, 1, &err), 0);
    cleanup_model_config struct model_config back = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_config(folder, &back, &err), 0);
    CU_ASSERT_STRING_EQUAL(back.preset, "tv");
    CU_ASSERT(back.category_ids[0] == 90 && back.category_ids[1] == -1);
    CU_ASSERT(back.short_side == 800 && back.long_side == 1333 && back.image_size == 0);
    CU_ASSERT_EQUAL_FATAL(back.rule_count, 3);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(back.rules[i].name, config.rules[i].name);
        CU_ASSERT_EQUAL(back.rules[i].value, config.rules[i].value);
    }
    CU_ASSERT_EQUAL(back.epochs, 26);
}

#define FINDER(task, preset, ids, sides)                                                           \
    "{\"model\":\"m\",\"classes\":[\"a\"],\"task\":" task ",\"preset\":" preset                    \
    ",\"category_ids\":" ids "," sides ",\"mean\":[0,0,0],\"std\":[1,1,1]}"
#define SIDES "\"short_side\":800,\"long_side\":1333"

static void what_it_tells_is_checked(void) {
    expect_refused(FINDER("\"sing\"", "\"tv\"", "[1]", SIDES), "\"task\"");
    expect_refused(FINDER("7", "\"tv\"", "[1]", SIDES), "\"task\"");
    expect_refused(FINDER("\"detect\"", "\"\"", "[1]", SIDES), "\"preset\"");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1,2]", SIDES), "\"category_ids\"");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[\"1\"]", SIDES), "\"category_ids\"");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1]", "\"short_side\":0,\"long_side\":9"),
                   "\"short_side\"");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1]", "\"short_side\":10,\"long_side\":9"),
                   "\"long_side\" is less");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1]", SIDES ",\"rules\":[1]"),
                   "\"rules\" is not a list of named numbers");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1]", SIDES ",\"rules\":{\"a\":\"1\"}"),
                   "\"rules\": 'a' is not the name of a number");
    expect_refused(FINDER("\"detect\"", "\"tv\"", "[1]",
                          SIDES ",\"rules\":{\"a_name_of_more_than_thirty_one_bytes\":1}"),
                   "\"rules\": 'a_name_of_more_than_thirty_one_bytes'");
}

/* Earlier versions wrote configurations without rules. */
static void rules_may_be_left_out(void) {
    const char *json = FINDER("\"detect\"", "\"tv\"", "[1]", SIDES);
    cleanup_model_config struct model_config config = {0};
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder_of("old"), &err), 0);
    write_file(folder_of("old"), "config.json", json, strlen(json));
    CU_ASSERT_EQUAL_FATAL(model_dir_config(folder_of("old"), &config, &err), 0);
    CU_ASSERT_EQUAL(config.rule_count, 0);
    CU_ASSERT_FALSE(config.sealed);
    CU_ASSERT_STRING_EQUAL(config.unknown, "");
}

static void keys_that_mean_nothing_are_listed(void) {
    static const char *const jsons[] = {
        "{\"model\":\"r\",\"classes\":[\"a\"],\"image_size\":8,\"resize_side\":8,\"epocs\":7,"
        "\"short_side\":9" TAIL,
        FINDER("\"detect\"", "\"tv\"", "[1]", SIDES ",\"epocs\":7,\"image_size\":8")};
    static const char *const unknown[] = {"epocs, short_side", "epocs, image_size"};
    for (size_t i = 0; i < 2; i++) {
        cleanup_model_config struct model_config config = {0};
        write_file(folder_of("old"), "config.json", jsons[i], strlen(jsons[i]));
        CU_ASSERT_EQUAL_FATAL(model_dir_config(folder_of("old"), &config, &err), 0);
        CU_ASSERT_STRING_EQUAL(config.unknown, unknown[i]);
    }
}

static void a_changed_description_is_refused(void) {
    cleanup_buf struct buf text = {0};
    char path[700];
    buf_init(&text, 1 << 16);
    make_model("changed", 1, NULL);
    snprintf(path, sizeof(path), "%s/config.json", folder_of("changed"));
    CU_ASSERT_EQUAL_FATAL(file_read(path, &text, &err), 0);
    {
        cleanup_model_config struct model_config config = {0};
        CU_ASSERT_EQUAL_FATAL(model_dir_config(folder_of("changed"), &config, &err), 0);
        CU_ASSERT_TRUE(config.sealed);
        CU_ASSERT_STRING_EQUAL(config.unknown, "");
    }
    char *side = strstr(text.data, "\"resize_side\": 8");
    CU_ASSERT_PTR_NOT_NULL_FATAL(side);
    side[strlen("\"resize_side\": ")] = '9';
    struct model_config config;
    write_file(folder_of("changed"), "config.json", text.data, text.size);
    CU_ASSERT_EQUAL(model_dir_config(folder_of("changed"), &config, &err), -1);
    ASSERT_CONTAINS(err.text, "config.json: does not match its checksum");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    expect_refused("{\"model\":\"r\",\"checksum\":\"crc32c:00000000\"}",
                   "\"checksum\" is not a checksum");
}

UNIT_SUITE("checkpoint.model_dir", UNIT(a_network_that_finds_objects_tells_of_its_categories),
           UNIT(what_it_tells_is_checked), UNIT(rules_may_be_left_out),
           UNIT(keys_that_mean_nothing_are_listed), UNIT(a_changed_description_is_refused),
           UNIT(what_cannot_be_saved_is_an_error), UNIT(our_own_model_is_written_over),
           UNIT(files_of_other_programs_are_not_written_over), UNIT(a_model_comes_back),
           UNIT(what_could_not_be_saved_is_known_before), UNIT(every_field_is_checked),
           UNIT(files_of_two_models_are_refused), UNIT(what_a_killed_publish_left_goes),
           UNIT(weights_of_a_later_format_are_refused), UNIT(a_missing_folder_is_named),
           UNIT(the_best_model_of_checkpoints_is_named))
