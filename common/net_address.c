#include "common/net_address.h"

#include <arpa/inet.h>
#include <string.h>

enum { IPV4_AT = 12 };

static struct net_address mapped(struct in_addr in) {
    struct net_address a = {.in6.s6_addr = {[10] = 0xFF, [11] = 0xFF}};
    memcpy(a.in6.s6_addr + IPV4_AT, &in, sizeof(in));
    return a;
}

static struct in_addr unmapped(const struct net_address *a) {
    struct in_addr in;
    memcpy(&in, a->in6.s6_addr + IPV4_AT, sizeof(in));
    return in;
}

bool net_address_parse(const char *text, struct net_address *ret) {
    struct in_addr in;
    *ret = (struct net_address){0};
    if (inet_pton(AF_INET, text, &in) == 1) {
        *ret = mapped(in);
        return true;
    }
    return inet_pton(AF_INET6, text, &ret->in6) == 1;
}

void net_address_text(const struct net_address *a, char text[NET_ADDRESS_TEXT]) {
    struct in_addr in = unmapped(a);
    if (net_address_is_ipv4(a) || !net_address_is_set(a))
        (void)inet_ntop(AF_INET, &in, text, NET_ADDRESS_TEXT);
    else
        (void)inet_ntop(AF_INET6, &a->in6, text, NET_ADDRESS_TEXT);
}

bool net_address_of(const struct sockaddr *socket, struct net_address *ret) {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *ret = (struct net_address){0};
    if (socket->sa_family == AF_INET) {
        memcpy(&v4, socket, sizeof(v4));
        *ret = mapped(v4.sin_addr);
    } else if (socket->sa_family == AF_INET6) {
        memcpy(&v6, socket, sizeof(v6));
        ret->in6 = v6.sin6_addr;
    }
    return socket->sa_family == AF_INET || socket->sa_family == AF_INET6;
}

socklen_t net_address_socket(const struct net_address *a, uint16_t port,
                             struct sockaddr_storage *ret) {
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = unmapped(a)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = a->in6};
    bool is_v4 = net_address_is_ipv4(a);
    *ret = (struct sockaddr_storage){0};
    memcpy(ret, is_v4 ? (void *)&v4 : (void *)&v6, is_v4 ? sizeof(v4) : sizeof(v6));
    return is_v4 ? sizeof(v4) : sizeof(v6);
}

bool net_address_equal(const struct net_address *a, const struct net_address *b) {
    return IN6_ARE_ADDR_EQUAL(&a->in6, &b->in6);
}

bool net_address_is_set(const struct net_address *a) {
    return net_address_is_ipv4(a) ? unmapped(a).s_addr != 0 : !IN6_IS_ADDR_UNSPECIFIED(&a->in6);
}

bool net_address_is_ipv4(const struct net_address *a) {
    return IN6_IS_ADDR_V4MAPPED(&a->in6);
}

bool net_address_is_link_local(const struct net_address *a) {
    return IN6_IS_ADDR_LINKLOCAL(&a->in6);
}
