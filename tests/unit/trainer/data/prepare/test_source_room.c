#include "trainer/data/prepare/source_room.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "hello" by gzip: deflate's stored block, its CRC-32 and its size. */
static const unsigned char GZIP[] = {0x1f, 0x8b, 8,    0,   0,   0,   0,   0,   0,   3,
                                     1,    5,    0,    250, 255, 'h', 'e', 'l', 'l', 'o',
                                     0x86, 0xa6, 0x10, 54,  5,   0,   0,   0};

static const char *path_of(const char *name) {
    static char paths[8][700];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void put(const char *path, const void *bytes, size_t size) {
    CU_ASSERT_EQUAL_FATAL(file_put(path, bytes, size, 0644, NULL), 0);
}

static void an_archive_is_unpacked_once(void) {
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    char plain[PATH_MAX], again[PATH_MAX];
    cleanup_buf struct buf bytes = {.max = 4096};
    struct stat first, second;
    const char *target = path_of("once");
    put(path_of("photos.tgz"), GZIP, sizeof(GZIP));
    CU_ASSERT_EQUAL_FATAL(source_room_open(&room, target, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(source_room_plain(&room, path_of("photos.tgz"), plain, NULL), 0);
    ASSERT_CONTAINS(plain, room.folder);
    ASSERT_CONTAINS(plain, "/28-photos.tar");
    CU_ASSERT_EQUAL_FATAL(file_read(plain, &bytes, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&bytes), "hello");
    CU_ASSERT_EQUAL_FATAL(stat(plain, &first), 0);
    CU_ASSERT_EQUAL_FATAL(source_room_plain(&room, path_of("photos.tgz"), again, NULL), 0);
    CU_ASSERT_STRING_EQUAL(plain, again);
    CU_ASSERT_EQUAL_FATAL(stat(again, &second), 0);
    CU_ASSERT_EQUAL(first.st_ino, second.st_ino);
    source_room_remove(&room);
    CU_ASSERT_NOT_EQUAL(access(room.folder, F_OK), 0);
    CU_ASSERT_EQUAL(access(target, F_OK), 0);
}

static void what_is_plain_stays_where_it_is(void) {
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    char plain[PATH_MAX];
    put(path_of("plain.tar"), "text", 4);
    CU_ASSERT_EQUAL_FATAL(source_room_open(&room, path_of("plain"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(source_room_plain(&room, path_of("plain.tar"), plain, NULL), 0);
    CU_ASSERT_STRING_EQUAL(plain, path_of("plain.tar"));
    source_room_remove(&room);
}

static void a_damaged_archive_leaves_nothing(void) {
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    char plain[PATH_MAX];
    unsigned char wrong[sizeof(GZIP)];
    struct error err = {0};
    memcpy(wrong, GZIP, sizeof(wrong));
    wrong[20] ^= 1; /* of the checksum */
    put(path_of("wrong.gz"), wrong, sizeof(wrong));
    CU_ASSERT_EQUAL_FATAL(source_room_open(&room, path_of("damaged"), NULL), 0);
    CU_ASSERT_EQUAL(source_room_plain(&room, path_of("wrong.gz"), plain, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "wrong.gz");
    CU_ASSERT_NOT_EQUAL(access(plain, F_OK), 0);
    source_room_remove(&room);
    CU_ASSERT_NOT_EQUAL(access(room.folder, F_OK), 0);
}

static void one_process_at_a_time_has_it(void) {
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    cleanup_source_room struct source_room other = SOURCE_ROOM_CLOSED;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(source_room_open(&room, path_of("busy"), NULL), 0);
    CU_ASSERT_EQUAL(source_room_open(&other, path_of("busy"), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "another process unpacks archives here");
    source_room_done(&other);
    source_room_done(&room);
    CU_ASSERT_EQUAL(source_room_open(&other, path_of("busy"), NULL), 0);
}

static void a_target_with_something_else_is_refused(void) {
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("taken"), NULL), 0);
    put(path_of("taken/thesis.txt"), "x", 1);
    CU_ASSERT_EQUAL(source_room_open(&room, path_of("taken"), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(access(path_of("taken/thesis.txt"), F_OK), 0);
}

UNIT_SUITE("data.source_room", UNIT(an_archive_is_unpacked_once),
           UNIT(what_is_plain_stays_where_it_is), UNIT(a_damaged_archive_leaves_nothing),
           UNIT(one_process_at_a_time_has_it), UNIT(a_target_with_something_else_is_refused))
