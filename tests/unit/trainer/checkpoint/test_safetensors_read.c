#include "common/cleanup.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/safetensors_form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;
/* This program is linked with --wrap=pread (tests/room.cmake): a file as a slow network gives it,
 * with signals in between. */
static bool slow;

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset) {
    static bool interrupted;
    interrupted = slow && !interrupted;
    if (interrupted) {
        errno = EINTR;
        return -1;
    }
    return __real_pread(fd, bytes, slow && size > 5 ? 5 : size, offset);
}

/* A small file of ours, in memory. */
static void make_file(struct buf *out) {
    float weight[2 * 2 * 3 * 3];
    uint8_t bytes[5] = {1, 2, 3, 4, 5};
    int64_t count = 3;
    for (int i = 0; i < 36; i++)
        weight[i] = (float)i / 7;
    const struct array arrays[] = {
        {.name = "conv1.weight",
         .type = ARRAY_F32,
         .rank = 4,
         .shape = {2, 2, 3, 3},
         .data = weight,
         .ohwi = true},
        {.name = "n", .type = ARRAY_I64, .data = &count},
        {.name = "b", .type = ARRAY_U8, .rank = 1, .shape = {5}, .data = bytes},
    };
    const struct safetensors_note note = {"state", "{\"step\": 5}"};
    char path[600];
    snprintf(path, sizeof(path), "%s/small.safetensors", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, arrays, 3, &note, 1, NULL), 0);
    buf_init(out, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(file_read(path, out, NULL), 0);
}

/* Is this a whole file of ours? What a checkpoint asks. */
static int accept(const void *bytes, size_t size) {
    cleanup_safetensors struct safetensors file = {0};
    if (safetensors_parse(&file, bytes, size, "test", &err) != 0)
        return -1;
    return safetensors_verify(&file, &err);
}

static void the_whole_file_is_accepted(void) {
    cleanup_buf struct buf bytes;
    make_file(&bytes);
    CU_ASSERT_EQUAL(accept(bytes.data, bytes.size), 0);
}

static void every_flipped_bit_is_detected(void) {
    cleanup_buf struct buf bytes;
    make_file(&bytes);
    int missed = 0;
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << (bit % 8)));
        missed += accept(bytes.data, bytes.size) == 0;
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << (bit % 8)));
    }
    CU_ASSERT_EQUAL(missed, 0);
    CU_ASSERT_EQUAL(accept(bytes.data, bytes.size), 0);
}

static void every_truncation_is_detected(void) {
    cleanup_buf struct buf bytes;
    make_file(&bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        void *part = malloc(size + 1); /* of its exact length, for the sanitizers */
        CU_ASSERT_PTR_NOT_NULL_FATAL(part);
        memcpy(part, bytes.data, size);
        CU_ASSERT_EQUAL(accept(part, size), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        free(part);
    }
}

static void more_bytes_at_the_end_are_detected(void) {
    cleanup_buf struct buf bytes;
    make_file(&bytes);
    CU_ASSERT_EQUAL_FATAL(buf_add(&bytes, "x", 1, NULL), 0);
    CU_ASSERT_EQUAL(accept(bytes.data, bytes.size), -1);
}

/* Parses HEADER followed by DATA bytes. */
static int parse_foreign(const char *header, size_t data, struct safetensors *file) {
    static char bytes[4096]; /* the file in memory stays in use */
    uint64_t length = strlen(header);
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    return safetensors_parse(file, bytes, 8 + length + data, "foreign", &err);
}

static void expect_refused(const char *header, size_t data, const char *why) {
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL(parse_foreign(header, data, &file), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
    CU_ASSERT_EQUAL(strncmp(err.text, "foreign", 7), 0);
    CU_ASSERT_NOT_EQUAL(err.text[strlen(err.text) - 1], ' ');
}

static void a_foreign_file_without_checksums_can_be_read(void) {
    cleanup_safetensors struct safetensors file = {0};
    float out[2] = {1, 1};
    const struct array array = {
        .name = "a", .type = ARRAY_F32, .rank = 1, .shape = {2}, .data = out};
    CU_ASSERT_EQUAL_FATAL(
        parse_foreign("{ \"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]},"
                      "\"__metadata__\": {\"format\": \"pt\"}}   ",
                      8, &file),
        0);
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    CU_ASSERT(out[0] == 0 && out[1] == 0);
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), -1);
    ASSERT_CONTAINS(err.text, "carries no checksum");
}

