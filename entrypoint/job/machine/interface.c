#include "entrypoint/job/machine/interface.h"

#include "common/cleanup.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* An interface is chosen in this order: by the name that is configured, by the kernel's route to
 * another host, or, for a host alone, any that is up. A name that does not exist, or has no usable
 * address, is a warning, and the route decides.
 *
 * Only interfaces that are up and have an address count. Link-local addresses do not: they need an
 * interface beside them to be of use, and two hosts may have the same. */

/* The list may be NULL, which freeifaddrs() takes. */
static void cleanup_ifaddrs_at(struct ifaddrs **list) {
    freeifaddrs(*list);
}
#define cleanup_ifaddrs __attribute__((cleanup(cleanup_ifaddrs_at)))

/* Prefix bits of an IPv4 address in net_address's mapped form (common/net_address.h). */
enum { IPV4_MAPPED_BITS = 96 };

/* Returns true and the address if the interface may carry the job, in FAMILY (AF_UNSPEC: any).
 * Interfaces without an address, such as a bridge's ports, come with none. A name that is too long
 * for INTERFACE_NAME_SIZE cannot be one of Linux. */
static bool is_usable(const struct ifaddrs *i, int family, struct net_address *ret) {
    return i->ifa_addr != NULL && i->ifa_netmask != NULL && net_address_of(i->ifa_addr, ret) &&
           (family == AF_UNSPEC || i->ifa_addr->sa_family == family) &&
           !net_address_is_link_local(ret) && (i->ifa_flags & IFF_UP) != 0 &&
           strlen(i->ifa_name) < INTERFACE_NAME_SIZE;
}

/* The number of one bits in the mask, which is the length of the prefix. */
static unsigned bits_of(const struct sockaddr *netmask, bool ipv4) {
    struct net_address mask = {0};
    unsigned bits = 0;
    (void)net_address_of(netmask, &mask);
    /* An IPv4 mask has 96 bits before it in the mapped form, which are none of its own. */
    for (size_t i = ipv4 ? IPV4_MAPPED_BITS / 8 : 0; i < sizeof(mask.in6.s6_addr); i++)
        bits += (unsigned)__builtin_popcount(mask.in6.s6_addr[i]);
    return bits;
}

/* ADDRESS is the one of several that the interface may have. */
static void fill(const struct ifaddrs *i, const struct net_address *address,
                 struct interface *ret) {
    *ret = (struct interface){.address = *address};
    snprintf(ret->name, sizeof(ret->name), "%s", i->ifa_name);
    ret->prefix = bits_of(i->ifa_netmask, net_address_is_ipv4(address));
}

/* The kernel lists an interface once for each address: the first one that fits is taken. */
static bool find_by_name(const struct ifaddrs *list, const char *name, int family,
                         struct interface *ret) {
    struct net_address address;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (is_usable(i, family, &address) && strcmp(i->ifa_name, name) == 0) {
            fill(i, &address, ret);
            return true;
        }
    }
    return false;
}

/* Fails for an address that the interface has lost since. */
static bool find_by_address(const struct ifaddrs *list, const struct net_address *wanted,
                            struct interface *ret) {
    struct net_address address;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (is_usable(i, AF_UNSPEC, &address) && net_address_equal(&address, wanted)) {
            fill(i, &address, ret);
            return true;
        }
    }
    return false;
}

/* For a single host: finds any interface but the loopback, else the loopback. The loopback is
 * enough for the ranks of one host. */
static bool find_any(const struct ifaddrs *list, int family, struct interface *ret) {
    struct net_address address;
    bool found = false;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        bool loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
        if (!is_usable(i, family, &address) || (found && loopback))
            continue;
        fill(i, &address, ret);
        found = true;
        if (!loopback)
            break;
    }
    return found;
}

/* Finds the local address that the kernel's routes choose for packets to PEER. connect() on a
 * datagram socket sends nothing; it only makes the kernel choose a route, with the address that
 * packets would have. */
