#include "common/system/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

/* A process may be started with closed standard streams, by a container runtime or by `>&-` in a
 * shell. Its next open(), such as of a socket or a checkpoint, would then get number 1, and every
 * printed line would go there. The loop opens until it gets a number above 2, which it closes
 * again. If open() fails altogether, what is closed stays closed. */
unsigned standard_streams_fill(void) {
    unsigned filled = 0; /* bit N: stream N was closed */
    int fd;
    /* If there is no /dev/null, a folder holds the place: it can be neither read nor written, and
     * whatever tries to gets an error instead of another file. */
    do {
        /* Not close-on-exec: children are to have the streams as well. With O_NOCTTY, what lies in
         * the place of /dev/null cannot become this process's controlling terminal. */
        fd = open("/dev/null", O_RDWR | O_NOCTTY);
        if (fd < 0)
            fd = open("/", O_RDONLY | O_DIRECTORY);
        if (fd >= 0 && fd <= STDERR_FILENO)
            filled |= 1U << fd;
    } while (fd >= 0 && fd <= STDERR_FILENO);
    /* This one was opened only to learn that all three are there, as open() takes the lowest free
     * number. */
    if (fd > STDERR_FILENO)
        (void)close(fd);
    return filled;
}
