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

/* A whole text, "10.0.0.1" or "fd00::1", without brackets or a zone. RET is zeroed on failure. */
bool net_address_parse(const char *text, struct net_address *ret);

/* What PARSE reads; IPv6 in its canonical form. No address: "0.0.0.0". */
void net_address_text(const struct net_address *a, char text[NET_ADDRESS_TEXT]);

/* False, and RET zeroed, for another family's. */
bool net_address_of(const struct sockaddr *socket, struct net_address *ret);

/* For connect() and bind(), with the size that they want; RET's family is that of A. */
socklen_t net_address_socket(const struct net_address *a, uint16_t port,
                             struct sockaddr_storage *ret);

bool net_address_equal(const struct net_address *a, const struct net_address *b);

/* Neither zeroed nor 0.0.0.0. */
bool net_address_is_set(const struct net_address *a);

bool net_address_is_ipv4(const struct net_address *a);

/* An IPv6 address that means a host only together with an interface (fe80::). */
bool net_address_is_link_local(const struct net_address *a);

#endif
