#include "mpi/addresses.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

static const char address_bytes[] = "0123456789.";

int addresses_check(const struct cluster *c, const char *kernel_name, struct error *err) {
    int namesake = addresses_find(c, kernel_name);
    if (namesake > 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the master's kernel host name is \"%s\", which is %s's address: Open MPI "
                         "would take them for one host",
                         kernel_name, c->hosts[namesake].name.text);
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_host *host = &c->hosts[i];
        char text[INET_ADDRSTRLEN];
        if (host->gone)
            continue;
        if (host->address.s_addr == 0)
            return error_set(err, EXIT_CODE_INTERNAL, "%s has not said its address",
                             host->name.text);
        for (size_t k = 0; k < i; k++)
            if (!c->hosts[k].gone && c->hosts[k].address.s_addr == host->address.s_addr)
                return error_set(err, EXIT_CODE_CONFIG,
                                 "%s and %s both have the address %s on the interface that is to "
                                 "carry the job: RINGMASTER_INTERFACE names another one",
                                 c->hosts[k].name.text, host->name.text,
                                 inet_ntop(AF_INET, &host->address, text, sizeof(text)));
    }
    return 0;
}

int addresses_find(const struct cluster *c, const char *address) {
    struct in_addr parsed;
    if (inet_pton(AF_INET, address, &parsed) != 1 || parsed.s_addr == 0)
        return -1;
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].address.s_addr == parsed.s_addr)
            return (int)i;
    return -1;
}

/* The host whose address the SIZE bytes at WORD are; a full stop may follow them. */
static int find_word(const struct cluster *c, const char *word, size_t *size) {
    char text[INET_ADDRSTRLEN] = "";
    if (*size > 0 && word[*size - 1] == '.')
        --*size;
    if (*size >= sizeof(text))
        return -1;
    memcpy(text, word, *size);
    return addresses_find(c, text);
}

/* How many of the SIZE bytes at TEXT are one word: of an address, or of anything else. */
static size_t word_size(const char *text, size_t size, bool *ret_address) {
    size_t n = 0;
    *ret_address = isdigit((unsigned char)text[0]) != 0;
    while (n < size &&
           (*ret_address ? memchr(address_bytes, text[n], sizeof(address_bytes) - 1) != NULL
                         : isalnum((unsigned char)text[n]) || text[n] == '-'))
        n++;
    return n > 0 ? n : 1;
}

int addresses_to_names(const struct cluster *c, const char *text, size_t size, struct buf *ret,
                       struct error *err) {
    while (size > 0) {
        bool is_address = false;
        size_t n = word_size(text, size, &is_address);
        int host = is_address ? find_word(c, text, &n) : -1;
        if (host >= 0 ? buf_add_text(ret, c->hosts[host].name.text, err) != 0
                      : buf_add(ret, text, n, err) != 0)
            return -1;
        text += n;
        size -= n;
    }
    return 0;
}
