/* TCP sockets of a rank: nonblocking, closed on exec, without delay for small messages. Every call
 * returns by its deadline (clock.h). */
#ifndef COMMON_NET_TCP_SOCKET_H
#define COMMON_NET_TCP_SOCKET_H

#include "common/error.h"
#include "common/net_address.h"

#include <stddef.h>
#include <stdint.h>

/* Looks NAME up, a host name or an address; the first one found. May wait for the resolver. */
int tcp_socket_resolve(const char *name, struct net_address *ret, struct error *err);

/* Listens at ADDRESS and PORT (0: a free one, in *RET_PORT). Returns the socket, -1 on error. */
int tcp_socket_listen(const struct net_address *address, uint16_t port, uint16_t *ret_port,
                      struct error *err);

/* Connects once. Returns the socket, -1 on error. */
int tcp_socket_dial(const struct net_address *address, uint16_t port, int64_t deadline,
                    struct error *err);

/* Returns the next connection with its peer's address, -1 if there is none now. */
int tcp_socket_accept(int listener, struct net_address *ret);

/* The address of this end of a connection. */
int tcp_socket_own(int fd, struct net_address *ret, struct error *err);

/* Read and write SIZE bytes. The end of the stream before that is an error, with os_errno 0. */
int tcp_socket_read(int fd, void *bytes, size_t size, int64_t deadline, struct error *err);
int tcp_socket_write(int fd, const void *bytes, size_t size, int64_t deadline, struct error *err);

#endif
