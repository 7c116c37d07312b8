#include "common/net/greeting.h"

#include "common/binary/little_endian.h"

#include <string.h>

/* The last byte is the version. */
static const unsigned char MAGIC[8] = {'R', 'M', 'R', 'A', 'N', 'K', 'S', 1};

void greeting_write(const struct greeting *g, unsigned char bytes[GREETING_SIZE]) {
    memset(bytes, 0, GREETING_SIZE);
    memcpy(bytes, MAGIC, sizeof(MAGIC));
    little_endian_put(bytes + 8, g->rank, 4);
    little_endian_put(bytes + 12, g->size, 4);
    little_endian_put(bytes + 16, g->port, 2);
    memcpy(bytes + 18, g->job, strnlen(g->job, GREETING_JOB_SIZE - 1));
}

bool greeting_read(const unsigned char bytes[GREETING_SIZE], struct greeting *ret) {
    *ret = (struct greeting){0};
    if (memcmp(bytes, MAGIC, sizeof(MAGIC)) != 0 || bytes[GREETING_SIZE - 1] != '\0')
        return false;
    ret->rank = (uint32_t)little_endian_get(bytes + 8, 4);
    ret->size = (uint32_t)little_endian_get(bytes + 12, 4);
    ret->port = (uint16_t)little_endian_get(bytes + 16, 2);
    memcpy(ret->job, bytes + 18, GREETING_JOB_SIZE);
    return true;
}

enum greeting_answer greeting_answer(const struct greeting *g, const char *job, uint32_t least,
                                     uint32_t size) {
    if (strcmp(g->job, job) != 0)
        return GREETING_OTHER_JOB;
    if (g->size != size)
        return GREETING_OTHER_SIZE;
    return g->rank >= least && g->rank < size ? GREETING_WELCOME : GREETING_RANK_TAKEN;
}

const char *greeting_refusal(unsigned answer) {
    switch (answer) {
    case GREETING_OTHER_JOB:
        return "it belongs to another job or attempt";
    case GREETING_OTHER_SIZE:
        return "it expects another number of ranks";
    case GREETING_RANK_TAKEN:
        return "another process is that rank already";
    default:
        return "its answer is not understood";
    }
}

void greeting_write_place(const struct net_address *address, uint16_t port,
                          unsigned char bytes[GREETING_PLACE_SIZE]) {
    memcpy(bytes, &address->in6, 16);
    little_endian_put(bytes + 16, port, 2);
}

void greeting_read_place(const unsigned char bytes[GREETING_PLACE_SIZE], struct net_address *ret,
                         uint16_t *ret_port) {
    memcpy(&ret->in6, bytes, 16);
    *ret_port = (uint16_t)little_endian_get(bytes + 16, 2);
}
