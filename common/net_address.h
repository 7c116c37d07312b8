/* IPv4 or IPv6 address of a host, as one type.
 *
 * IPv4 is held as ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2), as a listener of both families sees
 * it. A zeroed value is no address. */
#ifndef COMMON_NET_ADDRESS_H
#define COMMON_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NET_ADDRESS_TEXT = INET6_ADDRSTRLEN };

struct net_address {
    struct in6_addr in6;
};

/* Parses a complete text, "10.0.0.1" or "fd00::1", without brackets or a zone. RET is zeroed on
 * failure. */
bool net_address_parse(const char *text, struct net_address *ret);

/* Writes the address as net_address_parse reads it, IPv6 in its canonical form; "0.0.0.0" for no
 * address. */
void net_address_text(const struct net_address *a, char text[NET_ADDRESS_TEXT]);

/* Returns false and zeroes RET if the socket address belongs to another family. */
bool net_address_of(const struct sockaddr *socket, struct net_address *ret);

/* Fills RET for connect() and bind() and returns its size; its family is that of A. */
socklen_t net_address_socket(const struct net_address *a, uint16_t port,
                             struct sockaddr_storage *ret);

bool net_address_equal(const struct net_address *a, const struct net_address *b);

/* Returns true if A is neither zeroed nor 0.0.0.0. */
bool net_address_is_set(const struct net_address *a);

bool net_address_is_ipv4(const struct net_address *a);

/* Returns true for an IPv6 address that identifies a host only together with an interface (fe80::).
 */
bool net_address_is_link_local(const struct net_address *a);

#endif
