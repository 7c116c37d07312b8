#include "entrypoint/wire/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { STUCK_TRIES = 2 };

void tcp_tune(int fd) {
    int one = 1;
    int idle = 5;
    int interval = 2;
    int probes = 3;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    /* a handshake during an outage is retried at even intervals until it counts as stuck */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

void tcp_set_silence(int fd, int64_t seconds) {
    unsigned silence = (unsigned)(seconds * 1000);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof(silence));
}

static struct tcp_info info_of(int fd) {
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        info = (struct tcp_info){0};
    return info;
}

bool tcp_is_connecting(int fd) {
    return info_of(fd).tcpi_state == TCP_SYN_SENT;
}

/* Data that a firewall of this host drops was never sent: TCP then probes, at doubling intervals.
 * Probes of a peer without room are answered and do not add up. */
bool tcp_is_stuck(int fd) {
    const struct tcp_info info = info_of(fd);
    return info.tcpi_retransmits >= STUCK_TRIES || info.tcpi_probes >= STUCK_TRIES;
}
