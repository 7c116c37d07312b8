#include "entrypoint/job/cluster/local_names.h"

#include "common/net_address.h"

#include <ifaddrs.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

static void add_addresses(const struct ifaddrs *list, struct local_names *ret) {
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        struct net_address address;
        if (i->ifa_addr == NULL || !net_address_of(i->ifa_addr, &address))
            continue;
        if (ret->count == LOCAL_NAMES_MAX)
            return;
        net_address_text(&address, ret->names[ret->count++].text);
    }
}

int local_names_read(struct local_names *ret, struct error *err) {
    *ret = (struct local_names){0};
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
    struct net_address address;
    return net_address_parse(name->text, &address);
}

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

bool local_names_has(const struct local_names *own, const struct host_name *name) {
    for (size_t i = 0; i < own->count; i++)
        if (is_same_host(name, &own->names[i]))
            return true;
    return false;
}

const char *local_names_text(const struct local_names *own, char ret[static HOST_NAME_LIST_SIZE]) {
    ret[0] = '\0';
    for (size_t i = 0; i < own->count; i++)
        host_name_list(ret, HOST_NAME_LIST_SIZE, &own->names[i]);
    return ret;
}