static int local_address(const struct net_address *peer, struct net_address *ret,
                         struct error *err) {
    /* Any port would do: nothing is sent. */
    enum { DISCARD_PORT = 9 };
    struct sockaddr_storage address;
    socklen_t size = net_address_socket(peer, DISCARD_PORT, &address);
    cleanup_fd int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[NET_ADDRESS_TEXT];
    net_address_text(peer, text);
    /* Fails at once if the kernel has no route, such as for IPv6 without an address. */
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "no route to %s", text);
    (void)net_address_of((struct sockaddr *)&address, ret);
    return 0;
}

/* PEER is NULL for a host alone, which takes IPv4 if it has any. */
static int find_routed(const struct ifaddrs *list, const struct net_address *peer,
                       struct interface *ret, struct error *err) {
    struct net_address address = {0};
    char text[NET_ADDRESS_TEXT];
    if (peer == NULL) {
        if (!find_any(list, AF_INET, ret) && !find_any(list, AF_INET6, ret))
            return error_set(
                err, EXIT_CODE_CONFIG,
                "no network interface is up with an address; expected one beside the loopback");
        return 0;
    }
    if (local_address(peer, &address, err) != 0)
        return -1;
    net_address_text(&address, text);
    if (!find_by_address(list, &address, ret))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "no interface has the address %s, from which the kernel reaches the other hosts", text);
    return 0;
}

/* Only an address of the peer's family is of use to reach it. */
static bool find_configured(const struct ifaddrs *list, const char *name,
                            const struct net_address *peer, struct interface *ret) {
    if (peer == NULL)
        return find_by_name(list, name, AF_INET, ret) || find_by_name(list, name, AF_INET6, ret);
    return find_by_name(list, name, net_address_is_ipv4(peer) ? AF_INET : AF_INET6, ret);
}

/* Words for the warning: what the interface lacks. */
static const char *family_name(const struct net_address *peer) {
    return peer == NULL ? "an address" : net_address_is_ipv4(peer) ? "IPv4" : "IPv6";
}

/* The list of the kernel is read anew at each call, as interfaces may come up late. WARNING is ""
 * if there is nothing to say. */
int interface_choose(const char *configured, const struct net_address *peer, struct interface *ret,
                     char warning[INTERFACE_WARNING_SIZE], struct error *err) {
    warning[0] = '\0';
    cleanup_ifaddrs struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listing the network interfaces");
    bool wanted = configured != NULL && configured[0] != '\0';
    if (wanted && find_configured(list, configured, peer, ret))
        return 0;
    if (find_routed(list, peer, ret, err) != 0)
        return -1;
    /* The route has decided in place of the configuration, and the user should learn of it. */
    if (wanted)
        snprintf(warning, INTERFACE_WARNING_SIZE,
                 "the configured network interface %s is missing, or not up with %s; using %s, %s",
                 configured, family_name(peer), ret->name,
                 peer != NULL ? "which leads to the other hosts" : "as this host is alone");
    return 0;
}

/* The network in the form 10.0.0.0/16: host bits are cleared. */
void interface_cidr(const struct interface *i, char text[INTERFACE_TEXT_SIZE]) {
    struct net_address network = i->address;
    unsigned bits = net_address_is_ipv4(&network) ? IPV4_MAPPED_BITS + i->prefix : i->prefix;
    char address[NET_ADDRESS_TEXT];
    for (unsigned bit = bits; bit < 8 * sizeof(network.in6.s6_addr); bit++)
        network.in6.s6_addr[bit / 8] &= (uint8_t) ~(0x80U >> bit % 8);
    net_address_text(&network, address);
    snprintf(text, INTERFACE_TEXT_SIZE, "%s/%u", address, i->prefix);
}

int interface_check_name(const char *name, struct error *err) {
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (name[0] == '\0' || name[0] == '-' || name[good] != '\0' || good >= INTERFACE_NAME_SIZE ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is not the name of a network interface",
                         name);
    return 0;
}
