/* For `ringmaster check`: whether hosts reach each other both ways, how fast, and in which pieces.
 *
 * Every host has a listener and dials others: those next to it in the order of hosts, and the
 * master, which dials all. So with up to REACH_NEIGHBOURS + 1 hosts each way of each pair is tried,
 * and with more of them each way to the master and back. Who dials
 * says ASK, who is dialled answers ANSWER, words that only hosts of this check know. Then each
 * sends to the next host for a while, all of them at once, as ranks do. Nothing here outlasts
 * REACH_MS. */
#ifndef FACTS_REACH_H
#define FACTS_REACH_H

#include "common/error.h"
#include "common/net_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REACH_NEIGHBOURS = 16,
    REACH_WORD_SIZE = 33, /* 32 hexadecimal digits */
    REACH_ANSWER_MS = 2000,
    REACH_SEND_MS = 300,
    REACH_MS = 3000,
    REACH_WHY_SIZE = 96,
};

struct reach_peer {
    struct net_address address;
    uint16_t port; /* 0: it is not there */
};

struct reach_options {
    int listener; /* non-blocking */
    const struct reach_peer *peers;
    size_t count;
    size_t self;
    char ask[REACH_WORD_SIZE];
    char answer[REACH_WORD_SIZE];
};

/* What came of dialling one peer. */
struct reach_way {
    size_t peer;
    int64_t trip;             /* ns from the word to its answer; 0: there was none */
    char why[REACH_WHY_SIZE]; /* then; else "" */
};

struct reach_sent {
    bool tried;
    size_t peer;
    uint64_t bytes; /* that arrived */
    int64_t time;   /* ns */
    unsigned path_mtu;
    unsigned resent; /* segments */
};

struct reach_result {
    struct reach_way *ways; /* owned */
    size_t count;
    struct reach_sent sent;
};

/* Whether FROM dials TO among COUNT hosts. */
bool reach_dials(size_t from, size_t to, size_t count);

/* RET is the caller's to end, also where there was no memory. */
int reach_run(const struct reach_options *options, struct reach_result *ret, struct error *err);
void reach_done(struct reach_result *r);

#endif
