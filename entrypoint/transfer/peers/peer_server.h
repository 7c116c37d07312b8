/* Server of the files that this host has downloaded (catalog.h): HTTP/1.1 over TLS with the job's
 * key, on a listener opened by the container's first process.
 *
 * Nobody without the key gets past the handshake. Only complete and verified files are served, each
 * with its length and SHA-256. A request for a file that is still to come waits, and gets this
 * host's progress every few seconds.
 *
 * Hosts form a tree: host N asks host (N - 1) / 2, so that each serves at most two others, whatever
 * the number of hosts, and all know their place without communication; if hosts are only counted,
 * the first one gives each the address of its upstream host (master/members/fetch_wait.h). A file
 * is passed on as soon as it is here, so many files flow through all levels at once; a single
 * server for all would send each byte as often as there are hosts.
 *
 * Each connection has a thread, as each waits for its files, its peer or the disk by itself. The
 * number of connections is limited, and so is the silence of each, and the time until it has proved
 * the key: strangers hold no place for long. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_PEER_SERVER_H
#define ENTRYPOINT_TRANSFER_PEERS_PEER_SERVER_H

#include "entrypoint/transfer/http/exchange_pool.h"
#include "entrypoint/transfer/peers/catalog.h"
#include "entrypoint/wire/tls.h"

#include <pthread.h>

/* Two hosts with as many requests as they make at once, and a few more. */
enum { PEER_SERVER_CLIENTS = 2 * EXCHANGE_POOL_WIDTH + 8 };

struct peer_server_client {
    struct peer_server *peer_server;
    pthread_t thread;
    int fd;       /* -1: free; under the lock, like everything below */
    int64_t came; /* when it connected, clock_now() */
    bool known;   /* has proved the key */
    bool started; /* only for the first thread */
};

struct peer_server {
    struct catalog *catalog;
    SSL_CTX *tls;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t left; /* a client has; by the monotonic clock */
    struct peer_server_client clients[PEER_SERVER_CLIENTS];
    bool open;
    bool closing; /* under the lock */
};

/* Takes the listener. The catalog outlives it. */
int peer_server_open(struct peer_server *h, int listener, const unsigned char key[TLS_KEY_SIZE],
                     struct catalog *catalog, struct error *err);
/* Closes all connections. */
void peer_server_close(struct peer_server *h);

#endif