/* Types of later days, many axes, long names: of a tensor that nobody needs. */
static void what_cannot_be_read_costs_nobody_the_others(void) {
    cleanup_safetensors struct safetensors file = {0};
    char header[1024], name[ARRAY_NAME_MAX + 2];
    uint8_t out[64];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(header, sizeof(header),
             "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
             "\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[8,11]},"
             "\"nine\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[11,13]},"
             "\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[13,14]}}",
             name);
    CU_ASSERT_EQUAL_FATAL(parse_foreign(header, 14, &file), 0);
    struct array array = {.name = "a", .type = ARRAY_F32, .rank = 1, .shape = {2}, .data = out};
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    array = (struct array){.name = "f8", .type = ARRAY_U8, .rank = 1, .shape = {3}, .data = out};
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "f8: has a dtype that cannot be read");
    array = (struct array){.name = "nine", .type = ARRAY_U8, .rank = 1, .shape = {2}, .data = out};
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "nine: has more axes than can be read");
    array = (struct array){.name = name, .type = ARRAY_U8, .rank = 1, .shape = {1}, .data = out};
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "has too long a name");
}

/* A ZIP archive, and pickles of old. */
static void pytorchs_files_are_known_with_the_way_out(void) {
    static const char *const files[] = {"PK\x03\x04\x14\x00\x08\x08\x08\x08",
                                        "\x80\x02\x8a\nl\xfc\x9c\x46\xf9", "\x80\x04\x95xxxxxxx"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cleanup_safetensors struct safetensors file = {0};
        CU_ASSERT_EQUAL(safetensors_parse(&file, files[i], 9, "w.pth", &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "w.pth: a PyTorch file, not safetensors");
        ASSERT_CONTAINS(err.text, "save_file(");
        ASSERT_CONTAINS(err.text, "FILE.pth FILE.safetensors");
    }
}

static void hostile_headers_are_refused(void) {
    expect_refused("[]", 0, "not an object");
    expect_refused("{", 0, "foreign");
    expect_refused("{\"a\":{\"dtype\":31,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "a: no dtype");
    expect_refused("{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
                   "outside of the file");
    expect_refused("{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
                   "overlap or gap");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
                   "a: bad shape");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4,
                   "a: bad shape");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "do not agree");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
                   "outside of the file");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
                   "outside of the file");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
                   "overlap or gap");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                   4, "overlap or gap");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
                   "belong to no tensor");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],"
                   "\"data_offsets\":[0,4]}}",
                   4, "do not agree");
    expect_refused("{\"a\":3}", 0, "a: no dtype");
    expect_refused("{\"__metadata__\":{\"k\":1}}", 0, "not a string");
    expect_refused("{\"__metadata__\":{\"crc32c\":\"0000\"}}", 0, "malformed checksum");
    expect_refused("{\"__metadata__\":{\"crc32c\":\"deadbeef\"}}", 0, "does not match");
}

static void more_tensors_than_there_may_be_are_refused(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    cleanup_safetensors struct safetensors file = {0};
    uint64_t length = 0;
    CU_ASSERT_EQUAL_FATAL(buf_add(&bytes, &length, sizeof(length), &err), 0);
    for (int i = 0; i <= SAFETENSORS_TENSORS_MAX; i++)
        CU_ASSERT_EQUAL_FATAL(
            buf_printf(&bytes, &err,
                       "%c\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                       i == 0 ? '{' : ',', i),
            0);
    CU_ASSERT_EQUAL_FATAL(buf_add_text(&bytes, "}", &err), 0);
    length = bytes.size - 8;
    memcpy(bytes.data, &length, sizeof(length));
    CU_ASSERT_EQUAL(safetensors_parse(&file, bytes.data, bytes.size, "many", &err), -1);
    ASSERT_CONTAINS(err.text, "many: too many tensors");
}

static void a_huge_header_length_costs_nothing(void) {
    cleanup_safetensors struct safetensors file = {0};
    const uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    CU_ASSERT_EQUAL(safetensors_parse(&file, bytes, sizeof(bytes), "huge", &err), -1);
    ASSERT_CONTAINS(err.text, "not a safetensors file");
}

static void write_bytes(char path[600], const char *name, const struct buf *bytes, size_t size) {
    snprintf(path, 600, "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes->data, size, 0644, &err), 0);
}

/* The length of the header is believed before it is read, not after. */
static void a_header_longer_than_its_file_is_cut_short(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    char path[600];
    make_file(&bytes);
    write_bytes(path, "header", &bytes, 20);
    CU_ASSERT_EQUAL(safetensors_open(&file, path, &err), -1);
    ASSERT_CONTAINS(err.text, "or truncated: a header of ");
    ASSERT_CONTAINS(err.text, path);
}

static void short_reads_and_signals_change_nothing(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    char path[600];
    float fast[36], weight[36];
    struct array array = {.name = "conv1.weight",
                          .type = ARRAY_F32,
                          .rank = 4,
                          .shape = {2, 2, 3, 3},
                          .data = fast,
                          .ohwi = true};
    make_file(&bytes);
    write_bytes(path, "slow", &bytes, bytes.size);
    slow = true;
    CU_ASSERT_EQUAL(safetensors_open(&file, path, &err), 0);
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), 0);
    array.data = weight;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    slow = false;
    array.data = fast;
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    CU_ASSERT_EQUAL(memcmp(fast, weight, sizeof(fast)), 0);
}

