/* TCP options and state of the control link. Other sockets are left unchanged, and queries about
 * them return false. */
#ifndef ENTRYPOINT_WIRE_TCP_H
#define ENTRYPOINT_WIRE_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the kernel notice a dead network within about the time of our heartbeats. */
void tcp_tune(int fd);
/* Sets how long data or keepalives may stay unacknowledged until TCP gives up. */
void tcp_set_silence(int fd, int64_t seconds);

/* Returns true if the socket has not reached its peer yet. */
bool tcp_is_connecting(int fd);
/* The oldest data was tried several times without an answer: the peer, or the way to it, is silent.
 */
bool tcp_is_stuck(int fd);

#endif
