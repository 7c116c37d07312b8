/* For `ringmaster check`: whether hosts reach each other both ways, how fast, and in which pieces.
 *
 * Every host has a listener and dials others: those next to it in the order of hosts, and the
 * master, which dials all. So with up to NETWORK_CHECK_NEIGHBOURS + 1 hosts each way of each pair
 * is tried, and with more of them each way to the master and back. Who dials says ASK, who is
 * dialled answers ANSWER, words that only hosts of this check know. Then each sends to the next
 * host for a while, all of them at once, as ranks do. Nothing here outlasts NETWORK_CHECK_MS. */
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

/* What came of dialling one peer. */
struct network_check_way {
    size_t peer;
    int64_t trip;                     /* ns from the word to its answer; 0: there was none */
    char why[NETWORK_CHECK_WHY_SIZE]; /* then; else "" */
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

/* Whether FROM dials TO among COUNT hosts. */
bool network_check_dials(size_t from, size_t to, size_t count);

/* RET is the caller's to end, also where there was no memory. */
int network_check_run(const struct network_check_options *options, struct network_check_result *ret,
                      struct error *err);
void network_check_done(struct network_check_result *r);

#endif
