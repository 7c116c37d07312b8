#include "entrypoint/job/ports.h"

#include "common/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/socket.h>

int ports_plan(int64_t port, unsigned most_slots, struct ports *ret, struct error *err) {
    int64_t data_count = (int64_t)most_slots * PORTS_DATA_PER_SLOT;
    if (data_count < PORTS_DATA_LEAST)
        data_count = PORTS_DATA_LEAST;
    int64_t last = port + PORTS_DATA_OFFSET + data_count - 1;
    if (port < PORTS_LOWEST || last > UINT16_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_PORT: %" PRId64 " leaves no room: ports %" PRId64 " to "
                         "%" PRId64 " are needed, between %d and %d",
                         port, port, last, PORTS_LOWEST, UINT16_MAX);
    *ret = (struct ports){
        .control = (uint16_t)port,
        .daemons_v4 = (uint16_t)(port + 1),
        .daemons_v6 = (uint16_t)(port + 2),
        .master = (uint16_t)(port + 3),
        .passing = (uint16_t)(port + 4),
        .coordinator = (uint16_t)(port + 5),
        .data = (uint16_t)(port + PORTS_DATA_OFFSET),
        .data_count = (uint16_t)data_count,
        .data_needed = (uint16_t)most_slots,
    };
    return 0;
}

/* Tests whether a port is free. With REUSE, as our listeners do, ports in TIME_WAIT are free; Open
 * MPI binds its data ports without it. On a machine without IPv6 all its IPv6 ports are free. */
static bool can_listen(int family, uint16_t port, bool reuse) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    cleanup_fd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT;
    int yes = 1;
    if (reuse)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
    int bound = family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
                                  : bind(fd, (struct sockaddr *)&v6, sizeof(v6));
    if (bound == 0 && listen(fd, 1) == 0)
        return true;
    return errno == EADDRNOTAVAIL;
}

int port_check_free(uint16_t port, const char *what, struct error *err) {
    if (can_listen(AF_INET, port, true) && can_listen(AF_INET6, port, true))
        return 0;
    return error_set_errno(err, EXIT_CODE_CONFIG,
                           "port %u for %s (RINGMASTER_PORT moves it) cannot be used",
                           (unsigned)port, what);
}

static int check_data(const struct ports *ports, struct error *err) {
    unsigned last = (unsigned)ports->data + ports->data_count - 1;
    unsigned good = 0;
    for (unsigned port = ports->data; port <= last && good < ports->data_needed; port++)
        if (can_listen(AF_INET, (uint16_t)port, false) &&
            can_listen(AF_INET6, (uint16_t)port, false))
            good++;
    if (good == ports->data_needed)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "of the ports %u to %u for MPI data (RINGMASTER_PORT moves them) %u are free; "
                     "%u are needed",
                     (unsigned)ports->data, last, good, (unsigned)ports->data_needed);
}

int ports_check_free(const struct ports *ports, bool mpi, struct error *err) {
    if (port_check_free(ports->master, "MASTER_PORT", err) != 0)
        return -1;
    if (!mpi)
        return 0;
    if (port_check_free(ports->daemons_v4, "Open MPI's daemons", err) != 0 ||
        port_check_free(ports->daemons_v6, "Open MPI's daemons", err) != 0)
        return -1;
    return check_data(ports, err);
}
