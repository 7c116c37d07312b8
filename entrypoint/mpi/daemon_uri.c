#include "entrypoint/mpi/daemon_uri.h"

#include "common/str.h"
#include "entrypoint/mpi/shell_words.h"

#include <string.h>

static int refuse(const char *uri, const char *why, struct error *err) {
    return shell_words_refuse(uri, strlen(uri), why, err);
}

/* The index of ADDRESS in the comma-separated list of SIZE bytes at TEXT; -1 if it is missing or if
 * anything in the list is not an address. */
static int find_address(const char *text, size_t size, const struct net_address *address) {
    int found = -1;
    const char *end = text + size;
    for (int index = 0; text <= end; index++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t length = (size_t)((comma != NULL ? comma : end) - text);
        char one[NET_ADDRESS_TEXT] = {0};
        struct net_address parsed;
        if (length >= sizeof(one))
            return -1;
        memcpy(one, text, length);
        if (!net_address_parse(one, &parsed))
            return -1;
        if (net_address_equal(&parsed, address) && found < 0)
            found = index;
        text += length + 1;
    }
    return found;
}

/* The number at INDEX of the comma-separated list TEXT, or the last one if the list is shorter (one
 * port then serves all addresses). -1 if it is not a number. */
static int64_t number_at(const char *text, size_t size, int index) {
    const char *end = text + size;
    for (; index > 0; index--) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        if (comma == NULL)
            break;
        text = comma + 1;
    }
    char one[8] = {0};
    size_t length = strspn(text, "0123456789");
    int64_t number = -1;
    if (length == 0 || length >= sizeof(one) || (text + length != end && text[length] != ','))
        return -1;
    memcpy(one, text, length);
    return str_parse_int(one, 0, 65535, &number, NULL) == 0 ? number : -1;
}

/* The size of the part of a URI before any byte of STOP; moves AT past that byte. */
static size_t cut_part(const char **at, const char *stop) {
    size_t size = strcspn(*at, stop);
    *at += size;
    if (**at != '\0' && **at != ';')
        (*at)++;
    return size;
}

/* Moves AT past the scheme of the family, "tcp://" for IPV4 or "tcp6://[". */
static bool skip_scheme(const char **at, bool ipv4) {
    const char *scheme = ipv4 ? "tcp://" : "tcp6://[";
    if (!str_starts_with(*at, scheme))
        return false;
    *at += strlen(scheme);
    return true;
}

/* The size of the addresses at AT, 0 if there are none. IPv6 addresses must end with a bracket. */
static size_t cut_addresses(const char **at, bool ipv4) {
    size_t size = cut_part(at, ipv4 ? ":;" : "];");
    if (ipv4)
        return size;
    if (**at != ':')
        return 0;
    (*at)++;
    return size;
}

/* Parses ADDRESSES:PORTS[:BITS] at AT, up to a ';' or the end. */
static int check_family(const char *uri, const char **at, const struct net_address *master,
                        uint16_t port, unsigned *ret_bits, struct error *err) {
    bool ipv4 = net_address_is_ipv4(master);
    const char *addresses = *at;
    int index = find_address(addresses, cut_addresses(at, ipv4), master);
    if (index < 0)
        return refuse(uri, "does not name the master's address", err);
    const char *ports = *at;
    if (number_at(ports, cut_part(at, ":;"), index) != port)
        return refuse(uri, "does not name the port of this job's mpirun", err);
    if (ret_bits == NULL)
        return 0;
    const char *masks = *at;
    int64_t bits = number_at(masks, cut_part(at, ";"), index);
    if (bits < 0 || bits > (ipv4 ? 32 : 128))
        return refuse(uri, "has a wrong network mask", err);
    *ret_bits = (unsigned)bits;
    return 0;
}

int daemon_uri_check(const char *uri, const char *job, const struct net_address *master,
                     uint16_t port, unsigned *ret_bits, struct error *err) {
    static const char number[] = ".0;";
    bool ipv4 = net_address_is_ipv4(master);
    const char *at = uri + strlen(job) + sizeof(number) - 1;
    if (strncmp(uri, job, strlen(job)) != 0 || !str_starts_with(uri + strlen(job), number))
        return refuse(uri, "is not the address of this job's mpirun", err);
    /* The other family's addresses come first and are skipped. */
    if (!ipv4 && skip_scheme(&at, true) && *(at += strcspn(at, ";")) == ';')
        at++;
    if (!skip_scheme(&at, ipv4))
        return refuse(uri, "is not the address of this job's mpirun", err);
    if (check_family(uri, &at, master, port, ret_bits, err) != 0)
        return -1;
    bool more = ipv4 && str_starts_with(at, ";tcp6://") && strchr(at + 1, ';') == NULL;
    if (*at != '\0' && !more)
        return refuse(uri, "is followed by unknown text", err);
    return 0;
}
