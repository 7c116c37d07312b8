/* Hands what this host has fetched (catalog.h) to the hosts that ask it: HTTP/1.1 over TLS by the
 * job's key, on a listener that the container's first process has opened. Nobody without the key
 * gets past the handshake. Only files that are whole and verified are handed out, each with its
 * length and SHA-256; who asks for one that is still to come waits, and hears every few seconds how
 * far this host has got.
 *
 * Hosts make a tree: host N asks host (N - 1) / 2, so that each hands to two others at most,
 * whatever the number of hosts, and all know their place without a word; where they are only
 * counted the first one says at which address the host above is (master/fetch_wait.h). A file goes
 * on as soon as it is here, so many files pass through all levels at once; one host that served all
 * the others would send each byte as often as there are hosts.
 *
 * A thread for each guest, as each waits for its files, its peer or the disk by itself; guests are
 * bounded, and so is the time that each may be silent, and the time in all until it has shown that
 * it has the key: strangers hold no place for long. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_PEER_SERVER_H
#define ENTRYPOINT_TRANSFER_PEERS_PEER_SERVER_H

#include "entrypoint/transfer/http/pool.h"
#include "entrypoint/transfer/peers/catalog.h"
#include "entrypoint/wire/tls.h"

#include <pthread.h>
#include <semaphore.h>

/* Two hosts with as many requests as they make at once, and a few more. */
enum { PEER_SERVER_GUESTS = 2 * POOL_WIDTH + 8 };

struct peer_server_guest {
    struct peer_server *peer_server;
    pthread_t thread;
    int fd;       /* -1: nobody; under the lock, as what follows */
    int64_t came; /* when, by clock_now() */
    bool known;   /* has the key */
    bool started; /* the first thread's alone */
};

struct peer_server {
    struct catalog *catalog;
    SSL_CTX *tls;
    int listener;
    pthread_t thread;
    sem_t places;
    pthread_mutex_t lock;
    struct peer_server_guest guests[PEER_SERVER_GUESTS];
    bool open;
    bool closing; /* under the lock */
};

/* Takes the listener. SHELF outlives it. */
int peer_server_open(struct peer_server *h, int listener, const unsigned char key[TLS_KEY_SIZE],
                     struct catalog *catalog, struct error *err);
/* Sends all guests away. */
void peer_server_close(struct peer_server *h);

#endif
