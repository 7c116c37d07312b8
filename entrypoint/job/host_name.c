#include "job/host_name.h"

#include "common/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_label(const char *text, size_t size) {
    if (size == 0 || size > HOST_LABEL_MAX || text[0] == '-' || text[size - 1] == '-')
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-')
            return false;
    }
    return true;
}

/* Labels with a dot between. A name whose last label is a number would be taken for an address by
 * every resolver, so it must be one. */
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

bool host_name_is_ipv6(const char *text, size_t size) {
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr parsed;
    if (size > 0 && text[0] == '[') {
        text++;
        size--;
    }
    for (size_t i = 0; i < size; i++)
        if (text[i] == ']' || text[i] == '%')
            size = i;
    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    return inet_pton(AF_INET6, address, &parsed) == 1;
}

int host_name_parse(const char *text, size_t size, struct host_name *ret, struct error *err) {
    int shown = size < 64 ? (int)size : 64;
    if (size == 0)
        return error_set(err, EXIT_CODE_CONFIG, "a host name is empty");
    if (size >= HOST_NAME_SIZE)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the host name \"%.*s...\" has %zu bytes; %d are "
                         "the most",
                         shown, text, size, HOST_NAME_SIZE - 1);
    if (host_name_is_ipv6(text, size))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "\"%.*s\" is an IPv6 address, and IPv6 is not supported: list names or IPv4 "
            "addresses",
            shown, text);
    struct host_name name = {0};
    memcpy(name.text, text, size);
    if (strlen(name.text) != size || !is_name(name.text))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"%.*s\" is not a host name (letters, digits, '-' inside, dots between) "
                         "or IPv4 address",
                         shown, text);
    *ret = name;
    return 0;
}

bool host_name_equal(const struct host_name *a, const struct host_name *b) {
    return strcasecmp(a->text, b->text) == 0;
}

int host_name_compare(const struct host_name *a, const struct host_name *b) {
    return str_compare_natural(a->text, b->text);
}
