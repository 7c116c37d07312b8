/* Deadlines of a server's connections: each has one until which it has to send its next request or
 * to take its answer, except while its request is computed. Ordered lists are not needed: a server
 * has at most some hundred connections, and they are looked through when one may be late. Pure: the
 * caller holds the lock and tells the time. */
#ifndef TRAINER_APP_SERVE_HTTP_DEADLINES_H
#define TRAINER_APP_SERVE_HTTP_DEADLINES_H

#include <stddef.h>
#include <stdint.h>

struct connection_deadline {
    struct connection_deadline *next, *before;
    int64_t at; /* clock_now(); INT64_MAX: none at present */
    int fd;     /* borrowed */
};

struct deadlines {
    struct connection_deadline *first;
    size_t count;
};

void deadlines_add(struct deadlines *list, struct connection_deadline *entry);
void deadlines_remove(struct deadlines *list, struct connection_deadline *entry);

/* Returns the earliest deadline, INT64_MAX for none. */
int64_t deadlines_next(const struct deadlines *list);

/* Returns an entry that is late at NOW, and gives it no further deadline; NULL: none is. */
struct connection_deadline *deadlines_late(struct deadlines *list, int64_t now);

#endif
