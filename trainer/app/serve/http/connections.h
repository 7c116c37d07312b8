/* Open connections of a server and their deadlines, kept by a thread: it ends connections that are
 * late, and tells the server of a stop. */
#ifndef TRAINER_APP_SERVE_HTTP_CONNECTIONS_H
#define TRAINER_APP_SERVE_HTTP_CONNECTIONS_H

#include "common/error.h"
#include "trainer/app/serve/http/deadlines.h"
#include "trainer/app/serve/server.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct connections {
    struct server *server; /* borrowed */
    int stop;              /* borrowed descriptor: readable once a stop is wanted */
    int changed;           /* descriptor: readable when the thread is to look again; -1: none */
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    struct deadlines deadlines;
};

/* Starts the thread. C must not move; call connections_done in any case. */
int connections_start(struct connections *c, struct server *server, int stop, struct error *err);
void connections_done(struct connections *c);

/* Adds a connection that has to send its first request by DEADLINE. FD is borrowed: it has to stay
 * open until connections_remove. NULL: out of memory, and the connection has no deadlines. */
struct connection_deadline *connections_add(struct connections *c, int fd, int64_t deadline);
void connections_remove(struct connections *c, struct connection_deadline *entry);
/* ENTRY may be NULL; INT64_MAX: no deadline at present. */
void connections_allow(struct connections *c, struct connection_deadline *entry, int64_t deadline);

#endif
