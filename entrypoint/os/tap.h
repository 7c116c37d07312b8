/* The reading end of a pipe that a program writes to: its bytes become lines (lines.h). */
#ifndef OS_TAP_H
#define OS_TAP_H

#include "entrypoint/os/lines.h"
#include "entrypoint/os/loop.h"

#include <stdint.h>

struct tap {
    struct loop *loop;
    struct watch watch; /* fd -1: closed */
    struct lines lines;
    uint64_t bytes; /* that were read so far */
};

/* Takes over FD, also when it fails. */
int tap_open(struct tap *t, struct loop *loop, int fd, const char *prefix, struct tail *tail,
             void (*emit)(void *context, const char *line, size_t size), void *context,
             struct error *err);

/* Reads what is there now and emits a last line without end: for when the program has ended. Who
 * else holds the other end is heard further on. Closed already is fine. */
void tap_drain(struct tap *t);
/* The same, and closes. */
void tap_close(struct tap *t);

#endif
