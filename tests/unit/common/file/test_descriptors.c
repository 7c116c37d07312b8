#include "common/file/descriptors.h"

#include "tests/support/refused_call.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIGH = 700, FIRST = 20 };

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

/* Opens one descriptor below FIRST, which stays open, several from FIRST on, and one far above. */
static bool open_some(void) {
    const int null = open("/dev/null", O_RDONLY);
    bool all = dup2(null, FIRST - 1) >= 0 && dup2(null, HIGH) >= 0;
    for (int fd = FIRST; fd < 4 * FIRST; fd += 2)
        all = dup2(null, fd) >= 0 && all;
    return all;
}

static int close_them(void) {
    descriptors_close(FIRST);
    for (int fd = FIRST; fd <= HIGH; fd++)
        if (is_open(fd))
            return 3;
    return is_open(FIRST - 1) && is_open(STDERR_FILENO) ? 0 : 4;
}

static int mark_them(void) {
    descriptors_close_on_exec(FIRST);
    for (int fd = FIRST; fd < 4 * FIRST; fd += 2)
        if (fcntl(fd, F_GETFD) != FD_CLOEXEC)
            return 5;
    if (fcntl(HIGH, F_GETFD) != FD_CLOEXEC)
        return 6;
    return fcntl(FIRST - 1, F_GETFD) == 0 ? 0 : 7;
}

static int both(void) {
    const int marked = mark_them();
    return marked != 0 ? marked : close_them();
}

static int by_the_kernel(void) {
    return open_some() ? both() : 9;
}

static void all_from_a_number_on_are_taken(void) {
    CU_ASSERT_EQUAL(unit_in_child(by_the_kernel), 0);
}

static int on_linux_5_4(void) {
    return open_some() && refuse_call(SYS_close_range, ENOSYS) ? both() : 9;
}

static int under_a_filter(void) {
    return open_some() && refuse_call(SYS_close_range, EPERM) ? both() : 9;
}

/* As if /proc were not mounted. */
static int without_a_list(void) {
    return open_some() && refuse_call(SYS_close_range, ENOSYS) && refuse_call(SYS_openat, ENOENT)
               ? both()
               : 9;
}

static void without_the_call_they_are_taken_one_by_one(void) {
    CU_ASSERT_EQUAL(unit_in_child(on_linux_5_4), 0);
    CU_ASSERT_EQUAL(unit_in_child(under_a_filter), 0);
    CU_ASSERT_EQUAL(unit_in_child(without_a_list), 0);
}

UNIT_SUITE("common.file.descriptors", UNIT(all_from_a_number_on_are_taken),
           UNIT(without_the_call_they_are_taken_one_by_one))
