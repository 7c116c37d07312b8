#include "common/system/standard_streams.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0: files opened afterwards get descriptors from 3 on, which are not standard streams, and 1 and 2
 * take what is written. Another number says what is wrong. */
static int fill(unsigned closed) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if ((closed & 1U << fd) != 0 && close(fd) != 0)
            return 1;
    if (standard_streams_fill() != closed)
        return 2;
    int next = open("/dev/null", O_RDONLY);
    if (next <= STDERR_FILENO)
        return 3;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) != 0) /* there, and programs that are started have it */
            return 4;
    char byte = 'x';
    if ((closed & 1U) != 0 && read(0, &byte, 1) != 0)
        return 5;
    return (closed & 2U) != 0 && write(1, &byte, 1) != 1 ? 6 : 0;
}

static void closed_standard_streams_are_filled(void) {
    for (unsigned closed = 0; closed < 8; closed++) {
        pid_t child = fork();
        if (child == 0)
            _exit(fill(closed));
        int status = 0;
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(status, 0);
    }
}

UNIT_SUITE("common.standard_streams", UNIT(closed_standard_streams_are_filled))
