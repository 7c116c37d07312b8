#include "common/slots/slot_address.h"

#include "common/cleanup.h"
#include "common/net/look_up.h"
#include "common/net_address.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Any port: a datagram socket that is connected only chooses a route. */
#define ANY_PORT "9"

static int route(const struct addrinfo *to, char *ret, size_t size) {
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    struct net_address address;
    char text[NET_ADDRESS_TEXT];
    cleanup_fd int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &length) != 0 ||
        !net_address_of((const struct sockaddr *)&own, &address))
        return -1;
    net_address_text(&address, text);
    (void)snprintf(ret, size, "%s", text);
    return 0;
}

void slot_address_own(const char *master, char *ret, size_t size) {
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    int found = -1;
    if (master != NULL && master[0] != '\0' && look_up_name(master, ANY_PORT, &hints, &list) == 0) {
        for (const struct addrinfo *a = list; a != NULL && found != 0; a = a->ai_next)
            found = route(a, ret, size);
        freeaddrinfo(list);
    }
    if (found == 0)
        return;
    (void)gethostname(ret, size - 1);
    ret[size - 1] = '\0';
}

/* IPv4 and IPv6 share a port's number in most cases; the mesh listens where its address says. */
int slot_address_port(struct error *err) {
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t length = sizeof(any);
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&any, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&any, &length) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "looking for a free port");
    return ntohs(any.sin_port);
}
