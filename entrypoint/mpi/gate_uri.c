#include "mpi/gate_uri.h"

#include "common/str.h"
#include "mpi/gate_words.h"

#include <arpa/inet.h>
#include <string.h>

static int refuse(const char *uri, const char *why, struct error *err) {
    return gate_refuse(uri, strlen(uri), why, err);
}

/* The index of ADDRESS in the comma-separated list of SIZE bytes at TEXT, -1 if it is not there
 * or if anything in the list is not an address. */
static int find_address(const char *text, size_t size, const struct in_addr *address) {
    int found = -1;
    const char *end = text + size;
    for (int index = 0; text <= end; index++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t length = (size_t)((comma != NULL ? comma : end) - text);
        char one[INET_ADDRSTRLEN] = {0};
        struct in_addr parsed;
        if (length >= sizeof(one))
            return -1;
        memcpy(one, text, length);
        if (inet_pton(AF_INET, one, &parsed) != 1)
            return -1;
        if (parsed.s_addr == address->s_addr && found < 0)
            found = index;
        text += length + 1;
    }
    return found;
}

/* The entry INDEX of the comma-separated numbers at TEXT; the last one where the list is shorter
 * (one port stands for all addresses). -1 if it is none. */
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

/* The part of a URI up to one of STOP; moves AT behind it. */
static size_t cut_part(const char **at, const char *stop) {
    size_t size = strcspn(*at, stop);
    *at += size;
    if (**at != '\0' && **at != ';')
        (*at)++;
    return size;
}

int gate_uri_check(const char *uri, const char *job, const struct in_addr *master, uint16_t port,
                   unsigned *ret_bits, struct error *err) {
    static const char scheme[] = ".0;tcp://";
    size_t job_size = strlen(job);
    if (strncmp(uri, job, job_size) != 0 || !str_starts_with(uri + job_size, scheme))
        return refuse(uri, "is not the address of this job's mpirun", err);
    const char *at = uri + job_size + sizeof(scheme) - 1;
    const char *addresses = at;
    int index = find_address(addresses, cut_part(&at, ":;"), master);
    if (index < 0)
        return refuse(uri, "does not name the master's address", err);
    const char *ports = at;
    if (number_at(ports, cut_part(&at, ":;"), index) != port)
        return refuse(uri, "does not name the port of this job's mpirun", err);
    if (ret_bits != NULL) {
        const char *masks = at;
        int64_t bits = number_at(masks, cut_part(&at, ";"), index);
        if (bits < 0 || bits > 32)
            return refuse(uri, "has a wrong network mask", err);
        *ret_bits = (unsigned)bits;
    }
    if (*at != '\0' && (!str_starts_with(at, ";tcp6://") || strchr(at + 1, ';') != NULL))
        return refuse(uri, "goes on with something unknown", err);
    return 0;
}
