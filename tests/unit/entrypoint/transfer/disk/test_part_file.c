#include "entrypoint/transfer/disk/part_file.h"

#include "common/cleanup.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two pieces and a byte. */
static const int64_t size = 2 * PART_FILE_PIECE + 1;
static int root = -1;

static int open_it(struct part_file *f, const char *etag) {
    if (root < 0)
        root = safe_dir_open(unit_temp_dir(), NULL);
    return part_file_open(f, root, "sub/file", size, etag, NULL);
}

static void pieces_are_as_long_as_the_file_has_bytes(void) {
    struct part_file f;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(f.count, 3);
    CU_ASSERT_EQUAL(part_file_begin(&f, 2), 2 * PART_FILE_PIECE);
    CU_ASSERT_EQUAL(part_file_length(&f, 1), PART_FILE_PIECE);
    CU_ASSERT_EQUAL(part_file_length(&f, 2), 1);
    part_file_remove(&f);
    CU_ASSERT_EQUAL(part_file_open(&f, root, "huge", INT64_C(1) << 42, "one", NULL), 0);
    CU_ASSERT_TRUE(f.count <= PART_FILE_PIECES_MAX);
    CU_ASSERT_EQUAL(part_file_begin(&f, f.count - 1) + part_file_length(&f, f.count - 1),
                    INT64_C(1) << 42);
    part_file_remove(&f);
    CU_ASSERT_EQUAL(faccessat(root, "sub/file", F_OK, 0), -1);
}

static void below_a_file_there_is_no_other(void) {
    struct part_file f;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(part_file_publish(&f, NULL), 0);
    CU_ASSERT_EQUAL(part_file_open(&f, root, "sub/file/below", size, "one", &err), -1);
    ASSERT_CONTAINS(err.text, "sub/file");
    CU_ASSERT_PTR_NULL(f.here);
    CU_ASSERT_EQUAL(f.folder, -1);
    CU_ASSERT_EQUAL(unlinkat(root, "sub/file", 0), 0);
}

static void a_fifo_in_the_place_of_its_parts_is_an_error(void) {
    struct part_file f;
    struct error err = {0};
    char temp[sizeof(f.temp)];
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    (void)memcpy(temp, f.temp, sizeof(temp));
    int folder = dup(f.folder);
    part_file_remove(&f);
    CU_ASSERT_EQUAL_FATAL(mkfifoat(folder, temp, 0600), 0);
    CU_ASSERT_EQUAL(part_file_open(&f, root, "sub/file", size, "one", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "is not a regular file; remove it");
    CU_ASSERT_EQUAL(unlinkat(folder, temp, 0), 0);
    (void)close(folder);
}

static void what_is_left_is_gone_on_with_where_it_is_the_same(void) {
    struct part_file f;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_TRUE(f.here[0] == 0 && f.here[1] == 0 && f.here[2] == 0);
    CU_ASSERT_EQUAL(pwrite(f.fd, "x", 1, 2 * PART_FILE_PIECE), 1);
    CU_ASSERT_EQUAL(part_file_note(&f, 2, NULL), 0);
    part_file_close(&f);
    CU_ASSERT_TRUE(part_file_present(root, "sub/file", size) > 0);
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_TRUE(f.here[0] == 0 && f.here[1] == 0 && f.here[2] == 1);
    part_file_close(&f);
    /* Another version of it is another file. */
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "two"), 0);
    CU_ASSERT_EQUAL(f.here[2], 0);
    CU_ASSERT_EQUAL(part_file_note(&f, 1, NULL), 0);
    part_file_close(&f);
    CU_ASSERT_EQUAL_FATAL(part_file_open(&f, root, "sub/file", size - 1, "two", NULL), 0);
    CU_ASSERT_EQUAL(f.here[1], 0);
    part_file_remove(&f);
}

/* The note says that the machine was another one, or the same one before a reboot. */
static void what_another_boot_has_left_is_not_trusted(void) {
    static const char boot[] = "00000000-0000-0000-0000-000000000000";
    struct part_file f;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(part_file_note(&f, 0, NULL), 0);
    CU_ASSERT_EQUAL(pwrite(f.fd, boot, sizeof(boot) - 1, size + 16), (ssize_t)sizeof(boot) - 1);
    part_file_close(&f);
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(f.here[0], 0);
    part_file_remove(&f);
}

