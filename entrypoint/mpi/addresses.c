#include "entrypoint/mpi/addresses.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char address_bytes[] = "0123456789.";

/* Returns 0 if both hosts can be in one job, else an error that says why they cannot. */
static int check_pair(const struct cluster_host *a, const struct cluster_host *b,
                      struct error *err) {
    char first[NET_ADDRESS_TEXT], second[NET_ADDRESS_TEXT];
    bool same = net_address_equal(&a->address, &b->address);
    if (!same && net_address_is_ipv4(&a->address) == net_address_is_ipv4(&b->address))
        return 0;
    net_address_text(&a->address, first);
    net_address_text(&b->address, second);
    if (same)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s and %s both have the address %s on the interface that is to carry the "
                         "job: set RINGMASTER_INTERFACE to another one",
                         a->name.text, b->name.text, first);
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s is at %s and %s at %s: all hosts of a job need addresses of one family, "
                     "IPv4 or IPv6",
                     a->name.text, first, b->name.text, second);
}

int addresses_check(const struct cluster *c, const char *kernel_name, struct error *err) {
    int other = addresses_find(c, kernel_name);
    if (other > 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the master's kernel host name is \"%s\", which is %s's address: Open MPI "
                         "would take them for one host",
                         kernel_name, c->hosts[other].name.text);
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_host *host = &c->hosts[i];
        if (host->gone)
            continue;
        if (!net_address_is_set(&host->address))
            return error_set(err, EXIT_CODE_INTERNAL, "%s has not reported its address",
                             host->name.text);
        for (size_t k = 0; k < i; k++)
            if (!c->hosts[k].gone && check_pair(&c->hosts[k], host, err) != 0)
                return -1;
    }
    return 0;
}

void addresses_node(const struct cluster *c, size_t index, char ret[ADDRESSES_NODE_SIZE]) {
    const struct net_address *address = &c->hosts[index].address;
    if (net_address_is_ipv4(address))
        net_address_text(address, ret);
    else if (index == 0)
        (void)snprintf(ret, ADDRESSES_NODE_SIZE, "127.0.0.1");
    else
        (void)snprintf(ret, ADDRESSES_NODE_SIZE, "240.0.%zu.%zu", index / 256, index % 256);
}

int addresses_find(const struct cluster *c, const char *address) {
    char node[ADDRESSES_NODE_SIZE];
    for (size_t i = 0; i < c->count; i++) {
        if (!net_address_is_set(&c->hosts[i].address))
            continue;
        addresses_node(c, i, node);
        if (strcmp(node, address) == 0)
            return (int)i;
    }
    return -1;
}

/* Finds the host that has the SIZE bytes at WORD as its address, perhaps followed by a full stop.
 */
static int find_word(const struct cluster *c, const char *word, size_t *size) {
    char text[ADDRESSES_NODE_SIZE] = "";
    if (*size > 0 && word[*size - 1] == '.')
        --*size;
    if (*size >= sizeof(text))
        return -1;
    memcpy(text, word, *size);
    return addresses_find(c, text);
}

/* The size of the word at the start of the SIZE bytes at TEXT. *RET_ADDRESS tells whether it could
 * be an address. */
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
