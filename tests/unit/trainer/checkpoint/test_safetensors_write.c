#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *path_of(const char *name) {
    static char path[600];
    snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void the_file_has_the_published_form(void) {
    float weight[4] = {1, 2, 3, 4};
    int64_t count = 7;
    const struct array arrays[] = {
        {.name = "fc.weight", .type = ARRAY_F32, .rank = 2, .shape = {2, 2}, .data = weight},
        {.name = "bn1.num_batches_tracked", .type = ARRAY_I64, .data = &count},
    };
    const char *path = path_of("form.safetensors");
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, arrays, 2, NULL, 0, NULL), 0);
    cleanup_buf struct buf bytes;
    buf_init(&bytes, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &bytes, NULL), 0);
    uint64_t length;
    memcpy(&length, bytes.data, 8); /* little-endian, as every machine of ours */
    CU_ASSERT_EQUAL(length % 8, 0);
    CU_ASSERT_EQUAL(bytes.size, 8 + length + 16 + 8);
    ASSERT_CONTAINS(bytes.data + 8, "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],"
                                    "\"data_offsets\":[0,16]}");
    ASSERT_CONTAINS(bytes.data + 8, "\"bn1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],"
                                    "\"data_offsets\":[16,24]}");
    /* Without it, torch's and Transformers' readers do not know what kind of tensors these are. */
    ASSERT_CONTAINS(bytes.data + 8, "\"format\":\"pt\"");
    CU_ASSERT_EQUAL(memcmp(bytes.data + 8 + length, weight, 16), 0);
    CU_ASSERT_EQUAL(memcmp(bytes.data + 8 + length + 16, &count, 8), 0);
}

static void ohwi_arrays_are_written_as_oihw(void) {
    float in[2 * 3 * 1 * 2], out[2 * 3 * 1 * 2], expected[2 * 3 * 1 * 2];
    for (int i = 0; i < 12; i++)
        in[i] = (float)i;
    array_ohwi_to_oihw(in, expected, 2, 3, 1, 2);
    struct array array = {
        .name = "w", .type = ARRAY_F32, .rank = 4, .shape = {2, 3, 1, 2}, .data = in, .ohwi = true};
    const char *path = path_of("ohwi.safetensors");
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, NULL, 0, NULL), 0);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, NULL), 0);
    array.data = out;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
    array.ohwi = false;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(expected, out, sizeof(in)), 0);
}

/* [2, 1, 2, 3] here, [2, 6] there: three channels of 1x2 pixels, one after the other. */
static void a_matrix_on_a_picture_is_written_channel_by_channel(void) {
    float in[12], out[12];
    static const float expected[12] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
    for (int i = 0; i < 12; i++)
        in[i] = (float)i;
    struct array array = {.name = "w",
                          .type = ARRAY_F32,
                          .rank = 2,
                          .shape = {2, 6},
                          .data = in,
                          .ohwi = true,
                          .inputs = 3};
    const char *path = path_of("matrix.safetensors");
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, NULL, 0, NULL), 0);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, NULL), 0);
    array.data = out;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
    array.ohwi = false;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(expected, out, sizeof(expected)), 0);
    array.ohwi = true;
    array.inputs = 4; /* of six columns */
    struct error err = {0};
    CU_ASSERT_EQUAL(safetensors_write(path, &array, 1, NULL, 0, &err), -1);
    ASSERT_CONTAINS(err.text, "w: OHWI");
}

static void notes_of_any_text_come_back(void) {
    const char *text = "{\"crc32c\":\"00000000\", \"x\": \"\\u00e9\n\"}"; /* looks like a header */
    const struct safetensors_note note = {"state", text};
    const char *path = path_of("note.safetensors");
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, NULL, 0, &note, 1, NULL), 0);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, NULL), 0);
    CU_ASSERT_STRING_EQUAL(safetensors_note(&file, "state"), text);
    CU_ASSERT_EQUAL(safetensors_verify(&file, NULL), 0);
}