static void one_process_has_it_at_a_time(void) {
    struct part_file f, other;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(part_file_note(&f, 0, NULL), 0);
    CU_ASSERT_EQUAL(open_it(&other, "one"), 1);
    CU_ASSERT_EQUAL(open_it(&other, "two"), 1);
    CU_ASSERT_EQUAL(other.fd, -1);
    part_file_close(&f);
    CU_ASSERT_EQUAL_FATAL(open_it(&other, "one"), 0);
    CU_ASSERT_EQUAL(other.here[0], 1);
    part_file_remove(&other);
}

/* In the place of the C library's: somebody may end between the opening of a file and its lock. */
static struct part_file *ends;
static void (*end)(struct part_file *f);

int flock(int fd, int operation) {
    struct part_file *f = ends;
    ends = NULL;
    if (f != NULL)
        end(f);
    return (int)syscall(SYS_flock, fd, operation);
}

static void publish(struct part_file *f) {
    CU_ASSERT_EQUAL(part_file_publish(f, NULL), 0);
}

static void what_another_process_ends_meanwhile_is_its_own(void) {
    struct part_file f, other;
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    ends = &f;
    end = publish;
    CU_ASSERT_EQUAL_FATAL(open_it(&other, "two"), 0);
    CU_ASSERT_EQUAL(fstatat(root, "sub/file", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, size);
    ends = &other;
    end = part_file_remove;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(fstat(f.fd, &st), 0);
    CU_ASSERT_EQUAL(st.st_nlink, 1);
    part_file_remove(&f);
    CU_ASSERT_EQUAL(unlinkat(root, "sub/file", 0), 0);
}

static void what_is_got_in_another_way_leaves_nothing(void) {
    struct part_file f;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(part_file_note(&f, 0, NULL), 0);
    part_file_forget(root, "sub/file"); /* it is another one's */
    CU_ASSERT_TRUE(part_file_present(root, "sub/file", size) > 0);
    part_file_close(&f);
    part_file_forget(root, "sub/file");
    CU_ASSERT_EQUAL(part_file_present(root, "sub/file", size), 0);
    part_file_forget(root, "sub/file");
    part_file_forget(root, "never/file");
    CU_ASSERT_EQUAL(part_file_present(root, "never/file", size), 0);
    CU_ASSERT_EQUAL(faccessat(root, "never", F_OK, 0), -1); /* looking creates nothing */
    cleanup_fd int folder = openat(root, "sub", O_RDONLY | O_DIRECTORY);
    CU_ASSERT_TRUE(safe_dir_is_empty(folder, "nothing"));
}

static void it_gets_its_name_and_its_size_at_the_end(void) {
    struct part_file f;
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    CU_ASSERT_EQUAL(part_file_publish(&f, NULL), 0);
    CU_ASSERT_EQUAL(fstatat(root, "sub/file", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, size);
    cleanup_fd int folder = openat(root, "sub", O_RDONLY | O_DIRECTORY);
    CU_ASSERT_FALSE(safe_dir_is_empty(folder, ".none"));
    CU_ASSERT_TRUE(safe_dir_is_empty(folder, "file"));
}

static void a_link_in_its_place_is_not_followed(void) {
    struct part_file f;
    char temp[64];
    CU_ASSERT_EQUAL_FATAL(open_it(&f, "one"), 0);
    (void)memcpy(temp, f.temp, sizeof(temp));
    part_file_remove(&f);
    cleanup_fd int folder = openat(root, "sub", O_RDONLY | O_DIRECTORY);
    CU_ASSERT_EQUAL(symlinkat("/dev/null", folder, temp), 0);
    CU_ASSERT_EQUAL(open_it(&f, "one"), -1);
    CU_ASSERT_EQUAL(unlinkat(folder, temp, 0), 0);
}

UNIT_SUITE("transfer.part_file", UNIT(pieces_are_as_long_as_the_file_has_bytes),
           UNIT(below_a_file_there_is_no_other), UNIT(a_fifo_in_the_place_of_its_parts_is_an_error),
           UNIT(what_is_left_is_gone_on_with_where_it_is_the_same),
           UNIT(what_another_boot_has_left_is_not_trusted), UNIT(one_process_has_it_at_a_time),
           UNIT(what_another_process_ends_meanwhile_is_its_own),
           UNIT(what_is_got_in_another_way_leaves_nothing),
           UNIT(it_gets_its_name_and_its_size_at_the_end),
           UNIT(a_link_in_its_place_is_not_followed))
