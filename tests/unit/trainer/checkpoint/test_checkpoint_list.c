#include "trainer/checkpoint/checkpoint_list.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    return folder;
}

/* A file named after STEP that holds the text STATE; NULL: none. */
static void write_state(const char *folder, int64_t step, const char *state) {
    const struct safetensors_note note = {CHECKPOINT_STATE, state};
    char path[CHECKPOINT_PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(checkpoint_path(folder, step, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, NULL, 0, &note, state != NULL, &err), 0);
}

static void names_have_nine_digits_and_nothing_more(void) {
    static const char *const good[] = {"step-000000000.safetensors", "step-123456789.safetensors",
                                       "step-999999999.safetensors"};
    static const char *const bad[] = {"",
                                      "step-",
                                      "step-00000000.safetensors",
                                      "step-0000000000.safetensors",
                                      "step-00000000:.safetensors",
                                      "step-00000000/.safetensors",
                                      "step-/00000000.safetensors",
                                      "step-:00000000.safetensors",
                                      "Step-000000000.safetensors",
                                      "step-000000000.safetensor",
                                      "step-000000000.safetensors2",
                                      "step-00000000"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT(checkpoint_is_name(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_FALSE(checkpoint_is_name(bad[i]));
}

static void the_place_is_what_the_state_tells(void) {
    static const struct {
        const char *state;
        int64_t lineage, samples;
    } good[] = {
        {"{\"step\":7,\"course\":3,\"samples\":50}", 3, 50},
        {"{\"step\":7,\"samples\":0}", 0, 0},
        {"{\"step\":7,\"global_batch\":1}", 0, 7},
        {"{\"step\":7,\"global_batch\":9,\"samples\":1}", 0, 1},
    };
    const char *folder = folder_of("positions");
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cleanup_checkpoint_list struct checkpoint_list list = {0};
        write_state(folder, 7, good[i].state);
        CU_ASSERT_EQUAL_FATAL(checkpoint_list_read(&list, folder, &err), 0);
        CU_ASSERT_EQUAL_FATAL(list.count, 1);
        CU_ASSERT(list.items[0].readable && !list.items[0].newer);
        CU_ASSERT_EQUAL(list.items[0].position.lineage, good[i].lineage);
        CU_ASSERT_EQUAL(list.items[0].position.samples, good[i].samples);
        CU_ASSERT_EQUAL(list.items[0].position.step, 7);
    }
}

static void a_state_without_a_place_is_no_checkpoint(void) {
    static const char *const bad[] = {
        NULL,
        "",
        "[",
        "{}",
        "{\"step\":-1,\"samples\":4}",
        "{\"step\":1,\"samples\":4,\"course\":-1}",
        "{\"step\":1}",
        "{\"step\":1,\"global_batch\":0}",
        "{\"step\":1,\"global_batch\":\"8\"}",
        "{\"step\":1,\"global_batch\":\"8\",\"samples\":8}",
        "{\"step\":\"1\",\"global_batch\":8}",
        "{\"step\":1,\"global_batch\":8,\"course\":1.5}",
        "{\"step\":1,\"global_batch\":8,\"samples\":\"8\"}",
        "{\"step\":4611686018427387904,\"global_batch\":2}",
    };
    const char *folder = folder_of("no-positions");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_checkpoint_list struct checkpoint_list list = {0};
        cleanup_safetensors struct safetensors file = {0};
        struct checkpoint_position position;
        char path[CHECKPOINT_PATH_MAX];
        write_state(folder, 1, bad[i]);
        CU_ASSERT_EQUAL_FATAL(checkpoint_list_read(&list, folder, &err), 0);
        CU_ASSERT_EQUAL_FATAL(list.count, 1);
        CU_ASSERT_FALSE(list.items[0].readable);
        CU_ASSERT_EQUAL(checkpoint_path(folder, 1, path, &err), 0);
        CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, &err), 0);
        CU_ASSERT_EQUAL(checkpoint_position_of(&file, &position, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, path);
        CU_ASSERT_EQUAL(checkpoint_position_of(&file, &position, NULL), -1);
    }
}

static void a_file_is_known_by_its_name(void) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    const char *folder = folder_of("renamed");
    write_state(folder, 12, "{\"step\":7,\"samples\":70}");
    CU_ASSERT_EQUAL_FATAL(checkpoint_list_read(&list, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(list.count, 1);
    CU_ASSERT_EQUAL(list.items[0].position.step, 12);
    CU_ASSERT_EQUAL(list.items[0].position.samples, 70);
}

static void the_newest_comes_first_behind_what_cannot_be_placed(void) {
    static const int64_t order[] = {40, 9, 30, 20, 21, 10};
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    const char *folder = folder_of("order");
    char many[] = "many";
    write_state(folder, 10, "{\"step\":10,\"samples\":10}");
    write_state(folder, 30, "{\"step\":30,\"samples\":5,\"course\":1}");
    write_state(folder, 20, "{\"step\":20,\"samples\":30}");
    write_state(folder, 21, "{\"step\":21,\"samples\":20}");
    write_state(folder, 9, "{\"step\":9,\"samples\":6,\"course\":1}");
    write_state(folder, 40, NULL);
    CU_ASSERT_EQUAL_FATAL(checkpoint_list_read(&list, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(list.count, 6);
    for (size_t i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(list.items[i].position.step, order[i]);
    struct checkpoint_position newest = {0};
    bool found = false;
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &newest, &found, &err), 0);
    CU_ASSERT(found && newest.step == 9);
    /* More than a list begins with; of the same position the later step. */
    folder = folder_of(many);
    for (int64_t step = 1; step <= 40; step++)
        write_state(folder, step, "{\"step\":1,\"samples\":4}");
    checkpoint_list_done(&list);
    CU_ASSERT(list.count == 0 && list.items == NULL);
    checkpoint_list_done(&list);
    CU_ASSERT_EQUAL_FATAL(checkpoint_list_read(&list, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(list.count, 40);
    for (int64_t i = 0; i < 40; i++)
        CU_ASSERT_EQUAL(list.items[i].position.step, 40 - i);
}

static void places_are_compared_by_course_then_samples(void) {
    const struct checkpoint_position a = {.lineage = 1, .samples = 5, .step = 9};
    const struct checkpoint_position b = {.lineage = 1, .samples = 6, .step = 1};
    const struct checkpoint_position c = {.lineage = 2, .samples = 1, .step = 1};
    const struct checkpoint_position d = {.lineage = 1, .samples = 5, .step = 1};
    CU_ASSERT(checkpoint_position_compare(&a, &b) < 0 && checkpoint_position_compare(&b, &a) > 0);
    CU_ASSERT(checkpoint_position_compare(&b, &c) < 0 && checkpoint_position_compare(&c, &b) > 0);
    CU_ASSERT_EQUAL(checkpoint_position_compare(&a, &d), 0);
}

/* A folder with a path that fits, but not with a checkpoint's name appended. */
static void a_path_that_is_too_long_is_an_error_and_no_empty_folder(void) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    const char *folder = folder_of("long");
    char longest[CHECKPOINT_PATH_MAX], path[CHECKPOINT_PATH_MAX];
    enum { NAME_SIZE = sizeof("/step-000000001.safetensors") - 1 };
    write_state(folder, 1, "{\"step\":1,\"samples\":4}");
    memset(longest, '/', sizeof(longest));
    memcpy(longest, folder, strlen(folder));
    longest[CHECKPOINT_PATH_MAX - 1 - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(checkpoint_path(longest, 1, path, &err), 0);
    CU_ASSERT_EQUAL(checkpoint_list_read(&list, longest, &err), 0);
    CU_ASSERT_EQUAL(list.count, 1);
    checkpoint_list_done(&list);
    longest[CHECKPOINT_PATH_MAX - 1 - NAME_SIZE] = '/';
    longest[CHECKPOINT_PATH_MAX - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(checkpoint_path(longest, 1, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "path too long");
    CU_ASSERT_EQUAL(checkpoint_list_read(&list, longest, &err), -1);
    ASSERT_CONTAINS(err.text, "path too long");
}

static void what_is_no_folder_is_an_error(void) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    CU_ASSERT_EQUAL(checkpoint_list_read(&list, "/dev/null", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "/dev/null");
    CU_ASSERT_EQUAL(checkpoint_list_read(&list, "/no/such/folder", &err), 0);
    CU_ASSERT_EQUAL(list.count, 0);
}

UNIT_SUITE("checkpoint.checkpoint_list", UNIT(names_have_nine_digits_and_nothing_more),
           UNIT(the_place_is_what_the_state_tells), UNIT(a_state_without_a_place_is_no_checkpoint),
           UNIT(a_file_is_known_by_its_name),
           UNIT(the_newest_comes_first_behind_what_cannot_be_placed),
           UNIT(places_are_compared_by_course_then_samples),
           UNIT(a_path_that_is_too_long_is_an_error_and_no_empty_folder),
           UNIT(what_is_no_folder_is_an_error))
