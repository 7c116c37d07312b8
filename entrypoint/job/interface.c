#include "job/interface.h"

#include "common/cleanup.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void cleanup_ifaddrs_at(struct ifaddrs **list) {
    freeifaddrs(*list);
}
#define cleanup_ifaddrs __attribute__((cleanup(cleanup_ifaddrs_at)))

static struct in_addr ipv4_of(const struct sockaddr *address) {
    struct sockaddr_in in;
    memcpy(&in, address, sizeof(in));
    return in.sin_addr;
}

static bool is_usable(const struct ifaddrs *i) {
    return i->ifa_addr != NULL && i->ifa_netmask != NULL && i->ifa_addr->sa_family == AF_INET &&
           (i->ifa_flags & IFF_UP) != 0 && strlen(i->ifa_name) < INTERFACE_NAME_SIZE;
}

static void fill(const struct ifaddrs *i, struct interface *ret) {
    *ret = (struct interface){.address = ipv4_of(i->ifa_addr)};
    snprintf(ret->name, sizeof(ret->name), "%s", i->ifa_name);
    ret->prefix = (unsigned)__builtin_popcount(ipv4_of(i->ifa_netmask).s_addr);
}

static bool find_by_name(const struct ifaddrs *list, const char *name, struct interface *ret) {
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (is_usable(i) && strcmp(i->ifa_name, name) == 0) {
            fill(i, ret);
            return true;
        }
    }
    return false;
}

static bool find_by_address(const struct ifaddrs *list, struct in_addr address,
                            struct interface *ret) {
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (is_usable(i) && ipv4_of(i->ifa_addr).s_addr == address.s_addr) {
            fill(i, ret);
            return true;
        }
    }
    return false;
}

/* For a host alone: whatever is not the loopback, else the loopback. */
static bool find_any(const struct ifaddrs *list, struct interface *ret) {
    bool found = false;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        bool loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
        if (!is_usable(i) || (found && loopback))
            continue;
        fill(i, ret);
        found = true;
        if (!loopback)
            break;
    }
    return found;
}

/* The local address that the kernel's routes give to packets for PEER. */
static int local_address(struct in_addr peer, struct in_addr *ret, struct error *err) {
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = peer};
    socklen_t size = sizeof(address);
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &peer, text, sizeof(text));
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "no route to %s", text);
    *ret = address.sin_addr;
    return 0;
}

static int find_routed(const struct ifaddrs *list, const struct in_addr *peer,
                       struct interface *ret, struct error *err) {
    struct in_addr address = {0};
    if (peer == NULL) {
        if (!find_any(list, ret))
            return error_set(err, EXIT_CODE_CONFIG, "no network interface is up with IPv4");
        return 0;
    }
    if (local_address(*peer, &address, err) != 0)
        return -1;
    if (!find_by_address(list, address, ret))
        return error_set(err, EXIT_CODE_CONFIG, "no interface has this host's routed address");
    return 0;
}

int interface_choose(const char *configured, const struct in_addr *peer, struct interface *ret,
                     char warning[INTERFACE_WARNING_SIZE], struct error *err) {
    warning[0] = '\0';
    cleanup_ifaddrs struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listing the network interfaces");
    bool wanted = configured != NULL && configured[0] != '\0';
    if (wanted && find_by_name(list, configured, ret))
        return 0;
    if (find_routed(list, peer, ret, err) != 0)
        return -1;
    if (wanted)
        snprintf(
            warning, INTERFACE_WARNING_SIZE,
            "the configured network interface %s is not there, or not up with IPv4; taking %s, "
            "%s",
            configured, ret->name,
            peer != NULL ? "which leads to the other hosts" : "as this host is alone");
    return 0;
}

void interface_address(const struct interface *i, char text[INTERFACE_TEXT_SIZE]) {
    inet_ntop(AF_INET, &i->address, text, INTERFACE_TEXT_SIZE);
}

void interface_cidr(const struct interface *i, char text[INTERFACE_TEXT_SIZE]) {
    uint32_t mask = i->prefix == 0 ? 0 : htonl(UINT32_MAX << (32 - i->prefix));
    struct in_addr network = {i->address.s_addr & mask};
    char address[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &network, address, sizeof(address));
    snprintf(text, INTERFACE_TEXT_SIZE, "%s/%u", address, i->prefix % 33);
}

int interface_check_name(const char *name, struct error *err) {
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (name[0] == '\0' || name[0] == '-' || name[good] != '\0' || good >= INTERFACE_NAME_SIZE ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is not the name of a network interface",
                         name);
    return 0;
}
