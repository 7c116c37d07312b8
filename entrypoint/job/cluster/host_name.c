#include "entrypoint/job/cluster/host_name.h"

#include "common/net_address.h"
#include "common/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_label(const char *text, size_t size) {
    if (size == 0 || size > HOST_LABEL_MAX || text[0] == '-' || text[size - 1] == '-')
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return true;
}

/* Returns true for labels separated by dots. If the last label is a number, resolvers take the
 * whole for an address, so it must then be one. */
static bool is_name(const char *text) {
    const char *label = text;
    for (;;) {
        size_t size = strcspn(label, ".");
        if (!is_label(label, size))
            return false;
        if (label[size] == '\0')
            break;
        label += size + 1;
    }
    struct in_addr address;
    return label[strspn(label, "0123456789")] != '\0' || inet_pton(AF_INET, text, &address) == 1;
}

size_t host_name_extent(const char *text, size_t size) {
    const char *end = NULL;
    const char *colon = memchr(text, ':', size);
    if (size > 0 && text[0] == '[')
        end = memchr(text, ']', size);
    if (end != NULL && (end + 1 == text + size || end[1] == ':'))
        return (size_t)(end + 1 - text);
    if (end != NULL)
        return size;
    bool again = colon != NULL && memchr(colon + 1, ':', size - (size_t)(colon + 1 - text)) != NULL;
    return colon == NULL || again ? size : (size_t)(colon - text);
}

/* Parses an IPv6 address of SIZE bytes, in brackets or not. Returns false for anything else. */
static bool take_ipv6(const char *text, size_t size, struct net_address *ret) {
    char address[NET_ADDRESS_TEXT] = "";
    if (size > 1 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    if (size >= sizeof(address) || memchr(text, ':', size) == NULL)
        return false;
    memcpy(address, text, size);
    return strlen(address) == size && net_address_parse(address, ret);
}

int host_name_parse(const char *text, size_t size, struct host_name *ret, struct error *err) {
    int shown = size < 64 ? (int)size : 64;
    if (size == 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "a host name is empty; expected a name or an IP address");
    if (size >= HOST_NAME_SIZE)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the host name \"%.*s...\" has %zu bytes; %d are "
                         "the most",
                         shown, text, size, HOST_NAME_SIZE - 1);
    struct host_name name = {0};
    struct net_address address;
    if (take_ipv6(text, size, &address)) {
        if (net_address_is_link_local(&address))
            return error_set(err, EXIT_CODE_CONFIG,
                             "\"%.*s\" is a link-local address, which other hosts cannot use: list "
                             "names or other addresses",
                             shown, text);
        net_address_text(&address, name.text);
        *ret = name;
        return 0;
    }
    memcpy(name.text, text, size);
    if (strlen(name.text) != size || !is_name(name.text))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"%.*s\" is not a host name (letters, digits, '_', '-' inside, dots "
                         "between) or IP address",
                         shown, text);
    *ret = name;
    return 0;
}

void host_name_list(char *ret, size_t size, const struct host_name *name) {
    static const char more[] = ", ...";
    size_t used = strlen(ret);
    bool full = used >= strlen(more) && strcmp(ret + used - strlen(more), more) == 0;
    bool fits = used + strlen(name->text) + strlen(", ") + sizeof(more) <= size;
    if (fits && !full)
        (void)snprintf(ret + used, size - used, "%s%s", used > 0 ? ", " : "", name->text);
    else if (!full && used > 0)
        (void)snprintf(ret + used, size - used, "%s", more);
}

bool host_name_equal(const struct host_name *a, const struct host_name *b) {
    return strcasecmp(a->text, b->text) == 0;
}

int host_name_compare(const struct host_name *a, const struct host_name *b) {
    return str_compare_natural(a->text, b->text);
}
