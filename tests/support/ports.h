/* TCP ports for tests that run side by side. */
#ifndef TESTS_SUPPORT_PORTS_H
#define TESTS_SUPPORT_PORTS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORTS_FIRST = 20000, PORTS_EACH = 120, PORTS_SHARES = 100 };

/* A name that one process of this network at a time has: the kernel takes it back when the process
 * ends, however it ends. */
static inline int ports_lease(unsigned share) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    /* The first byte stays 0: a name of the kernel's, no file. */
    int length = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "ringmaster-ports-%u", share);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (const struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Returns whether nothing listens on PORT, leased or not. */
static inline int ports_is_free(unsigned port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    int result = bind(fd, (const struct sockaddr *)&at, sizeof(at));
    (void)close(fd);
    return result == 0;
}

/* The first of PORTS_EACH ports, below those that the kernel gives away, which are this process's
 * and its children's until it ends; 0 where all are taken. */
static inline uint16_t ports_own(void) {
    static unsigned first;
    for (unsigned k = 0; k < PORTS_SHARES && first == 0; k++) {
        const unsigned share = ((unsigned)getpid() + k) % PORTS_SHARES;
        const unsigned port = PORTS_FIRST + share * PORTS_EACH;
        int lease = ports_lease(share);
        if (lease < 0)
            continue;
        if (ports_is_free(port))
            first = port;
        else
            (void)close(lease);
    }
    return (uint16_t)first;
}

/* Occupies PORT with a listener; -1 if it cannot. The caller closes it. */
static inline int ports_occupy(unsigned port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

#endif
