/* Network measurement of `ringmaster check`: whether hosts reach each other in both directions, how
 * fast, and with which packet sizes.
 *
 * Every host listens and connects to others: to its neighbours in the order of hosts, and to the
 * master, which connects to all. Up to NETWORK_CHECK_NEIGHBOURS + 1 hosts, every direction of every
 * pair is tried; above that, every direction to and from the master. The caller sends ASK and the
 * callee answers ANSWER, words that only hosts of this check know. Then each host sends to the next
 * one for a while, all at once, as ranks do. Nothing here takes longer than NETWORK_CHECK_MS. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_NETWORK_CHECK_H
#define ENTRYPOINT_HOST_PREFLIGHT_NETWORK_CHECK_H

#include "common/error.h"
#include "common/net_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NETWORK_CHECK_NEIGHBOURS = 16,
    NETWORK_CHECK_WORD_SIZE = 33, /* 32 hexadecimal digits */
    NETWORK_CHECK_ANSWER_MS = 2000,
    NETWORK_CHECK_SEND_MS = 300,
    NETWORK_CHECK_MS = 3000,
    NETWORK_CHECK_WHY_SIZE = 96,
};

struct network_check_peer {
    struct net_address address;
    uint16_t port; /* 0: it is not there */
};

struct network_check_options {
    int listener; /* non-blocking */
    const struct network_check_peer *peers;
    size_t count;
    size_t self;
    char ask[NETWORK_CHECK_WORD_SIZE];
    char answer[NETWORK_CHECK_WORD_SIZE];
};

/* Result of connecting to one peer. */
struct network_check_way {
    size_t peer;
    int64_t trip;                     /* ns from ASK to ANSWER; 0: no answer */
    char why[NETWORK_CHECK_WHY_SIZE]; /* the reason, if there was no answer; else "" */
};

struct network_check_sent {
    bool tried;
    size_t peer;
    uint64_t bytes; /* that arrived */
    int64_t time;   /* ns */
    unsigned path_mtu;
    unsigned resent; /* segments */
};

struct network_check_result {
    struct network_check_way *ways; /* owned */
    size_t count;
    struct network_check_sent sent;
};

/* Returns true if FROM connects to TO among COUNT hosts. */
bool network_check_dials(size_t from, size_t to, size_t count);

/* Runs the measurement. The caller must free RET, also when out of memory. */
int network_check_run(const struct network_check_options *options, struct network_check_result *ret,
                      struct error *err);
void network_check_done(struct network_check_result *r);

#endif
