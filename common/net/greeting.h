/* Greeting by which a rank introduces itself on a new connection.
 *
 * Rank 0 answers with a list of addresses. Pure: bytes, no socket. */
#ifndef COMMON_NET_GREETING_H
#define COMMON_NET_GREETING_H

#include "common/net_address.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GREETING_JOB_SIZE = 64,
    GREETING_SIZE = 8 + 4 + 4 + 2 + GREETING_JOB_SIZE,
    GREETING_PLACE_SIZE = 16 + 2,
};

struct greeting {
    uint32_t rank;
    uint32_t size;               /* ranks of the job */
    uint16_t port;               /* where the rank listens; 0 once ranks know each other */
    char job[GREETING_JOB_SIZE]; /* NUL-terminated */
};

/* First byte of rank 0's answer. */
enum greeting_answer {
    GREETING_WELCOME, /* a place for each rank follows */
    GREETING_OTHER_JOB,
    GREETING_OTHER_SIZE,
    GREETING_RANK_TAKEN,
    GREETING_ANSWERS,
};

void greeting_write(const struct greeting *g, unsigned char bytes[GREETING_SIZE]);
/* Returns false if the bytes are no greeting of this version. */
bool greeting_read(const unsigned char bytes[GREETING_SIZE], struct greeting *ret);

/* Whether G may join as one of the ranks from LEAST to SIZE - 1 of JOB; GREETING_RANK_TAKEN for
 * other ranks. */
enum greeting_answer greeting_answer(const struct greeting *g, const char *job, uint32_t least,
                                     uint32_t size);

/* What an answer other than GREETING_WELCOME says of the rank that it refuses. */
const char *greeting_refusal(unsigned answer);

void greeting_write_place(const struct net_address *address, uint16_t port,
                          unsigned char bytes[GREETING_PLACE_SIZE]);
void greeting_read_place(const unsigned char bytes[GREETING_PLACE_SIZE], struct net_address *ret,
                         uint16_t *ret_port);

#endif
