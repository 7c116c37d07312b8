#include "entrypoint/mpi/dropped.h"

#include "common/str.h"

#include <string.h>

static const char head[] = "Open MPI detected an inbound MPI TCP connection request from a peer";
static const char peer[] = "Peer hostname:";
static const char source[] = "Source IP of socket:";

/* The text after KEY in LINE, without blanks around it; NULL if LINE does not contain KEY. */
static const char *value_of(const char *key, const char *line, size_t size, size_t *ret_size) {
    const char *at = memmem(line, size, key, strlen(key));
    const char *end = line + size;
    if (at == NULL)
        return NULL;
    at += strlen(key);
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    *ret_size = (size_t)(end - at);
    return at;
}

/* The rank in "algo-2 ([[41210,1],1])"; -1 if there is none. */
static int64_t rank_of(const char *text, size_t size) {
    static const char close[] = "])";
    char number[16] = "";
    int64_t rank = -1;
    const char *comma = memrchr(text, ',', size);
    const char *end = text + size - strlen(close);
    if (comma == NULL || end <= comma || memcmp(end, close, strlen(close)) != 0 ||
        (size_t)(end - comma) > sizeof(number))
        return -1;
    memcpy(number, comma + 1, (size_t)(end - comma - 1));
    return str_parse_int(number, 0, INT32_MAX, &rank, NULL) == 0 ? rank : -1;
}

static bool read_address(const char *text, size_t size, struct net_address *ret) {
    char address[NET_ADDRESS_TEXT] = "";
    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    return net_address_parse(address, ret);
}

bool dropped_is_garbled(const char *line, size_t size) {
    static const char *const parts[] = {"ORTE_ERROR_LOG: ", "orte/util/show_help.c"};
    return memmem(line, size, parts[0], strlen(parts[0])) != NULL &&
           memmem(line, size, parts[1], strlen(parts[1])) != NULL;
}

bool dropped_add(struct dropped *d, const char *line, size_t size) {
    size_t length = 0;
    const char *value;
    if (memmem(line, size, head, strlen(head)) != NULL) {
        *d = (struct dropped){.open = true, .rank = -1};
        return false;
    }
    if (!d->open)
        return false;
    if ((value = value_of(peer, line, size, &length)) != NULL)
        d->rank = rank_of(value, length);
    if ((value = value_of(source, line, size, &length)) == NULL)
        return false;
    d->open = false;
    return d->rank >= 0 && read_address(value, length, &d->source);
}