/* A header as long as there may be one, and one that is longer. */
static void the_header_has_a_ceiling(void) {
    enum { ROOM = SAFETENSORS_HEADER_MAX };
    struct error err = {0};
    char *text = malloc(ROOM + 1);
    const struct safetensors_note note = {"n", text};
    const char *path = path_of("ceiling.safetensors");
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', ROOM);
    /* {"__metadata__":{"crc32c":"00000000","format":"pt","n":"..."}} */
    size_t most =
        ROOM - strlen("{\"__metadata__\":{\"crc32c\":\"00000000\",\"format\":\"pt\",\"n\":\"\"}}");
    for (size_t more = 0; more <= 1; more++) {
        text[most] = 'x';
        text[most + more] = '\0';
        CU_ASSERT_EQUAL(safetensors_write(path, NULL, 0, &note, 1, &err), more == 0 ? 0 : -1);
    }
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    ASSERT_CONTAINS(err.text, "a header of 1048584 bytes; at most 1048576 are allowed");
    ASSERT_CONTAINS(err.text, path);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, &err), 0);
    CU_ASSERT_EQUAL(strlen(safetensors_note(&file, "n")), most);
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), 0);
    free(text);
}

static void as_many_tensors_as_are_read_can_be_written(void) {
    struct array *arrays = calloc(SAFETENSORS_TENSORS_MAX + 1, sizeof(*arrays));
    char(*names)[8] = calloc(SAFETENSORS_TENSORS_MAX + 1, sizeof(*names));
    struct error err = {0};
    uint8_t byte = 7;
    CU_ASSERT_FATAL(arrays != NULL && names != NULL);
    for (unsigned i = 0; i <= SAFETENSORS_TENSORS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "t%u", i % 10000);
        arrays[i] = (struct array){.name = names[i], .type = ARRAY_U8, .data = &byte};
    }
    const char *path = path_of("many.safetensors");
    CU_ASSERT_EQUAL(safetensors_write(path, arrays, SAFETENSORS_TENSORS_MAX + 1, NULL, 0, &err),
                    -1);
    ASSERT_CONTAINS(err.text, "8193 tensors; at most 8192 are allowed");
    CU_ASSERT_EQUAL(safetensors_write(path, arrays, SAFETENSORS_TENSORS_MAX, NULL, 0, &err), 0);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, &err), 0);
    CU_ASSERT_EQUAL(file.count, SAFETENSORS_TENSORS_MAX);
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), 0);
    free(names);
    free(arrays);
}

static void expect_refused(const struct array *arrays, size_t count, const char *why) {
    struct error err;
    struct stat st;
    const char *path = path_of("refused.safetensors");
    CU_ASSERT_EQUAL(safetensors_write(path, arrays, count, NULL, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    ASSERT_CONTAINS(err.text, why);
    CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
}

static void what_cannot_be_written_is_refused(void) {
    float value = 0;
    struct array arrays[2] = {{.name = "a", .type = ARRAY_F32, .data = &value},
                              {.name = "a", .type = ARRAY_F32, .data = &value}};
    expect_refused(arrays, 2, "a: two tensors with this name");
    arrays[0].name = "with \"quotes\"";
    expect_refused(arrays, 1, "is not a valid tensor name");
    arrays[0].name = "__metadata__";
    expect_refused(arrays, 1, "is not a valid tensor name");
    arrays[0].name = "a";
    arrays[0].rank = 1;
    arrays[0].shape[0] = -1;
    expect_refused(arrays, 1, "a: impossible shape");
    arrays[0].shape[0] = 1;
    arrays[0].ohwi = true;
    expect_refused(arrays, 1, "a: OHWI needs four axes");
}

static void a_folder_that_is_not_there_is_named(void) {
    struct error err;
    CU_ASSERT_EQUAL(safetensors_write(path_of("no/such.safetensors"), NULL, 0, NULL, 0, &err), -1);
    ASSERT_CONTAINS(err.text, "no/such.safetensors");
}

UNIT_SUITE("checkpoint.safetensors_write", UNIT(the_file_has_the_published_form),
           UNIT(ohwi_arrays_are_written_as_oihw),
           UNIT(a_matrix_on_a_picture_is_written_channel_by_channel),
           UNIT(notes_of_any_text_come_back), UNIT(the_header_has_a_ceiling),
           UNIT(as_many_tensors_as_are_read_can_be_written),
           UNIT(what_cannot_be_written_is_refused), UNIT(a_folder_that_is_not_there_is_named))
