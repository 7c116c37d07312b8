#include "entrypoint/wire/passed_fds.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static int carried[2];

static void set_up(void) {
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(carried), 0);
}

static void tear_down(void) {
    for (int i = 0; i < 2; i++) {
        (void)close(ends[i]);
        (void)close(carried[i]);
    }
}

static void descriptors_come_with_their_bytes_in_order(void) {
    int fds[PASSED_FDS_MAX];
    size_t count = 0;
    char bytes[8] = "";
    set_up();
    CU_ASSERT_EQUAL(passed_fds_send(ends[0], "abc", 3, carried, 2, 0), 3);
    CU_ASSERT_EQUAL(passed_fds_receive(ends[1], bytes, sizeof(bytes), fds, &count), 3);
    CU_ASSERT_STRING_EQUAL(bytes, "abc");
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_EQUAL(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    CU_ASSERT_EQUAL(write(fds[1], "y", 1), 1);
    CU_ASSERT_EQUAL(read(fds[0], bytes, 1), 1);
    CU_ASSERT_EQUAL(bytes[0], 'y');
    (void)close(fds[0]);
    (void)close(fds[1]);
    tear_down();
}

static void those_without_room_are_closed(void) {
    int fds[PASSED_FDS_MAX];
    size_t count = PASSED_FDS_MAX - 1;
    char byte;
    set_up();
    CU_ASSERT_EQUAL(passed_fds_send(ends[0], "a", 1, (const int[]){carried[0], carried[1]}, 2, 0),
                    1);
    CU_ASSERT_EQUAL(passed_fds_receive(ends[1], &byte, 1, fds, &count), 1);
    CU_ASSERT_EQUAL(count, PASSED_FDS_MAX);
    (void)close(carried[1]); /* the last copy, unless one was kept */
    CU_ASSERT_EQUAL(read(fds[PASSED_FDS_MAX - 1], &byte, 1), 0);
    (void)close(fds[PASSED_FDS_MAX - 1]);
    carried[1] = -1;
    tear_down();
}

static void nothing_is_waited_for(void) {
    int fds[PASSED_FDS_MAX];
    size_t count = 0;
    char byte;
    set_up();
    CU_ASSERT_EQUAL(passed_fds_receive(ends[1], &byte, 1, fds, &count), -1);
    CU_ASSERT_EQUAL(errno, EAGAIN);
    CU_ASSERT_EQUAL(count, 0);
    tear_down();
}

UNIT_SUITE("wire.passed_fds", UNIT(descriptors_come_with_their_bytes_in_order),
           UNIT(those_without_room_are_closed), UNIT(nothing_is_waited_for))
