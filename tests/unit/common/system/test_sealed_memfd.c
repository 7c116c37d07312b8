#include "common/cleanup.h"
#include "common/system/sealed_memfd.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void sealed_memory_holds_and_stays(void) {
    char got[16] = "";
    cleanup_fd int fd = sealed_memfd_make("test", "hello", 5, NULL);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(sealed_memfd_is(fd));
    CU_ASSERT_EQUAL(pread(fd, got, sizeof(got), 0), 5);
    CU_ASSERT_STRING_EQUAL(got, "hello");
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    CU_ASSERT_EQUAL(pwrite(fd, "x", 1, 0), -1);
    CU_ASSERT_EQUAL(ftruncate(fd, 0), -1);
    CU_ASSERT_EQUAL(ftruncate(fd, 100), -1);
}

static void other_memory_is_not_taken_for_it(void) {
    cleanup_fd int open_one = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cleanup_fd int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_FALSE(sealed_memfd_is(open_one));
    CU_ASSERT_EQUAL(fcntl(open_one, F_ADD_SEALS, F_SEAL_WRITE), 0);
    CU_ASSERT_FALSE(sealed_memfd_is(open_one));
    CU_ASSERT_FALSE(sealed_memfd_is(file));
    CU_ASSERT_FALSE(sealed_memfd_is(-1));
}

static void what_is_written_before_the_seal_stays(void) {
    struct error err = {0};
    char got[16] = "";
    cleanup_fd int fd = sealed_memfd_open("test", NULL);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_FALSE(sealed_memfd_is(fd));
    CU_ASSERT_EQUAL(write(fd, "hello", 5), 5);
    CU_ASSERT_EQUAL(sealed_memfd_seal(fd, "test", NULL), 0);
    CU_ASSERT_TRUE(sealed_memfd_is(fd));
    CU_ASSERT_EQUAL(pread(fd, got, sizeof(got), 0), 5);
    CU_ASSERT_STRING_EQUAL(got, "hello");
    CU_ASSERT_EQUAL(pwrite(fd, "x", 1, 0), -1);
    cleanup_fd int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(sealed_memfd_seal(file, "a device", &err), -1);
    ASSERT_CONTAINS(err.text, "sealing a device: ");
}

/* Linux knows the seal against execution since 6.3; memory without it is as good. */
static void the_seal_against_execution_may_be_missing(void) {
    enum { SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };
    cleanup_fd int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_FALSE(sealed_memfd_is(fd));
    CU_ASSERT_EQUAL_FATAL(fcntl(fd, F_ADD_SEALS, SEALS), 0);
    CU_ASSERT_TRUE(sealed_memfd_is(fd));
    CU_ASSERT_EQUAL(sealed_memfd_seals(fd), SEALS);
}

UNIT_SUITE("common.sealed_memfd", UNIT(sealed_memory_holds_and_stays),
           UNIT(what_is_written_before_the_seal_stays),
           UNIT(the_seal_against_execution_may_be_missing), UNIT(other_memory_is_not_taken_for_it))
