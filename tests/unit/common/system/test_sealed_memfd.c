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

UNIT_SUITE("common.sealed_memfd", UNIT(sealed_memory_holds_and_stays),
           UNIT(other_memory_is_not_taken_for_it))
