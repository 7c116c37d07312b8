/* What the control link asks of TCP. Other sockets are left as they are, and answer no question. */
#ifndef ENTRYPOINT_WIRE_TCP_H
#define ENTRYPOINT_WIRE_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* A dead network is noticed by the kernel too, within about the time of our heartbeats. */
void tcp_tune(int fd);
/* How long data or keepalives may stay unacknowledged until TCP gives up. */
void tcp_set_silence(int fd, int64_t seconds);

/* It has not reached its peer yet. */
bool tcp_is_connecting(int fd);
/* The oldest data was tried several times without an answer: the peer, or the way to it, is silent.
 */
bool tcp_is_stuck(int fd);

#endif
