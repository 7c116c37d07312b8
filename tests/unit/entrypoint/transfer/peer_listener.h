/* Listener on the loopback for a host that passes files on. Its address is a URL. */
#ifndef TESTS_UNIT_ENTRYPOINT_TRANSFER_PEER_LISTENER_H
#define TESTS_UNIT_ENTRYPOINT_TRANSFER_PEER_LISTENER_H

#include "tests/support/unit.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

enum { PEER_URL_SIZE = 64 };

static inline int peer_listener(char url[PEER_URL_SIZE]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, size) | listen(fd, 16) |
                              getsockname(fd, (struct sockaddr *)&at, &size),
                          0);
    (void)snprintf(url, PEER_URL_SIZE, "https://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
    return fd;
}

#endif
