#include "trainer/data/prepare/unzip.h"

#include "common/binary/little_endian.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HELLO_CRC = 0x3610a686, MEMBERS_MAX = 8 };

static void put(struct buf *out, uint64_t value, size_t size) {
    uint8_t bytes[8];
    little_endian_put(bytes, value, size);
    CU_ASSERT_EQUAL(buf_add(out, bytes, size, NULL), 0);
}

/* What a member's own header and its entry in the directory have in common. */
static void put_common(struct buf *out, const char *name, uint32_t crc) {
    put(out, 20, 2);
    put(out, 0, 8); /* flags, stored, time */
    put(out, crc, 4);
    put(out, 5, 4);
    put(out, 5, 4);
    put(out, strlen(name), 2);
}

/* Writes an archive at PATH with a file "hello" under each name. */
static void make_zip(const char *path, const char *const *names, size_t count, uint32_t crc) {
    cleanup_buf struct buf out = {.max = 1 << 16};
    size_t offsets[MEMBERS_MAX];
    for (size_t i = 0; i < count; i++) {
        offsets[i] = out.size;
        put(&out, 0x04034b50, 4);
        put_common(&out, names[i], crc);
        put(&out, 0, 2);
        CU_ASSERT_EQUAL(buf_printf(&out, NULL, "%shello", names[i]), 0);
    }
    const size_t directory = out.size;
    for (size_t i = 0; i < count; i++) {
        put(&out, 0x02014b50, 4);
        put(&out, 20, 2);
        put_common(&out, names[i], crc);
        put(&out, 0, 8); /* extra field, comment, disk, attributes */
        put(&out, 0, 4);
        put(&out, offsets[i], 4);
        CU_ASSERT_EQUAL(buf_add_text(&out, names[i], NULL), 0);
    }
    const size_t size = out.size - directory;
    put(&out, 0x06054b50, 4);
    put(&out, 0, 4);
    put(&out, count, 2);
    put(&out, count, 2);
    put(&out, size, 4);
    put(&out, directory, 4);
    put(&out, 0, 2);
    CU_ASSERT_EQUAL_FATAL(file_put(path, out.data, out.size, 0644, NULL), 0);
}

static const char *path_of(const char *name) {
    static char paths[8][700];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", unit_temp_dir(), name);
    return path;
}

static int unpack(const char *target, const char *const *archives, size_t count,
                  struct unzip_result *ret, struct error *err) {
    const struct unzip_options options = {
        .target = target, .archives = archives, .count = count, .threads = 2};
    return unzip_all(&options, ret, err);
}

static bool is_hello(const char *path) {
    cleanup_buf struct buf bytes = {.max = 4096};
    return file_read(path, &bytes, NULL) == 0 && strcmp(buf_text(&bytes), "hello") == 0;
}

static void members_of_all_archives_keep_their_paths(void) {
    static const char *const first[] = {"train/1.jpg", "train/2.jpg"};
    static const char *const second[] = {"annotations/a.json"};
    const char *archives[] = {path_of("first.zip"), path_of("second.zip")};
    struct unzip_result result;
    const char *target = path_of("all");
    make_zip(archives[0], first, 2, HELLO_CRC);
    make_zip(archives[1], second, 1, HELLO_CRC);
    CU_ASSERT_EQUAL_FATAL(unpack(target, archives, 2, &result, NULL), 0);
    CU_ASSERT_EQUAL(result.files, 3);
    CU_ASSERT_EQUAL(result.kept, 0);
    CU_ASSERT_EQUAL(result.bytes, 15);
    CU_ASSERT(is_hello(path_of("all/train/1.jpg")) && is_hello(path_of("all/train/2.jpg")));
    CU_ASSERT(is_hello(path_of("all/annotations/a.json")));
}

static void what_is_there_is_kept(void) {
    static const char *const names[] = {"a/1.jpg", "a/2.jpg"};
    const char *archive = path_of("kept.zip");
    struct unzip_result result;
    struct stat before, after;
    make_zip(archive, names, 2, HELLO_CRC);
    CU_ASSERT_EQUAL_FATAL(unpack(path_of("kept"), &archive, 1, &result, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(stat(path_of("kept/a/1.jpg"), &before), 0);
    CU_ASSERT_EQUAL_FATAL(unlink(path_of("kept/a/2.jpg")), 0);
    CU_ASSERT_EQUAL_FATAL(unpack(path_of("kept"), &archive, 1, &result, NULL), 0);
    CU_ASSERT_EQUAL(result.files, 2);
    CU_ASSERT_EQUAL(result.kept, 1);
    CU_ASSERT_EQUAL_FATAL(stat(path_of("kept/a/1.jpg"), &after), 0);
    CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
    CU_ASSERT(is_hello(path_of("kept/a/2.jpg")));
}

static void refuses(const char *name, uint32_t crc, const char *words) {
    const char *const names[] = {"a/good.jpg", name};
    const char *archive = path_of("bad.zip");
    struct unzip_result result;
    struct error err = {0};
    char target[64];
    static int number;
    snprintf(target, sizeof(target), "bad%d", number++);
    make_zip(archive, names, 2, crc);
    CU_ASSERT_EQUAL(unpack(path_of(target), &archive, 1, &result, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
    snprintf(target + strlen(target), 32, "/a/good.jpg");
    CU_ASSERT_NOT_EQUAL(access(path_of(target), F_OK), 0);
}

static void paths_that_lead_out_are_refused_before_anything_is_written(void) {
    refuses("../out.jpg", HELLO_CRC, "expected a path below a folder");
    refuses("/out.jpg", HELLO_CRC, "expected a path below a folder");
    refuses(".hidden/out.jpg", HELLO_CRC, "expected a path below a folder");
}

static void a_wrong_checksum_is_told(void) {
    refuses("a/other.jpg", HELLO_CRC + 1, "bad.zip");
}

static void archives_must_be_there(void) {
    struct unzip_result result;
    struct error err = {0};
    const char *archive = path_of("no.zip");
    CU_ASSERT_EQUAL(unpack(path_of("none"), &archive, 0, &result, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(unpack(path_of("none"), &archive, 1, &result, &err), -1);
    ASSERT_CONTAINS(err.text, "no.zip");
    CU_ASSERT_NOT_EQUAL(access(path_of("none"), F_OK), 0);
}

UNIT_SUITE("data.unzip", UNIT(members_of_all_archives_keep_their_paths),
           UNIT(what_is_there_is_kept),
           UNIT(paths_that_lead_out_are_refused_before_anything_is_written),
           UNIT(a_wrong_checksum_is_told), UNIT(archives_must_be_there))