static void what_is_no_file_is_refused(void) {
    struct safetensors file;
    CU_ASSERT_EQUAL(safetensors_open(&file, "/dev/null", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_STRING_EQUAL(err.text, "/dev/null: not a regular file");
    CU_ASSERT_EQUAL(safetensors_open(&file, "/no/such/file", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/no/such/file");
}

static void a_file_that_shrinks_ends_the_reading(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    char path[600];
    uint8_t out[5];
    const struct array array = {
        .name = "b", .type = ARRAY_U8, .rank = 1, .shape = {5}, .data = out};
    make_file(&bytes);
    write_bytes(path, "shrinks", &bytes, bytes.size);
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, (off_t)bytes.size - 3), 0);
    alarm(60); /* not for ever */
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "became shorter while it was read");
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), -1);
    ASSERT_CONTAINS(err.text, "became shorter while it was read");
    alarm(0);
}

/* Header and checksum of the header as they should be, but one tensor has none of its own. */
static void a_tensor_without_checksum_is_not_verified(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    char sum[9];
    make_file(&bytes);
    char *key = memmem(bytes.data, bytes.size, "crc32c:b", 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(key);
    memcpy(key, "nothing:", 8);
    size_t header = 8 + (size_t)(uint8_t)bytes.data[0] + ((size_t)(uint8_t)bytes.data[1] << 8);
    char *digits = safetensors_crc_digits(bytes.data, header);
    CU_ASSERT_PTR_NOT_NULL_FATAL(digits);
    memcpy(digits, SAFETENSORS_ZEROS, 8);
    snprintf(sum, sizeof(sum), "%08x", (unsigned)crc32c(0, bytes.data, header));
    memcpy(digits, sum, 8);
    CU_ASSERT_EQUAL_FATAL(safetensors_parse(&file, bytes.data, bytes.size, "test", &err), 0);
    CU_ASSERT_TRUE(file.checked);
    CU_ASSERT_EQUAL(safetensors_verify(&file, &err), -1);
    ASSERT_CONTAINS(err.text, "b: carries no checksum");
}

static void reading_says_what_does_not_fit(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    float out[36];
    make_file(&bytes);
    CU_ASSERT_EQUAL_FATAL(safetensors_parse(&file, bytes.data, bytes.size, "test", &err), 0);
    struct array array = {
        .name = "fc.weight", .type = ARRAY_F32, .rank = 1, .shape = {36}, .data = out};
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "fc.weight: there is no such tensor");
    array.name = "conv1.weight";
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "conv1.weight: has the shape [");
    array.rank = 4; /* as many values, in other places */
    memcpy(array.shape, (int64_t[]){2, 3, 2, 3}, 4 * sizeof(int64_t));
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "conv1.weight: has the shape [");
    array.name = "n";
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "n: has type I64, expected F32");
}

static void a_damaged_tensor_is_found_when_it_is_read(void) {
    cleanup_buf struct buf bytes;
    cleanup_safetensors struct safetensors file = {0};
    uint8_t out[5];
    const struct array array = {
        .name = "b", .type = ARRAY_U8, .rank = 1, .shape = {5}, .data = out};
    make_file(&bytes);
    bytes.data[bytes.size - 1] ^= 1;
    CU_ASSERT_EQUAL_FATAL(safetensors_parse(&file, bytes.data, bytes.size, "test", &err), 0);
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), -1);
    ASSERT_CONTAINS(err.text, "b: does not match its checksum");
}

UNIT_SUITE("checkpoint.safetensors_read", UNIT(the_whole_file_is_accepted),
           UNIT(every_flipped_bit_is_detected), UNIT(every_truncation_is_detected),
           UNIT(more_bytes_at_the_end_are_detected),
           UNIT(a_foreign_file_without_checksums_can_be_read),
           UNIT(what_cannot_be_read_costs_nobody_the_others),
           UNIT(pytorchs_files_are_known_with_the_way_out), UNIT(hostile_headers_are_refused),
           UNIT(more_tensors_than_there_may_be_are_refused),
           UNIT(a_huge_header_length_costs_nothing),
           UNIT(a_header_longer_than_its_file_is_cut_short),
           UNIT(short_reads_and_signals_change_nothing), UNIT(what_is_no_file_is_refused),
           UNIT(a_file_that_shrinks_ends_the_reading),
           UNIT(a_tensor_without_checksum_is_not_verified), UNIT(reading_says_what_does_not_fit),
           UNIT(a_damaged_tensor_is_found_when_it_is_read))
