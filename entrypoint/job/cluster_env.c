#include "job/cluster_env.h"

#include "common/cleanup.h"
#include "common/str.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

static void add_addresses(const struct ifaddrs *list, struct own_names *ret) {
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET)
            continue;
        if (ret->count == CLUSTER_ENV_NAMES_MAX)
            return;
        struct sockaddr_in address;
        memcpy(&address, i->ifa_addr, sizeof(address));
        inet_ntop(AF_INET, &address.sin_addr, ret->names[ret->count].text, HOST_NAME_SIZE);
        ret->count++;
    }
}

int own_names_read(struct own_names *ret, struct error *err) {
    *ret = (struct own_names){0};
    struct utsname kernel;
    if (uname(&kernel) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "reading the kernel's host name");
    if (host_name_parse(kernel.nodename, strlen(kernel.nodename), &ret->names[0], NULL) == 0) {
        ret->has_kernel_name = true;
        ret->count = 1;
    }
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listing the network interfaces");
    add_addresses(list, ret);
    freeifaddrs(list);
    return 0;
}

static bool is_address(const struct host_name *name) {
    struct in_addr address;
    return inet_pton(AF_INET, name->text, &address) == 1;
}

/* Whole names, or first labels when one of both has no more than that: node1 is
 * node1.example.com. */
static bool is_same_host(const struct host_name *a, const struct host_name *b) {
    if (host_name_equal(a, b))
        return true;
    if (is_address(a) || is_address(b))
        return false;
    size_t a_label = strcspn(a->text, ".");
    size_t b_label = strcspn(b->text, ".");
    bool short_form = a->text[a_label] == '\0' || b->text[b_label] == '\0';
    return short_form && a_label == b_label && strncasecmp(a->text, b->text, a_label) == 0;
}

static bool is_own(const struct host_name *name, const struct own_names *own) {
    for (size_t i = 0; i < own->count; i++)
        if (is_same_host(name, &own->names[i]))
            return true;
    return false;
}

static int find_self(const struct cluster *c, const struct own_names *own, struct host_name *ret,
                     struct error *err) {
    size_t found = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (is_own(&c->hosts[i].name, own)) {
            *ret = c->hosts[i].name;
            found++;
        }
    }
    if (found == 1)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "RINGMASTER_HOSTS: %s of its hosts has this machine's name or address; set "
                     "RINGMASTER_HOST to the one that this is",
                     found == 0 ? "none" : "more than one");
}

/* One "name" or "name:slots" of SIZE bytes. */
static int parse_host(const char *text, size_t size, struct cluster *ret, struct error *err) {
    bool ipv6 = host_name_is_ipv6(text, size);
    const char *colon = ipv6 ? NULL : memchr(text, ':', size);
    size_t name_size = colon != NULL ? (size_t)(colon - text) : size;
    struct host_name name;
    if (host_name_parse(text, name_size, &name, err) != 0)
        return -1;
    int64_t slots = 0;
    if (colon != NULL) {
        cleanup_free char *number = strndup(colon + 1, size - name_size - 1);
        if (number == NULL)
            return error_no_memory(err, "a number of slots");
        if (str_parse_int(number, 1, CLUSTER_SLOTS_MAX, &slots, err) != 0)
            return error_wrap(err, "the slots of \"%s\"", name.text);
    }
    return cluster_add(ret, &name, (unsigned)slots, err);
}

static int parse_list(const char *hosts, struct cluster *ret, struct error *err) {
    for (const char *at = hosts;;) {
        size_t size = strcspn(at, ",");
        if (parse_host(at, size, ret, err) != 0)
            return error_wrap(err, "RINGMASTER_HOSTS");
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

int cluster_env_parse(const char *hosts, const char *host, const struct own_names *own,
                      struct cluster *ret, struct error *err) {
    ret->source = CLUSTER_ENVIRONMENT;
    if (parse_list(hosts, ret, err) != 0)
        return -1;
    struct host_name self;
    if (host == NULL && find_self(ret, own, &self, err) != 0)
        return -1;
    if (host != NULL && host_name_parse(host, strlen(host), &self, err) != 0)
        return error_wrap(err, "RINGMASTER_HOST");
    if (cluster_finish(ret, &self, err) != 0)
        return error_wrap(err, host != NULL ? "RINGMASTER_HOST" : "RINGMASTER_HOSTS");
    return 0;
}
